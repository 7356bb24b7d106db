#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const HERE: ShardAddress = ShardAddress { node: 1, shard: 0 };
const SOURCE: ShardAddress = ShardAddress { node: 2, shard: 0 };
const NOW: Origin = Origin::new(1, 0, 5);
const PAST: Origin = Origin::new(1, 0, 4);
const THEIRS: Origin = Origin::new(2, 0, 1);
const THEIR_LATER: Origin = Origin::new(2, 0, 2);
const THIRD_EARLIER: Origin = Origin::new(3, 0, 1);
const THIRD: Origin = Origin::new(3, 0, 2);
const THIRD_LATER: Origin = Origin::new(3, 0, 3);
const THIRD_SEAL: Origin = Origin::new(3, 0, 0);
const GONE: Origin = Origin::new(4, 0, 1);
const OWN_SEAL: Origin = Origin::new(1, 0, 0);
const THEIR_SEAL: Origin = Origin::new(2, 0, 0);
const BESIDE: Origin = Origin::new(1, 1, 4);

type Pairs = &'static [(Origin, u64)];

fn vector(pairs: Pairs) -> Vector {
    pairs.iter().map(|(o, v)| (*o, Version(*v))).collect()
}

struct Case {
    what: &'static str,
    doubt: Doubt,
    mine: Pairs,
    target: Option<Pairs>,
    /// What the source tells now, if not that.
    now: Option<Pairs>,
    pulled: Pairs,
    given: Option<(u64, bool)>,
    expected: Option<Lacks>,
}

const CASE: Case = Case {
    what: "",
    doubt: Doubt::Torn,
    mine: &[(THEIRS, 9), (PAST, 9)],
    target: Some(&[(THEIRS, 9), (PAST, 9), (NOW, 50)]),
    now: None,
    pulled: &[],
    given: None,
    expected: None,
};

/// Logs have brought so many old entries.
const OLD: u64 = 3;

fn found(case: &Case, own_only: bool) -> Option<Lacks> {
    let mine = vector(case.mine);
    let target = case.target.map(vector);
    let now = vector(case.now.or(case.target).unwrap_or_default());
    let pulled = vector(case.pulled).iter().collect();
    let filled = Filled {
        address: HERE,
        origin: NOW,
        vector: &mine,
        doubt: case.doubt,
        old_entries: OLD,
        own_only,
    };
    let given = case.given.map(|(old_entries, is_compared)| Given {
        old_entries,
        is_compared,
    });
    let source = Source {
        address: SOURCE,
        target: target.as_ref(),
        now: &now,
        pulled: &pulled,
        given,
    };
    lacks(&filled, &source, |writer| writer.node != 4)
}

