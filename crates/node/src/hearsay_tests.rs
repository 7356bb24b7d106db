#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_proto::{Fate, Fates, Order};

use super::Source::{Node, Own};
use super::*;

/// The keyspace that the table is about.
const K: u32 = 7;

const fn live(undrops: u32) -> Fate {
    Fate {
        undrops,
        is_dropped: false,
    }
}

const fn dropped(undrops: u32) -> Fate {
    Fate {
        undrops,
        is_dropped: true,
    }
}

fn word(order: Order, fate: Fate) -> Word {
    Word {
        order,
        fates: if fate == Fate::default() {
            Fates::new()
        } else {
            [(K, fate)].into()
        },
    }
}

#[test]
fn fates_grow_by_drops_and_undrops() {
    let life = [live(0), dropped(0), live(1), dropped(1), live(2)];
    assert!(life.is_sorted_by(|a, b| a < b));
}

#[test]
fn who_says_that_a_keyspace_is_dropped() {
    // What is known here, what nodes 2 and 3 said, and who says that it is dropped.
    type Said<'a> = &'a [(u16, Order, Fate)];
    type Case<'a> = (&'a str, Order, Fate, Said<'a>, Option<Source>);
    let cases: &[Case] = &[
        ("nobody says anything", (0, 5), live(0), &[], None),
        ("dropped here", (0, 5), dropped(0), &[], Some(Own)),
        (
            "dropped since",
            (0, 5),
            live(0),
            &[(2, (0, 6), dropped(0))],
            Some(Node(2)),
        ),
        (
            "one saw it, the other not yet",
            (0, 5),
            live(0),
            &[(2, (0, 6), dropped(0)), (3, (0, 5), live(0))],
            Some(Node(2)),
        ),
        (
            "both saw it at once",
            (0, 5),
            live(0),
            &[(2, (0, 6), dropped(0)), (3, (0, 6), dropped(0))],
            Some(Node(2)),
        ),
        (
            "what others knew before counts for nothing",
            (0, 7),
            live(0),
            &[(2, (0, 6), dropped(0)), (3, (0, 7), dropped(0))],
            None,
        ),
        (
            "taken back, one has not seen it",
            (0, 5),
            live(0),
            &[(2, (0, 6), dropped(0)), (3, (0, 7), live(1))],
            None,
        ),
        (
            "dropped again",
            (0, 5),
            live(0),
            &[(2, (0, 8), dropped(1)), (3, (0, 7), live(1))],
            Some(Node(2)),
        ),
        (
            "an old copy, grown past what was seen, from before the undrop",
            (0, 5),
            live(1),
            &[(2, (0, 9), dropped(0))],
            None,
        ),
        (
            "an old copy does not hide a drop",
            (0, 5),
            live(1),
            &[(2, (0, 9), live(0)), (3, (0, 6), dropped(1))],
            Some(Node(3)),
        ),
        (
            "dropped here, taken back since",
            (0, 5),
            dropped(0),
            &[(2, (0, 6), live(1))],
            None,
        ),
        (
            "dropped here, taken back and dropped again",
            (0, 5),
            dropped(0),
            &[(2, (0, 6), live(1)), (3, (0, 7), dropped(1))],
            Some(Own),
        ),
        (
            "dropped here, others never heard of it",
            (0, 5),
            dropped(0),
            &[(2, (0, 6), live(0))],
            Some(Own),
        ),
        (
            "put back without the drop",
            (0, 5),
            live(0),
            &[(2, (0, 9), dropped(0)), (3, (1, 2), live(0))],
            None,
        ),
        (
            "put back with the drop",
            (0, 5),
            live(0),
            &[(2, (1, 2), dropped(0))],
            Some(Node(2)),
        ),
    ];
    for (what, order, own, said, expected) in cases {
        let said: BTreeMap<u16, Word> = said
            .iter()
            .map(|(node, order, fate)| (*node, word(*order, *fate)))
            .collect();
        let found = unserved(&word(*order, *own), [K].into_iter(), &said);
        assert_eq!(found.get(&K), expected.as_ref(), "{what}");
    }
}

#[test]
fn what_is_purged_here_stays_so_and_what_is_not_known_here_is_nobodys_business() {
    let own = word((0, 5), dropped(0));
    let mut theirs = word((0, 6), live(1));
    theirs.fates.insert(9, dropped(0));
    let found = unserved(&own, std::iter::empty(), &[(2, theirs)].into());
    assert_eq!(found, [(K, Own)].into());
}
