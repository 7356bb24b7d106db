#![allow(clippy::unwrap_used)]
use dunlin_proto::ShardAddress;

use super::*;
use crate::descriptor::{Change, Entry};

const fn at(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

/// A range with replicas 1 to 3 on nodes 1 to 3, led by the first; all is well.
struct Range {
    descriptor: Descriptor,
    target: Vec<ShardAddress>,
    count: usize,
    progress: BTreeMap<u64, Progress>,
}

const WELL: Progress = Progress {
    matched: 1_000,
    is_active: true,
    replicates: true,
    is_lost: false,
};
const LOST: Progress = Progress {
    matched: 1_000,
    is_active: false,
    replicates: false,
    is_lost: true,
};
const AWAY: Progress = Progress {
    is_lost: false,
    ..LOST
};
const BEHIND: Progress = Progress {
    matched: 700,
    ..WELL
};

impl Range {
    fn new(nodes: u16) -> Range {
        let replicas = (1..=nodes).map(|node| (node.into(), at(node), node.into()));
        Range {
            descriptor: Descriptor::first(replicas),
            target: (1..=nodes).map(at).collect(),
            count: nodes.into(),
            progress: (2..=u64::from(nodes)).map(|id| (id, WELL)).collect(),
        }
    }

    fn with(mut self, id: u64, progress: Progress) -> Range {
        self.progress.insert(id, progress);
        self
    }

    fn wants(mut self, count: usize, nodes: &[u16]) -> Range {
        self.target = nodes.iter().map(|node| at(*node)).collect();
        self.count = count;
        self
    }

    fn changed(mut self, change: Change) -> Range {
        let config = self.descriptor.config;
        self.descriptor = self.descriptor.with(&Entry { config, change }).unwrap();
        self
    }

    fn learns(self, id: u64, node: u16, progress: Progress) -> Range {
        let directory = id;
        self.changed(Change::AddLearner {
            id,
            at: at(node),
            directory,
        })
        .with(id, progress)
    }

    fn enters(self, add: &[u64], remove: &[u64]) -> Range {
        self.changed(Change::Enter {
            add: add.into(),
            remove: remove.into(),
        })
    }

    fn step_of(&self, own: u64) -> Repair {
        next_step(&Known {
            descriptor: &self.descriptor,
            target: &self.target,
            count: self.count,
            own,
            progress: &self.progress,
            last: 1_000,
        })
    }

    fn step(&self) -> Repair {
        self.step_of(1)
    }
}

fn enter(add: &[u64], remove: &[u64]) -> Repair {
    Repair::Enter {
        add: add.into(),
        remove: remove.into(),
    }
}

#[test]
fn a_lost_replica_is_replaced_at_its_place() {
    let three = || Range::new(3);
    assert_eq!(three().step(), Repair::Nothing);
    // One that is away or slow may be back in a moment.
    assert_eq!(three().with(2, AWAY).step(), Repair::Nothing);
    assert_eq!(three().with(2, BEHIND).step(), Repair::Nothing);
    let lost = || three().with(2, LOST);
    assert_eq!(lost().step(), Repair::Prepare(at(2)));
    let waits = |progress| lost().learns(4, 2, progress).step();
    assert_eq!(waits(BEHIND), Repair::Wait(Wait::Copy));
    assert_eq!(waits(AWAY), Repair::Wait(Wait::Copy));
    let takes_snapshot = Progress {
        replicates: false,
        ..WELL
    };
    assert_eq!(waits(takes_snapshot), Repair::Wait(Wait::Copy));
    assert_eq!(waits(WELL), enter(&[4], &[2]));
    // The copy was lost as well.
    assert_eq!(waits(LOST), Repair::Remove(4));
    let joint = || lost().learns(4, 2, WELL).enters(&[4], &[2]);
    assert_eq!(joint().step(), Repair::Leave);
    assert_eq!(joint().step_of(4), Repair::Leave);
    assert_eq!(joint().step_of(2), Repair::Wait(Wait::Leader));
    assert_eq!(joint().changed(Change::Leave).step(), Repair::Nothing);
}

#[test]
fn voters_are_changed_only_while_a_majority_of_the_new_ones_is_heard() {
    let range = Range::new(3).with(2, LOST).with(3, AWAY).learns(4, 2, WELL);
    assert_eq!(range.step(), enter(&[4], &[2]));
    let range = Range::new(5).with(2, LOST).with(3, AWAY).with(4, AWAY);
    assert_eq!(range.learns(6, 2, WELL).step(), enter(&[6], &[2]));
    let range = Range::new(5).with(2, LOST).with(3, AWAY).with(4, AWAY);
    let range = range.with(5, AWAY).learns(6, 2, WELL);
    assert_eq!(range.step(), Repair::Wait(Wait::Majority));
}

#[test]
fn a_target_elsewhere_is_reached_one_replica_at_a_time() {
    let elsewhere = || Range::new(3).wants(3, &[1, 4, 5]);
    assert_eq!(elsewhere().step(), Repair::Prepare(at(4)));
    let learns = || elsewhere().learns(4, 4, WELL);
    assert_eq!(learns().step(), enter(&[4], &[3]));
    let half = || learns().enters(&[4], &[3]).changed(Change::Leave);
    assert_eq!(half().step(), Repair::Prepare(at(5)));
    let whole = half().learns(5, 5, WELL).enters(&[5], &[2]);
    let whole = whole.changed(Change::Leave);
    assert_eq!(whole.step(), Repair::Nothing);
    // The target has changed meanwhile.
    assert_eq!(learns().wants(3, &[1, 2, 3]).step(), Repair::Remove(4));
    // A leader does not go while it leads.
    let leads = learns().step_of(3);
    assert_eq!(leads, Repair::Wait(Wait::Leader));
}

#[test]
fn one_becomes_three_at_once_and_three_become_one() {
    let grows = || Range::new(1).wants(3, &[1, 2, 3]);
    assert_eq!(grows().step(), Repair::Prepare(at(2)));
    let two = || grows().learns(2, 2, WELL);
    // Two voters would be less than one.
    assert_eq!(two().step(), Repair::Prepare(at(3)));
    assert_eq!(two().learns(3, 3, BEHIND).step(), Repair::Wait(Wait::Copy));
    assert_eq!(two().learns(3, 3, WELL).step(), enter(&[2, 3], &[]));
    let shrinks = || Range::new(3).wants(1, &[2]);
    assert_eq!(shrinks().step(), enter(&[], &[3]));
    assert_eq!(shrinks().with(1, WELL).step_of(2), enter(&[], &[3]));
    // The target is short of a place.
    let short = Range::new(3).wants(3, &[1, 2, 3]).with(3, LOST);
    assert_eq!(short.wants(3, &[1, 2]).step(), Repair::Wait(Wait::Room));
}

#[test]
fn a_lost_one_goes_first_even_while_there_are_too_few() {
    let few = Range::new(3).wants(5, &[1, 2, 3, 4, 5]).with(2, LOST);
    assert_eq!(few.step(), Repair::Prepare(at(2)));
    let few = few.learns(4, 2, WELL);
    assert_eq!(few.step(), enter(&[4], &[2]));
    let many = Range::new(5).wants(3, &[1, 2, 3]).with(2, LOST);
    assert_eq!(many.step(), enter(&[], &[2]));
}

#[test]
fn who_is_no_replica_does_nothing() {
    assert_eq!(Range::new(3).with(2, LOST).step_of(9), Repair::Nothing);
}
