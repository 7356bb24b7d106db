#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::Order;
use super::*;

#[test]
fn writes_one_set_and_judges_its_answer() {
    let keys = KeySet {
        tag: b'r',
        order: Order::Sequential,
    };
    let mut sets = RedisSets::new(keys, Choice::Each { next: 0, end: 1 }, Values::new(3));
    let mut out = Vec::new();
    assert!(sets.request(&mut (), &mut out));
    assert_eq!(
        out,
        b"*3\r\n$3\r\nSET\r\n$16\r\nr000000000000000\r\n$3\r\nr00\r\n"
    );
    assert!(!sets.request(&mut (), &mut out));
    let mut judge = |bytes: &[u8]| sets.response(&mut (), bytes, &mut Vec::new());
    let complete = |consumed, verdict| Ok(Progress::Complete { consumed, verdict });
    assert_eq!(judge(b"+OK\r"), Ok(Progress::Incomplete { consumed: 0 }));
    assert_eq!(judge(b"+OK\r\n"), complete(5, Verdict::Expected));
    assert_eq!(judge(b"-READONLY\r\n"), complete(11, Verdict::Status(500)));
    assert!(judge(b"HTTP/1.1 400\r\n").is_err());
}
