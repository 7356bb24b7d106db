//! Histories whose verdict is known, each with a name.

use dunlin_history::Kind::{Delete, Get, Put, Swap};
use dunlin_history::{Limits, Operation, Outcome, check};

use super::{judge, ok, operation, unknown};

fn good(name: &str, operations: &[Operation]) {
    let report = judge(operations);
    assert!(report.is_linearizable(), "{name}:\n{report}");
}

fn bad(name: &str, operations: &[Operation]) {
    let report = judge(operations);
    assert_eq!(report.violations.len(), 1, "{name}:\n{report}");
    assert!(report.undecided.is_empty(), "{name}");
    // The proof stands by itself.
    let proof = judge(&report.violations[0].proof);
    assert_eq!(proof.violations.len(), 1, "{name}:\n{report}");
}

fn unmet(expected: Option<u64>, value: u64, invoked: u64, returned: u64) -> Operation {
    let value = Some(value);
    operation(
        Swap { expected, value },
        invoked,
        Outcome::Unmet { returned },
    )
}

fn swap(expected: Option<u64>, value: Option<u64>) -> dunlin_history::Kind {
    Swap { expected, value }
}

#[test]
fn nothing_and_one_operation() {
    good("empty", &[]);
    good("a put", &[ok(Put(1), 1, 2)]);
    good("a get of nothing", &[ok(Get(None), 1, 2)]);
    bad("a value nobody wrote", &[ok(Get(Some(9)), 1, 2)]);
}

#[test]
fn one_after_the_other() {
    good(
        "each read sees the last write",
        &[
            ok(Put(1), 1, 2),
            ok(Get(Some(1)), 3, 4),
            ok(Put(2), 5, 6),
            ok(Get(Some(2)), 7, 8),
            ok(Delete, 9, 10),
            ok(Get(None), 11, 12),
        ],
    );
    bad(
        "stale read",
        &[ok(Put(1), 1, 2), ok(Put(2), 3, 4), ok(Get(Some(1)), 5, 6)],
    );
    bad("lost write", &[ok(Put(1), 1, 2), ok(Get(None), 3, 4)]);
    bad(
        "a delete that resurrects",
        &[
            ok(Put(1), 1, 2),
            ok(Delete, 3, 4),
            ok(Get(None), 5, 6),
            ok(Get(Some(1)), 7, 8),
        ],
    );
    bad(
        "read before it was written",
        &[ok(Get(Some(1)), 1, 2), ok(Put(1), 3, 4)],
    );
}

#[test]
fn beside_each_other() {
    good(
        "a read beside a write sees either",
        &[
            ok(Put(1), 1, 2),
            ok(Put(2), 3, 10),
            ok(Get(Some(1)), 4, 5),
            ok(Get(Some(2)), 6, 7),
        ],
    );
    bad(
        "split read: new, then old",
        &[
            ok(Put(1), 1, 2),
            ok(Put(2), 3, 10),
            ok(Get(Some(2)), 4, 5),
            ok(Get(Some(1)), 6, 7),
        ],
    );
    good(
        "two writes beside each other, in the order the reads tell",
        &[
            ok(Put(1), 1, 10),
            ok(Put(2), 2, 11),
            ok(Get(Some(2)), 12, 13),
            ok(Get(Some(2)), 14, 15),
        ],
    );
    bad(
        "two readers who see two writes in two orders",
        &[
            ok(Put(1), 1, 20),
            ok(Put(2), 2, 21),
            ok(Get(Some(1)), 3, 4),
            ok(Get(Some(2)), 5, 6),
            ok(Get(Some(1)), 7, 8),
        ],
    );
    good(
        "ends and begins at one moment: beside each other",
        &[ok(Put(1), 1, 5), ok(Get(None), 5, 6)],
    );
    bad(
        "a write covered by one that came later in real time is back",
        &[
            ok(Put(1), 1, 4),
            ok(Put(2), 2, 5),
            ok(Put(3), 6, 7),
            ok(Get(Some(2)), 8, 9),
        ],
    );
}

