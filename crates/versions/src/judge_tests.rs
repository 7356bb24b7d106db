use super::*;
use bytes::Bytes;
use dunlin_entry::Kind;

const NOW: Version = Version(1_000);

fn put(condition: Condition) -> Command {
    Command {
        clock: NOW,
        deadline: Version::MAX,
        floor: Version(0),
        condition,
        kind: Kind::Put,
        key: Bytes::from_static(b"k"),
        value: Bytes::new(),
    }
}

fn is(version: u64, origin: u64) -> Condition {
    Condition::Is(Stamp::new(Version(version), Origin(origin)))
}

#[test]
fn versions_never_go_backwards() {
    let command = put(Condition::None);
    assert_eq!(judge(&command, Version(5), None), Verdict::Done(NOW));
    assert_eq!(judge(&command, Version(999), None), Verdict::Done(NOW));
    // A leader whose clock is behind that of the one before.
    assert_eq!(
        judge(&command, Version(1_000), None),
        Verdict::Done(Version(1_001))
    );
    assert_eq!(
        judge(&command, Version(7_000), None),
        Verdict::Done(Version(7_001))
    );
    let above = Command {
        floor: Version(8_000),
        ..command
    };
    assert_eq!(
        judge(&above, Version(7_000), None),
        Verdict::Done(Version(8_001))
    );
}

#[test]
fn what_comes_too_late_does_not_happen() {
    let until = |deadline| Command {
        deadline: Version(deadline),
        ..put(Condition::None)
    };
    assert_eq!(judge(&until(1_000), Version(5), None), Verdict::Done(NOW));
    assert_eq!(judge(&until(999), Version(5), None), Verdict::TooLate(NOW));
    // By the versions there are, whatever the clock says.
    assert_eq!(
        judge(&until(1_500), Version(1_500), None),
        Verdict::TooLate(Version(1_501))
    );
    assert_eq!(
        judge(&put(Condition::None), Version(u64::MAX - 1), None),
        Verdict::TooLate(Version::MAX)
    );
}

#[test]
fn conditions_are_judged_by_what_is_there() {
    let there = Some(Version(70));
    let table = [
        (Condition::None, None, true),
        (Condition::None, there, true),
        (Condition::Absent, None, true),
        (Condition::Absent, there, false),
        (Condition::Present, None, false),
        (Condition::Present, there, true),
        (is(70, 0), there, true),
        (is(71, 0), there, false),
        (is(70, 0), None, false),
        // A version of a quorum keyspace.
        (is(70, 1), there, false),
    ];
    for (condition, current, happens) in table {
        let verdict = judge(&put(condition), Version(80), current);
        let expected = match happens {
            true => Verdict::Done(NOW),
            false => Verdict::ConditionFailed(current),
        };
        assert_eq!(verdict, expected, "{condition:?} {current:?}");
    }
}
