//! Situations that seeds meet too rarely, set up step by step.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::RefCell;
use std::ops::Bound;

use dunlin_metadata::{KeyspaceSettings, Phase as ChangePhase};
use dunlin_node::{Placement, Quorum};
use dunlin_proto::Condition;
use dunlin_rpc::CallError;

use super::*;
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::chance;
use crate::history::{key_name, value_of, write_of};

const MAJORITY: Quorum = Quorum { ack: 2, from: 3 };
const KEY: u16 = 1;

/// Five nodes without faults and clients; the first three hold a keyspace with one partition.
fn three_of_five() -> Plan {
    let mut plan = Plan::new(1, Sabotage::None);
    plan.nodes = 5;
    plan.members = 3;
    plan.shards = 1;
    plan.clients = 0;
    plan.client_skew_ms_max = 0;
    plan.bad_clocks = false;
    plan.twins = false;
    plan.slow_disks = false;
    plan.dark_end = false;
    plan.expires = false;
    plan.ranges = false;
    plan.keyspaces = vec![(
        "birds".to_owned(),
        KeyspaceSettings {
            replicas: 3,
            partitions: 1,
            ..KeyspaceSettings::default()
        },
    )];
    plan
}

type Answer = Rc<RefCell<Option<Result<Told, CallError>>>>;

impl Cluster {
    fn wait_ms(&mut self, ms: u64) {
        let end_ms = self.now_ms() + ms;
        while self.now_ms() < end_ms {
            self.step().unwrap();
        }
    }

    fn wait_for(&mut self, what: &str, holds: impl Fn(&Cluster) -> bool) {
        let end_ms = self.now_ms() + 20_000;
        while !holds(self) {
            assert!(self.now_ms() < end_ms, "it does not come to this: {what}");
            self.step().unwrap();
        }
    }

    /// Whether the node acts by this phase.
    fn is_in(&self, node: u16, phase: ChangePhase) -> bool {
        let live = self.hosts[usize::from(node) - 1].services();
        live.iter().all(|s| s.move_state().phase == Some(phase)) && !live.is_empty()
    }

    /// Asks a node, as a client would.
    fn ask(&mut self, node: u16, verb: Verb) -> Answer {
        let answer = Answer::default();
        let (shared, told) = (self.shared.clone(), answer.clone());
        let ask = Ask {
            keyspace: shared.keyspaces[0],
            quorum: MAJORITY,
            deadline_ms: None,
            after_ms: None,
            key: key_name(KEY),
            verb,
        };
        let name = format!("asker-{}", self.now_ms());
        self.sim.client(name, async move {
            let node = clients::caller(&shared, usize::from(node) - 1);
            while !node.is_connected() {
                tokio::time::sleep(Duration::from_millis(STEP_MS)).await;
            }
            let call = node.call(ask, Duration::from_secs(5));
            *told.borrow_mut() = Some(call.await);
            Ok(())
        });
        answer
    }

    fn put(&mut self, node: u16, write: u64) -> Answer {
        let value = value_of(write, 8);
        self.ask(node, Verb::Put(Condition::None, None, value))
    }

    fn answered(&mut self, answer: &Answer) -> Result<Told, CallError> {
        let asked = answer.clone();
        self.wait_for("an answer", |_| asked.borrow().is_some());
        answer.borrow_mut().take().unwrap()
    }

    /// The nodes that hold what a write has put.
    fn holders(&self, write: u64) -> Vec<u16> {
        let topology = self.shared.metadata.topology().borrow().clone();
        let placement = Placement::compute(&topology);
        let id = self.shared.keyspaces[0];
        let name = key_name(KEY);
        let partition = placement.keyspace(id).unwrap().partition_of(&name);
        let holds = |shard: &Rc<dunlin_node::Shard>| {
            let bound = Bound::Included(&name[..]);
            let store = shard.store();
            let page = store.scan_page(id, partition, bound, bound, 1, usize::MAX, None);
            let found = page.unwrap().items.into_iter().next();
            found.is_some_and(|(_, record)| write_of(&record.value) == Some(write))
        };
        let live = self.hosts.iter().flat_map(|host| host.live());
        live.filter(holds).map(|s| s.address().node).collect()
    }

