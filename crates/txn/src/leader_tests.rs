use dunlin_proto::Condition;

use super::*;
use crate::command::Write;

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

#[test]
fn nothing_is_written_below_what_was_read() {
    let mut leader = Leader::new(Version(10));
    assert_eq!(leader.may_propose(&write(9, "a")), Err(TooOld(Version(10))));
    assert_eq!(leader.may_propose(&write(11, "a")), Ok(()));
    leader.read_key(Version(20), &key("a"));
    assert_eq!(
        leader.may_propose(&write(19, "a")),
        Err(TooOld(Version(20)))
    );
    // A transaction writes what it has read.
    assert_eq!(leader.may_propose(&write(20, "a")), Ok(()));
    assert_eq!(leader.may_propose(&write(19, "b")), Ok(()));
    leader.read(Version(30), &key("a"), Some(&key("c")));
    assert_eq!(
        leader.may_propose(&write(29, "b")),
        Err(TooOld(Version(30)))
    );
}

#[test]
fn a_read_waits_for_what_was_proposed_before() {
    let mut leader = Leader::new(Version(0));
    leader.proposed(&write(5, "a"), 7);
    leader.proposed(&write(6, "b"), 8);
    leader.proposed(&write(9, "a"), 9);
    assert_eq!(leader.may_propose(&write(8, "a")), Err(TooOld(Version(9))));
    assert_eq!(leader.read_key(Version(10), &key("a")), Some(9));
    assert_eq!(leader.read_key(Version(10), &key("c")), None);
    assert_eq!(leader.read(Version(10), &key("b"), None), Some(8));
    leader.applied(8);
    assert_eq!(leader.read_key(Version(11), &key("a")), Some(9));
    assert_eq!(leader.read_key(Version(11), &key("b")), None);
    leader.applied(9);
    assert_eq!(leader.read(Version(12), &key(""), None), None);
}
