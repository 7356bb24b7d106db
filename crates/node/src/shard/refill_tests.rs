#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const TOLD: Told = Told {
    incarnation: 3,
    vouched: 100,
};

fn asker(incarnation: u32, opened_at: u64, vouched: u64, is_settled: bool) -> Asker {
    Asker {
        address: ShardAddress { node: 1, shard: 0 },
        incarnation,
        opened_at,
        vouched,
        is_settled,
    }
}

#[test]
fn who_starts_with_less_than_it_once_had_is_contradicted() {
    let cases = [
        ("never heard", None, asker(4, 50, 50, false), None),
        (
            "all of it is there",
            Some(TOLD),
            asker(4, 100, 100, false),
            None,
        ),
        (
            "less is there",
            Some(TOLD),
            asker(4, 99, 99, false),
            Some(TOLD),
        ),
        (
            "more was written since",
            Some(TOLD),
            asker(4, 99, 200, false),
            Some(TOLD),
        ),
        ("the same life", Some(TOLD), asker(3, 10, 90, false), None),
        (
            "it has heard that, and was filled",
            Some(TOLD),
            asker(4, 99, 200, true),
            None,
        ),
    ];
    for (what, before, asker, expected) in cases {
        assert_eq!(contradiction(before, &asker), expected, "{what}");
    }
}

#[test]
fn of_each_life_the_most_is_remembered_and_of_lives_the_last() {
    let vouched = |before, asker: Asker| remember(before, &asker).vouched;
    assert_eq!(vouched(None, asker(3, 0, 7, true)), 7);
    assert_eq!(
        vouched(Some(TOLD), asker(3, 0, 90, true)),
        100,
        "answers overtake one another"
    );
    assert_eq!(vouched(Some(TOLD), asker(3, 0, 120, true)), 120);
    assert_eq!(
        vouched(Some(TOLD), asker(4, 0, 5, true)),
        5,
        "emptied and filled again"
    );
}