    /// A change has begun: nodes 1, 4 and 5 are to hold the data.
    fn begin_change(&mut self) {
        self.wait_ms(2_000);
        let told = self.put(1, 1);
        let told = self.answered(&told);
        assert!(matches!(told, Ok(Told::Written(_))), "{told:?}");
        assert!(self.change_members(vec![1, 4, 5]).unwrap());
    }

    /// All nodes act by this phase, from which `late` never gets on, and then the others by the next.
    fn come_to(&mut self, phase: ChangePhase, late: u16) {
        self.wait_for("all confirm a phase", |cluster| {
            (1..=5).all(|node| cluster.is_in(node, phase))
        });
        self.shared
            .store
            .cut(&node_name(usize::from(late) - 1), true);
        let next = phase.next().unwrap();
        self.wait_for("all but one are in the next", |cluster| {
            let mut others = (1..=5).filter(|node| *node != late);
            others.all(|node| cluster.is_in(node, next))
        });
        assert!(self.is_in(late, phase));
    }

    /// Those among some nodes that hold what a write has put.
    fn holders_among(&self, nodes: [u16; 3], write: u64) -> Vec<u16> {
        let mut holders = self.holders(write);
        holders.retain(|node| nodes.contains(node));
        holders
    }
}

fn value(told: Result<Told, CallError>) -> Option<u64> {
    match told {
        Ok(Told::Found(Some((_, value)))) => write_of(&value),
        other => panic!("no value: {other:?}"),
    }
}

/// A write under way that the old replicas have and the new have not: who has read it before the
/// switch must not miss it behind it.
#[test]
fn what_is_read_before_a_switch_is_where_it_is_read_behind_it() {
    chance::from_seed(1, || {
        let mut cluster = Cluster::start(three_of_five()).unwrap();
        cluster.begin_change();
        cluster.come_to(ChangePhase::Copy, 3);
        cluster.cut(0, 3);
        cluster.cut(0, 4);
        let write = cluster.put(1, 2);
        cluster.wait_for("the old have it", |c| c.holders(2) == [1, 2, 3]);
        let read = cluster.ask(2, Verb::Get);
        assert_eq!(value(cluster.answered(&read)), Some(2));
        let new = cluster.holders_among([1, 4, 5], 2);
        assert!(new.len() >= 2, "of the new replicas only {new:?} have it");
        assert!(write.borrow().is_none(), "it was to be under way");
    })
    .unwrap();
}

/// The same the other way round: one that has not heard of the switch yet reads the old replicas.
#[test]
fn what_is_read_behind_a_switch_is_where_it_is_read_before_it() {
    chance::from_seed(1, || {
        let mut cluster = Cluster::start(three_of_five()).unwrap();
        cluster.begin_change();
        cluster.come_to(ChangePhase::Joint, 2);
        cluster.cut(3, 1);
        cluster.cut(3, 2);
        let write = cluster.put(4, 2);
        cluster.wait_for("the new have it", |c| c.holders(2) == [1, 4, 5]);
        let read = cluster.ask(5, Verb::Get);
        assert_eq!(value(cluster.answered(&read)), Some(2));
        let old = cluster.holders_among([1, 2, 3], 2);
        assert!(old.len() >= 2, "of the old replicas only {old:?} have it");
        assert!(write.borrow().is_none(), "it was to be under way");
    })
    .unwrap();
}

/// Where too few of the new can be reached for that, nothing is shown, as nothing is written.
#[test]
fn what_cannot_be_brought_to_the_new_replicas_is_not_shown() {
    chance::from_seed(1, || {
        let mut cluster = Cluster::start(three_of_five()).unwrap();
        cluster.begin_change();
        cluster.come_to(ChangePhase::Copy, 3);
        for (old, new) in [(0, 3), (0, 4), (1, 3), (1, 4)] {
            cluster.cut(old, new);
        }
        let write = cluster.put(1, 2);
        cluster.wait_for("the old have it", |c| c.holders(2) == [1, 2, 3]);
        let read = cluster.ask(2, Verb::Get);
        let told = cluster.answered(&read);
        assert!(matches!(told, Ok(Told::Failed(_))), "{told:?}");
        drop(write);
    })
    .unwrap();
}
