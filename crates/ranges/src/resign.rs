//! A replica whose disk or clock does not serve has another lead.

use dunlin_raftlog::GroupStorage;
use raft::{RawNode, StateRole};

use crate::group::Group;
use crate::handover::{Heir, heir};
use crate::health::Duty;
use crate::ranges::AtShard;

impl AtShard {
    /// Looks at the log and the clock, once a tick.
    pub fn tick_health(&self) {
        let (log, services) = (self.log.log(), self.services.upgrade());
        let is_trusted = services.is_none_or(|services| services.stamp_clock().is_ok());
        self.health.tick(&log.progress(), log.last(), is_trusted);
        self.health.tick_store(&self.store);
    }

    /// The duty of a replica.
    pub fn duty(&self, group: &Group, leads: bool) -> Duty {
        let is_alone = group.others.is_alone();
        self.health.duty(group.is_oracle, leads, is_alone)
    }

    /// A tick of a replica, as is its duty.
    pub fn tick_node(&self, group: &Group, node: &mut RawNode<GroupStorage>) {
        let leads = node.raft.state == StateRole::Leader;
        match self.duty(group, leads) {
            Duty::Lead => drop(node.tick()),
            // No tick, no election.
            Duty::Wait => {}
            Duty::Transfer => {
                node.tick();
                let services = self.services.upgrade();
                let heir = services.map(|services| heir(&services, group, node));
                if let Some(Heir::Fit(to)) = heir {
                    tracing::info!(
                        range = group.id,
                        to,
                        "this node cannot serve a range: another is to lead it"
                    );
                    node.transfer_leader(to);
                }
            }
            Duty::StepDown => {
                tracing::info!(
                    range = group.id,
                    "this node cannot serve a range, and leads it no longer"
                );
                node.raft.become_follower(node.raft.term, raft::INVALID_ID);
            }
        }
    }
}
