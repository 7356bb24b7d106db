#![allow(clippy::unwrap_used)]
use dunlin_proto::ShardAddress;

use super::*;

const fn at(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn prepared(id: u64) -> Held {
    Held::Prepared {
        id,
        directory: 70 + id,
    }
}

fn speaks(id: u64) -> Held {
    Held::Speaks {
        id,
        directory: 70 + id,
    }
}

#[test]
fn a_replica_is_made_where_nothing_speaks() {
    for (id, held, expected) in [
        (4, Held::Nothing { least: 0 }, Offer::Make),
        (4, Held::Nothing { least: 4 }, Offer::Make),
        // It was here, and was removed.
        (3, Held::Nothing { least: 4 }, Offer::Refuse),
        (4, prepared(4), Offer::Made(74)),
        (5, prepared(4), Offer::Replace),
        (3, prepared(4), Offer::Refuse),
        (4, Held::Silent { id: 3 }, Offer::Replace),
        (3, Held::Silent { id: 3 }, Offer::Replace),
        (2, Held::Silent { id: 3 }, Offer::Refuse),
        (4, speaks(3), Offer::Refuse),
        (3, speaks(3), Offer::Refuse),
    ] {
        assert_eq!(offer(id, held), expected, "{id} {held:?}");
    }
}

#[test]
fn what_has_another_number_or_directory_is_another() {
    for (id, directory, held, expected) in [
        (3, 73, speaks(3), true),
        (3, 73, prepared(3), true),
        (3, 99, speaks(3), false),
        (3, 73, Held::Silent { id: 3 }, false),
        (3, 73, Held::Nothing { least: 0 }, false),
        (4, 73, speaks(3), false),
        // It was replaced.
        (3, 73, speaks(4), false),
        (3, 73, prepared(4), false),
    ] {
        assert_eq!(is_here(id, directory, held), expected, "{id} {held:?}");
    }
}

#[test]
fn newer_replicas_are_heard_and_removed_ones_are_not() {
    let known = Descriptor::first([(1, at(1), 71), (3, at(3), 73)]);
    for (id, directory, expected) in [
        (1, 71, true),
        (1, 99, false),
        // Removed before.
        (2, 72, false),
        // Added since.
        (4, 74, true),
        (9, 79, true),
    ] {
        assert_eq!(hears(id, directory, Some(&known)), expected, "{id}");
    }
    assert!(hears(2, 72, None));
}

#[test]
fn a_replica_goes_where_a_newer_configuration_does_not_name_it() {
    let replicas = || [(1, at(1)), (4, at(2))].into_iter();
    let own = |id, node, config| OwnPlace {
        id,
        at: at(node),
        config,
        is_named: true,
    };
    assert!(stays(own(1, 1, 3), 7, replicas()));
    // Removed.
    assert!(!stays(own(2, 2, 3), 7, replicas()));
    // The published configuration is older than its own.
    assert!(stays(own(2, 2, 7), 7, replicas()));
    assert!(!stays(own(4, 3, 3), 7, replicas()));
    // It has applied its own removal.
    let removed = OwnPlace {
        is_named: false,
        ..own(4, 2, 7)
    };
    assert!(!stays(removed, 7, replicas()));
    assert!(stays(removed, 6, replicas()));
}

#[test]
fn a_number_that_the_log_has_not_used_may_be_prepared_again_where_one_went() {
    let held = |has_descriptor| Held::Nothing {
        least: least_after(4, has_descriptor),
    };
    // Its leader ended before the log had it: the next leader gives the same number.
    assert_eq!(offer(4, held(false)), Offer::Make);
    assert_eq!(offer(4, held(true)), Offer::Refuse);
    assert_eq!(offer(5, held(true)), Offer::Make);
}
