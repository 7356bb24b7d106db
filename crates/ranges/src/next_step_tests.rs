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
    planned: u64,
    is_calm: bool,
    may_transfer: bool,
    progress: BTreeMap<u64, Progress>,
}

const WELL: Progress = Progress {
    matched: 1_000,
    is_active: true,
    replicates: true,
    is_lost: false,
    has_wrong_clock: false,
    knows: true,
};
const LOST: Progress = Progress {
    matched: 1_000,
    is_active: false,
    replicates: false,
    is_lost: true,
    has_wrong_clock: false,
    knows: true,
};
const AWAY: Progress = Progress {
    is_lost: false,
    ..LOST
};
const WRONG: Progress = Progress {
    has_wrong_clock: true,
    ..WELL
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
            planned: 0,
            is_calm: true,
            may_transfer: true,
            progress: (2..=u64::from(nodes)).map(|id| (id, WELL)).collect(),
        }
    }

    fn with(mut self, id: u64, progress: Progress) -> Range {
        self.progress.insert(id, progress);
        self
    }

    fn wants(mut self, nodes: &[u16]) -> Range {
        self.target = nodes.iter().map(|node| at(*node)).collect();
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
            planned: self.planned,
            is_calm: self.is_calm,
            may_transfer: self.may_transfer,
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
    // It leads, and goes: the others are to lead first.
    let leads = || joint().with(1, WELL);
    assert_eq!(leads().step_of(2), Repair::Transfer(1));
    assert_eq!(leads().with(1, AWAY).step_of(2), Repair::Transfer(4));
    assert_eq!(leads().with(1, WRONG).step_of(2), Repair::Transfer(4));
    let none = || leads().with(1, AWAY).with(3, AWAY).with(4, BEHIND);
    assert_eq!(none().step_of(2), Repair::Wait(Wait::Leader));
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
    let elsewhere = || Range::new(3).wants(&[1, 4, 5]);
    assert_eq!(elsewhere().step(), Repair::Prepare(at(4)));
    let learns = || elsewhere().learns(4, 4, WELL);
    assert_eq!(learns().step(), enter(&[4], &[3]));
    let half = || learns().enters(&[4], &[3]).changed(Change::Leave);
    assert_eq!(half().step(), Repair::Prepare(at(5)));
    let whole = half().learns(5, 5, WELL).enters(&[5], &[2]);
    let whole = whole.changed(Change::Leave);
    assert_eq!(whole.step(), Repair::Nothing);
    // The target has changed meanwhile.
    assert_eq!(learns().wants(&[1, 2, 3]).step(), Repair::Remove(4));
    // The leader goes last, and another leads first.
    let leads = || learns().with(1, WELL);
    assert_eq!(leads().step_of(3), enter(&[4], &[2]));
    let last = || {
        Range::new(3)
            .wants(&[1, 2, 4])
            .learns(4, 4, WELL)
            .with(1, WELL)
    };
    assert_eq!(last().step_of(3), Repair::Transfer(1));
    assert_eq!(last().with(1, BEHIND).step_of(3), Repair::Transfer(2));
    let ahead = Range {
        may_transfer: false,
        ..last()
    };
    assert_eq!(ahead.step_of(3), Repair::Wait(Wait::Leader));
}

#[test]
fn one_becomes_three_at_once_and_three_become_one() {
    let grows = || Range::new(1).wants(&[1, 2, 3]);
    assert_eq!(grows().step(), Repair::Prepare(at(2)));
    let two = || grows().learns(2, 2, WELL);
    // Two voters would be less than one.
    assert_eq!(two().step(), Repair::Prepare(at(3)));
    assert_eq!(two().learns(3, 3, BEHIND).step(), Repair::Wait(Wait::Copy));
    assert_eq!(two().learns(3, 3, WELL).step(), enter(&[2, 3], &[]));
    let shrinks = || Range::new(3).wants(&[2]);
    assert_eq!(shrinks().step(), enter(&[], &[3]));
    assert_eq!(shrinks().with(1, WELL).step_of(2), enter(&[], &[3]));
    // The leader is not to stay.
    let two = shrinks().enters(&[], &[3]);
    assert_eq!(two.step(), Repair::Transfer(2));
    // One alone: the copy leads before it is left.
    let alone = || Range::new(1).wants(&[2]).learns(2, 2, WELL);
    assert_eq!(alone().step(), enter(&[2], &[]));
    let both = || alone().enters(&[2], &[]);
    assert_eq!(both().step(), Repair::Transfer(2));
    assert_eq!(both().with(1, WELL).step_of(2), enter(&[], &[1]));
}

#[test]
fn a_lost_one_goes_first_even_while_there_are_too_few() {
    let few = Range::new(3).wants(&[1, 2, 3, 4, 5]).with(2, LOST);
    assert_eq!(few.step(), Repair::Prepare(at(2)));
    let few = few.learns(4, 2, WELL);
    assert_eq!(few.step(), enter(&[4], &[2]));
    let many = Range::new(5).wants(&[1, 2, 3]).with(2, LOST);
    assert_eq!(many.step(), enter(&[], &[2]));
}

#[test]
fn the_first_of_the_target_leads_when_all_is_calm() {
    let second = || Range::new(3).wants(&[2, 1, 3]);
    assert_eq!(second().step(), Repair::Transfer(2));
    assert_eq!(second().with(1, WELL).step_of(2), Repair::Nothing);
    for not in [
        Range {
            is_calm: false,
            ..second()
        },
        Range {
            may_transfer: false,
            ..second()
        },
        second().with(2, BEHIND),
        second().with(2, AWAY),
        second().with(
            2,
            Progress {
                knows: false,
                ..WELL
            },
        ),
    ] {
        assert_eq!(not.step(), Repair::Nothing);
    }
}

#[test]
fn a_newer_target_is_followed_before_all_else_and_an_older_one_never() {
    let planned = |planned, range: Range| Range { planned, ..range };
    let elsewhere = || Range::new(3).wants(&[1, 2, 4]);
    assert_eq!(planned(1, elsewhere()).step(), Repair::Follow);
    let follow = |range: Range, target| range.changed(Change::Follow { target, leader: 1 });
    let follows = || follow(planned(1, elsewhere()), 1);
    assert_eq!(follows().step(), Repair::Prepare(at(4)));
    // In joint consensus that ends first.
    let joint = || follows().learns(4, 4, WELL).enters(&[4], &[3]);
    assert_eq!(planned(2, joint()).step(), Repair::Leave);
    // Metadata that was put back: replicas stay, and a lost one is replaced where it was.
    let old = || planned(1, follow(planned(2, elsewhere()), 2));
    assert_eq!(old().step(), Repair::Nothing);
    assert_eq!(old().with(3, LOST).step(), Repair::Prepare(at(3)));
}

#[test]
fn who_is_no_replica_does_nothing() {
    assert_eq!(Range::new(3).with(2, LOST).step_of(9), Repair::Nothing);
}