#[test]
fn a_refill_ends_with_what_everybody_had() {
    use Lacks::{Entries, Records, Word};
    let cases = [
        Case {
            what: "not heard",
            target: None,
            expected: Some(Word),
            ..CASE
        },
        Case {
            what: "a lost end is back",
            ..CASE
        },
        Case {
            what: "its own are not all here",
            mine: &[(THEIRS, 8), (PAST, 9)],
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "the own past is not all here",
            mine: &[(THEIRS, 9)],
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "a third's, too",
            target: Some(&[(THIRD, 5)]),
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "which its log has given",
            target: Some(&[(THIRD, 5)]),
            pulled: &[(THIRD, 5)],
            ..CASE
        },
        Case {
            what: "what one wrote that left",
            target: Some(&[(GONE, 5)]),
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "which its store has given",
            target: Some(&[(GONE, 5)]),
            pulled: &[(GONE, 5)],
            given: Some((OLD, true)),
            ..CASE
        },
        Case {
            what: "what another shard of its node wrote",
            target: Some(&[(BESIDE, 5)]),
            ..CASE
        },
        Case {
            what: "it was lost to none",
            target: Some(&[(GONE, 5)]),
            mine: &[(GONE, 5)],
            ..CASE
        },
        Case {
            what: "their seal: no log brings what it covers",
            target: Some(&[(THEIR_SEAL, 3)]),
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "which is here",
            target: Some(&[(THEIR_SEAL, 3)]),
            mine: &[(THEIR_SEAL, 3)],
            ..CASE
        },
        Case {
            what: "the own past, sealed",
            target: Some(&[(OWN_SEAL, 4)]),
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "which its store has given",
            target: Some(&[(OWN_SEAL, 4)]),
            given: Some((OLD, true)),
            ..CASE
        },
        Case {
            what: "a start that is sealed here",
            mine: &[(THEIR_SEAL, 1), (THEIRS, 9), (PAST, 9)],
            ..CASE
        },
        Case {
            what: "a start that a seal covers is brought by logs, as long as it is named",
            target: Some(&[(THIRD_SEAL, 2), (THIRD, 5)]),
            mine: &[(THIRD_SEAL, 2), (THIRD_EARLIER, 4)],
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "and no more once a later one is sealed",
            target: Some(&[(THIRD_SEAL, 2), (THIRD, 5)]),
            now: Some(&[(THIRD_SEAL, 3), (THIRD_LATER, 7)]),
            mine: &[(THIRD_SEAL, 2), (THIRD_EARLIER, 4)],
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "which its store has given",
            target: Some(&[(THIRD_SEAL, 2), (THIRD, 5)]),
            now: Some(&[(THIRD_SEAL, 3), (THIRD_LATER, 7)]),
            mine: &[(THIRD_SEAL, 2), (THIRD_EARLIER, 4)],
            given: Some((OLD, true)),
            ..CASE
        },
        Case {
            what: "it is here all the same",
            target: Some(&[(THIRD_SEAL, 2), (THIRD, 5)]),
            now: Some(&[(THIRD_SEAL, 3), (THIRD_LATER, 7)]),
            mine: &[(THIRD_SEAL, 2), (THIRD, 5)],
            ..CASE
        },
        Case {
            what: "of its own, and of the own past, too",
            target: Some(&[(THEIRS, 5), (PAST, 9)]),
            now: Some(&[(THEIR_SEAL, 2), (THEIR_LATER, 7), (OWN_SEAL, 5)]),
            mine: &[],
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "a lost end, but one of uncertain past has given records: all are compared",
            doubt: Doubt::Mixed,
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "as they were",
            doubt: Doubt::Mixed,
            given: Some((OLD, true)),
            ..CASE
        },
        Case {
            what: "both: logs come first",
            target: Some(&[(GONE, 5), (THIRD, 5)]),
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "a copy: the vector is not enough",
            doubt: Doubt::Restored,
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "an empty one: neither",
            doubt: Doubt::Empty,
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "contradicted: neither",
            doubt: Doubt::Contradicted,
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "a copy, compared",
            doubt: Doubt::Restored,
            given: Some((OLD, true)),
            ..CASE
        },
        Case {
            what: "old entries came after",
            doubt: Doubt::Restored,
            given: Some((OLD - 1, true)),
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "of a lost end, once compared, too",
            given: Some((OLD - 1, true)),
            expected: Some(Records),
            ..CASE
        },
        Case {
            what: "another of uncertain past gives, and can say no more",
            doubt: Doubt::Restored,
            given: Some((OLD - 1, false)),
            ..CASE
        },
        Case {
            what: "compared, but behind in the log",
            doubt: Doubt::Restored,
            given: Some((OLD, true)),
            mine: &[],
            expected: Some(Entries),
            ..CASE
        },
        Case {
            what: "all new: nobody has anything",
            doubt: Doubt::Empty,
            mine: &[],
            target: Some(&[]),
            ..CASE
        },
    ];
    for case in cases {
        assert_eq!(found(&case, false), case.expected, "{}", case.what);
        if matches!(case.expected, Some(Records)) {
            assert_eq!(found(&case, true), None, "sabotaged: {}", case.what);
        }
    }
}

#[test]
fn what_those_wrote_that_have_left_is_inherited_and_the_own_seal() {
    let targets = [
        vector(&[
            (GONE, 5),
            (BESIDE, 7),
            (PAST, 9),
            (THEIRS, 9),
            (THEIR_SEAL, 1),
        ]),
        vector(&[(GONE, 6), (THIRD, 8), (OWN_SEAL, 3)]),
    ];
    // As the placement says of shards of one node: they share nothing.
    let shares = |writer: ShardAddress| writer.node != 4 && writer.node != HERE.node;
    let inherited = inherited(HERE, targets.iter(), shares);
    assert_eq!(inherited, vector(&[(GONE, 6), (OWN_SEAL, 3)]));
}