#[test]
fn open_ends() {
    good(
        "never happened",
        &[
            ok(Put(1), 1, 2),
            unknown(Put(2), 3),
            ok(Get(Some(1)), 9, 10),
        ],
    );
    good(
        "happened late",
        &[
            ok(Put(1), 1, 2),
            unknown(Put(2), 3),
            ok(Get(Some(1)), 9, 10),
            ok(Put(3), 11, 12),
            ok(Get(Some(2)), 13, 14),
        ],
    );
    bad(
        "happened, was covered, and came back",
        &[
            unknown(Put(1), 1),
            ok(Get(Some(1)), 2, 3),
            ok(Put(2), 4, 5),
            ok(Get(Some(1)), 6, 7),
        ],
    );
    bad(
        "seen before it began",
        &[ok(Get(Some(1)), 1, 2), unknown(Put(1), 3)],
    );
    good(
        "a delete that may have happened",
        &[ok(Put(1), 1, 2), unknown(Delete, 3), ok(Get(None), 4, 5)],
    );
    bad(
        "one delete cannot happen twice",
        &[
            ok(Put(1), 1, 2),
            unknown(Delete, 3),
            ok(Get(None), 4, 5),
            ok(Put(2), 6, 7),
            ok(Get(None), 8, 9),
        ],
    );
    good(
        "two can",
        &[
            ok(Put(1), 1, 2),
            unknown(Delete, 3),
            unknown(Delete, 3),
            ok(Get(None), 4, 5),
            ok(Put(2), 6, 7),
            ok(Get(None), 8, 9),
        ],
    );
    bad(
        "a failed write is seen",
        &[
            operation(Put(1), 1, Outcome::Failed),
            ok(Get(Some(1)), 2, 3),
        ],
    );
    let given_up = |until| operation(Put(1), 1, Outcome::Unknown { until: Some(until) });
    good(
        "an attempt given up, and the next: both may show",
        &[
            given_up(9),
            ok(Get(Some(1)), 2, 3),
            ok(Put(2), 4, 5),
            ok(Put(1), 6, 9),
            ok(Get(Some(1)), 10, 11),
        ],
    );
    bad(
        "an attempt given up comes back above what followed",
        &[
            given_up(3),
            ok(Put(1), 2, 3),
            ok(Put(2), 4, 5),
            ok(Get(Some(1)), 6, 7),
        ],
    );
}

#[test]
fn under_conditions() {
    good(
        "a lock",
        &[
            ok(swap(None, Some(1)), 1, 5),
            unmet(None, 2, 2, 6),
            ok(swap(Some(1), None), 7, 8),
            ok(swap(None, Some(2)), 9, 10),
        ],
    );
    bad(
        "a lock given to two",
        &[ok(swap(None, Some(1)), 1, 5), ok(swap(None, Some(2)), 2, 6)],
    );
    bad(
        "a lost increment",
        &[
            ok(Put(1), 1, 2),
            ok(swap(Some(1), Some(2)), 3, 9),
            ok(swap(Some(1), Some(3)), 4, 10),
        ],
    );
    bad(
        "refused though it held",
        &[ok(Put(1), 1, 2), unmet(Some(1), 2, 3, 4)],
    );
    good(
        "refused for a write nobody knows of",
        &[
            ok(Put(1), 1, 2),
            unknown(Put(7), 2),
            unmet(Some(1), 2, 3, 4),
        ],
    );
    good(
        "an unknown swap upon an unknown swap",
        &[
            ok(Put(1), 1, 2),
            unknown(swap(Some(1), Some(2)), 3),
            unknown(swap(Some(2), Some(3)), 3),
            ok(Get(Some(3)), 5, 6),
        ],
    );
    bad(
        "an unknown swap whose condition never held",
        &[
            ok(Put(1), 1, 2),
            unknown(swap(Some(4), Some(2)), 3),
            ok(Get(Some(2)), 5, 6),
        ],
    );
}

