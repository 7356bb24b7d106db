//! A leader has another replica lead in its stead, and clients wait for a moment instead of being refused.
//!
//! Commands that come meanwhile are held, and earlier ones are applied first, so that no client gets the answer that the
//! fate of its write is unknown.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Services;
use dunlin_raftlog::GroupStorage;
use futures_util::future::join_all;
use raft::{RawNode, StateRole};
use tokio::time::{Instant, sleep, timeout};

use crate::group::{Group, Inbound};
use crate::ranges::AtShard;

/// How long one replica may take to lead instead of another; afterwards the former goes on.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same of all replicas of a shard that stops.
const LEAVE_PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(2);

impl AtShard {
    /// Has another replica lead; says whether it does.
    pub async fn hand_over(&self, group: &Rc<Group>, to: u64) -> bool {
        group.others.is_held.set(true);
        let start = Instant::now();
        let handed = timeout(PATIENCE, self.transfer(group, to)).await.is_ok();
        if !handed {
            self.receive(group, Inbound::KeepLead);
        }
        group.others.is_held.set(false);
        self.touch(group);
        let (range, ms) = (group.id, start.elapsed().as_millis() as u64);
        tracing::info!(range, to, handed, ms, "another replica is to lead a range");
        let counters = &group.counters;
        let counter = if handed {
            &counters.transfers
        } else {
            &counters.failed_transfers
        };
        counter.set(counter.get() + 1);
        handed
    }

    async fn transfer(&self, group: &Rc<Group>, to: u64) {
        while group.failed.borrow().is_none() && leads(group) && !is_idle(group) {
            sleep(PAUSE).await;
        }
        self.receive(group, Inbound::HandOver(to));
        // It is not enough to have lost the lead: waiters are sent to the next leader.
        while group.failed.borrow().is_none() && (leads(group) || group.leader().is_none()) {
            sleep(PAUSE).await;
        }
    }

    /// Has replicas on other nodes lead all that is led here, before the shard ends.
    pub async fn leave(&self, services: &Services) {
        let groups: Vec<Rc<Group>> = self.groups.borrow().values().cloned().collect();
        let led = groups.into_iter().filter(|group| leads(group));
        // All at once: a lease that is renewed above the one of a new leader would take timestamps further ahead.
        let led: Vec<Rc<Group>> = led
            .inspect(|group| group.others.is_held.set(true))
            .collect();
        let end = Instant::now() + LEAVE_PATIENCE;
        let handed = led.iter().map(|group| async move {
            while Instant::now() < end {
                let heir = heir(services, group, &group.node.borrow());
                match heir {
                    Heir::Fit(to) if self.hand_over(group, to).await => break,
                    Heir::None => break,
                    Heir::Fit(_) | Heir::Later => sleep(PAUSE).await,
                }
            }
            group.others.is_held.set(false);
            self.touch(group);
        });
        drop(timeout(LEAVE_PATIENCE, join_all(handed)).await);
    }
}

/// A voter on another node that can lead.
pub(crate) fn heir(services: &Services, group: &Group, node: &RawNode<GroupStorage>) -> Heir {
    let descriptor = group.others.descriptor.borrow();
    if node.raft.state != StateRole::Leader || group.failed.borrow().is_some() {
        return Heir::None;
    }
    let last = node.raft.raft_log.last_index();
    let voters = descriptor.iter().flat_map(|known| known.voters());
    let elsewhere = voters.filter(|member| {
        member.at.node != services.shard().address().node && services.is_reachable(member.at)
    });
    let mut heir = Heir::None;
    for member in elsewhere {
        if (group.others.progress(node, member.id)).can_lead(last) {
            return Heir::Fit(member.id);
        }
        heir = Heir::Later;
    }
    heir
}

/// A replica that can lead instead.
pub(crate) enum Heir {
    /// This replica.
    Fit(u64),
    /// None yet.
    Later,
    /// None, or another leads.
    None,
}

fn leads(group: &Group) -> bool {
    group.node.borrow().raft.state == StateRole::Leader
}

/// Whether all commands have their answers.
fn is_idle(group: &Group) -> bool {
    group.pending.borrow().is_empty()
}
