use dunlin_proto::Condition;

use super::*;
use crate::command::{Check, Write};

fn key(name: &str) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

fn write(at: u64, name: &str) -> Command {
    Command::Write {
        at: Version(at),
        condition: Condition::None,
        write: Write {
            key: key(name),
            value: None,
        },
    }
}

fn newer(name: &str, at: u64) -> Result<(), Blocker> {
    let (key, at) = (key(name), Version(at));
    Err(Blocker::Newer { key, at })
}

#[test]
fn nothing_is_written_below_what_was_read() {
    let mut leader = Leader::new(Version(10), 1);
    assert_eq!(leader.may_propose(&write(9, "a")), newer("a", 10));
    assert_eq!(leader.may_propose(&write(11, "a")), Ok(()));
    leader.read_key(Version(20), &key("a"));
    assert_eq!(leader.may_propose(&write(19, "a")), newer("a", 20));
    // A transaction writes what it has read.
    assert_eq!(leader.may_propose(&write(20, "a")), Ok(()));
    assert_eq!(leader.may_propose(&write(19, "b")), Ok(()));
}

#[test]
fn a_scan_refuses_writes_to_all_keys_that_it_may_read_and_then_to_those_that_it_has_read() {
    let mut leader = Leader::new(Version(0), 1);
    let old = |name| newer(name, 30);
    leader.begin_scan(1, Version(30), &key("a"), Some(&key("e")));
    leader.begin_scan(2, Version(30), &key("a"), Some(&key("e")));
    assert_eq!(leader.may_propose(&write(29, "d")), old("d"));
    assert_eq!(leader.may_propose(&write(30, "d")), Ok(()));
    assert_eq!(leader.may_propose(&write(29, "e")), Ok(()));
    // Each comes to its own end.
    leader.end_scan(1, Some(&key("c")));
    assert_eq!(leader.may_propose(&write(29, "d")), old("d"));
    leader.end_scan(2, Some(&key("c")));
    assert_eq!(leader.may_propose(&write(29, "b")), old("b"));
    assert_eq!(leader.may_propose(&write(29, "c")), Ok(()));
    // A scan of an earlier leader notes nothing.
    leader.end_scan(0, None);
    assert_eq!(leader.may_propose(&write(29, "c")), Ok(()));
    // To the end of the range, and whole.
    leader.begin_scan(3, Version(30), &key("x"), None);
    leader.end_scan(3, None);
    assert_eq!(leader.may_propose(&write(29, "z")), old("z"));
}

#[test]
fn scans_at_one_timestamp_with_one_start_are_noted_each_with_its_own_end() {
    let old = |name| newer(name, 30);
    for short_ends_first in [true, false] {
        let mut leader = Leader::new(Version(0), 1);
        leader.begin_scan(1, Version(30), &key("a"), Some(&key("b")));
        leader.begin_scan(2, Version(30), &key("a"), None);
        let order = if short_ends_first { [1, 2] } else { [2, 1] };
        for number in order {
            leader.end_scan(number, None);
        }
        assert_eq!(leader.may_propose(&write(29, "a")), old("a"));
        assert_eq!(leader.may_propose(&write(29, "m")), old("m"));
    }
}

#[test]
fn a_read_waits_for_what_was_proposed_before() {
    let mut leader = Leader::new(Version(0), 1);
    leader.proposed(&write(5, "a"), 7);
    leader.proposed(&write(6, "b"), 8);
    leader.proposed(&write(9, "a"), 9);
    assert_eq!(leader.may_propose(&write(8, "a")), newer("a", 9));
    assert_eq!(leader.read_key(Version(10), &key("a")), Some(9));
    assert_eq!(leader.read_key(Version(10), &key("c")), None);
    assert_eq!(leader.begin_scan(1, Version(10), &key("b"), None), Some(8));
    leader.applied(8);
    assert_eq!(leader.read_key(Version(11), &key("a")), Some(9));
    assert_eq!(leader.read_key(Version(11), &key("b")), None);
    leader.applied(9);
    assert_eq!(leader.begin_scan(2, Version(12), &key(""), None), None);
}

#[test]
fn what_is_checked_is_read() {
    let mut leader = Leader::new(Version(0), 1);
    let commit = Command::Commit {
        txn: Version(20),
        participants: vec![],
        checks: vec![Check {
            key: key("c"),
            condition: Condition::Absent,
        }],
        writes: vec![],
        id: None,
    };
    leader.proposed(&commit, 7);
    assert_eq!(leader.may_propose(&write(19, "c")), newer("c", 20));
    assert_eq!(leader.may_propose(&write(21, "c")), Ok(()));
    // Nothing is written there that a read would have to wait for.
    assert_eq!(leader.read_key(Version(30), &key("c")), None);
}

#[test]
fn reads_stay_below_a_lease_which_one_of_them_renews_in_time() {
    let ms = |ms| Version::new(ms, 0);
    let mut leader = Leader::new(Version(0), 1);
    // No lease yet: whoever reads needs one.
    assert_eq!(leader.lease(ms(0), ms(100)), Some(ms(1_100)));
    assert_eq!(leader.lease(ms(0), ms(101)), Some(ms(1_101)));
    assert_eq!(leader.lease(ms(1_101), ms(102)), None);
    assert_eq!(leader.lease(ms(1_101), ms(601)), None);
    // Half of it is over: one read has it renewed, others go on.
    assert_eq!(leader.lease(ms(1_101), ms(602)), Some(ms(1_602)));
    assert_eq!(leader.lease(ms(1_101), ms(603)), None);
    assert_eq!(leader.lease(ms(1_101), ms(1_101)), None);
    assert_eq!(leader.lease(ms(1_101), ms(1_102)), Some(ms(2_102)));
    // Old transactions need none.
    assert_eq!(leader.lease(ms(2_102), ms(50)), None);
}

fn committed(at: u64, name: &str, value: &'static str) -> Command {
    Command::Commit {
        txn: Version(at),
        participants: vec![],
        checks: vec![],
        writes: vec![Write {
            key: key(name),
            value: Some(Bytes::from_static(value.as_bytes())),
        }],
        id: None,
    }
}

#[test]
fn a_leader_expects_what_it_has_evaluated_until_an_entry_is_refused() {
    let version = |at, value: Option<&'static str>| {
        let value = value.map(|value| Bytes::from_static(value.as_bytes()));
        Some(Expected::Version(Version(at), value))
    };
    let mut leader = Leader::new(Version(0), 1);
    leader.proposed_expected(&committed(5, "a", "x"), 7);
    leader.proposed(&write(6, "b"), 8);
    leader.proposed(&committed(6, "c", "x"), 9);
    assert_eq!(leader.expected(&key("a")), version(5, Some("x")));
    // An unconditional write happens, a commit of others may not.
    assert_eq!(leader.expected(&key("b")), version(6, None));
    assert_eq!(leader.expected(&key("c")), Some(Expected::Unknown(9)));
    leader.proposed_expected(&committed(9, "a", "y"), 10);
    assert_eq!(leader.expected(&key("a")), version(9, Some("y")));
    leader.ended(&committed(5, "a", "x"), &Verdict::Committed);
    leader.applied(7);
    assert_eq!(leader.expected(&key("a")), version(9, Some("y")));
    leader.ended(&committed(6, "c", "x"), &Verdict::CheckFailed(0, None));
    assert_eq!(leader.expected(&key("a")), Some(Expected::Unknown(10)));
    leader.applied(10);
    assert_eq!(leader.expected(&key("a")), None);
}