#[test]
fn a_write_that_repeats_itself_while_it_is_under_way() {
    let until_its_end = [
        ok(Put(1), 1, 9),
        ok(Get(Some(1)), 2, 3),
        ok(Put(2), 4, 5),
        ok(Get(Some(2)), 6, 7),
        ok(Get(Some(1)), 10, 11),
    ];
    let once = |o: &Operation| o.kind == Put(2);
    let is_granted = |operations: &[Operation], once: &dyn Fn(&Operation) -> bool| {
        let mut report = judge(operations);
        assert!(!report.violations.is_empty(), "a register");
        dunlin_history::grant_again(&mut report, operations, once, Limits::default());
        assert!(report.undecided.is_empty(), "{report}");
        report.violations.is_empty()
    };
    assert!(is_granted(&until_its_end, &once));
    assert!(
        !is_granted(&until_its_end, &|o| o.kind == Put(1)),
        "it happens once"
    );
    let mut after_its_end = until_its_end.clone();
    after_its_end[0] = ok(Put(1), 1, 3);
    assert!(!is_granted(&after_its_end, &once), "after its end");
    // However often whoever carries it out repeats it.
    let mut often = vec![ok(Put(100), 1, 90)];
    for turn in 0..8 {
        let at = 2 + turn * 10;
        often.push(ok(Get(Some(100)), at, at + 1));
        often.push(ok(Put(turn), at + 2, at + 3));
        often.push(ok(Get(Some(turn)), at + 4, at + 5));
    }
    assert!(is_granted(&often, &once), "as often as it was seen");
    often.push(ok(Get(Some(100)), 91, 92));
    assert!(is_granted(&often, &once), "and once more at its end");
    often.push(ok(Put(8), 93, 94));
    often.push(ok(Get(Some(100)), 95, 96));
    assert!(!is_granted(&often, &once), "behind a write after its end");
    let mut deleted = vec![ok(Put(1), 1, 2), unknown(Delete, 3)];
    for turn in 0..8 {
        let at = 10 + turn * 10;
        deleted.push(ok(Put(2 + turn), at, at + 1));
        deleted.push(ok(Get(None), at + 2, at + 3));
    }
    assert!(is_granted(&deleted, &once), "a delete too");
}

#[test]
fn keys_are_apart() {
    let mut other = ok(Put(1), 1, 2);
    other.key = "other".to_owned();
    bad(
        "another key's value",
        &[other.clone(), ok(Get(Some(1)), 3, 4)],
    );
    other.kind = Get(None);
    good("another key is empty", &[ok(Put(1), 1, 2), other]);
}

/// A write nobody sees, beside one that ends in vain before a read of what was there begins.
#[test]
fn what_ends_in_vain_does_not_hold_up_who_sees_the_value_before() {
    good(
        "nothing, then what was begun long ago",
        &[
            unknown(Put(3), 0),
            operation(Put(3), 7, Outcome::Unknown { until: Some(11) }),
            ok(Put(1), 8, 15),
            ok(Get(Some(3)), 10, 15),
            ok(Get(None), 15, 15),
        ],
    );
}

/// Out of thousands of operations, the three that matter.
#[test]
fn the_proof_is_small() {
    let mut operations = Vec::new();
    for number in 0..3_000_u64 {
        let at = number * 10;
        operations.push(ok(Put(number), at, at + 4));
        operations.push(ok(Get(Some(number)), at + 5, at + 6));
        operations.push(unknown(Delete, at + 7));
    }
    let found = 2_000 * 10 + 8;
    operations.push(ok(Get(Some(1_990)), found, found + 1));
    let report = judge(&operations);
    assert_eq!(report.violations.len(), 1, "{report}");
    let violation = &report.violations[0];
    assert_eq!(violation.until, found + 1);
    assert_eq!(violation.proof.len(), 3, "{report}");
    assert_eq!(violation.proof[0].kind, Put(1_990), "{report}");
    assert!(matches!(violation.proof[1].kind, Put(_)), "{report}");
    assert_eq!(violation.proof[2].kind, Get(Some(1_990)), "{report}");
    let text = report.to_string();
    assert!(
        text.contains("NOT linearizable up to moment 20009"),
        "{text}"
    );
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn what_is_not_decided_is_not_fine() {
    let operations = [ok(Put(1), 1, 2), ok(Get(Some(1)), 3, 4)];
    let report = check(&operations, Limits { states: 1 });
    assert!(!report.is_linearizable());
    assert_eq!(report.undecided, ["k"]);
    assert!(report.to_string().contains("undecided"), "{report}");
}
