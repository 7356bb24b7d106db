#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::{Choice, KeySet, Order};
use super::*;

fn asked(verb: Verb) -> (RedisWorkload, Asked, Vec<u8>) {
    let order = Order::Sequential;
    let choice = Choice::Each { next: 0, end: 1 };
    let keys = Keys::new(KeySet { tag: b'r', order }, choice);
    let mut workload = RedisWorkload::new(verb, keys, Values::new(3));
    let (mut asked, mut out) = (Asked::default(), Vec::new());
    assert!(workload.request(&mut asked, &mut out));
    assert!(!workload.request(&mut asked, &mut out));
    (workload, asked, out)
}

fn complete(consumed: usize, verdict: Verdict) -> Result<Progress, Malformed> {
    Ok(Progress::Complete { consumed, verdict })
}

#[test]
fn writes_one_set_and_judges_its_answer() {
    let (mut sets, mut asked, out) = asked(Verb::Put);
    assert_eq!(
        out,
        b"*3\r\n$3\r\nSET\r\n$16\r\nr000000000000000\r\n$3\r\nr00\r\n"
    );
    let mut judge = |bytes: &[u8]| sets.response(&mut asked, bytes, &mut Vec::new());
    assert_eq!(judge(b"+OK\r"), Ok(Progress::Incomplete { consumed: 0 }));
    assert_eq!(judge(b"+OK\r\n"), complete(5, Verdict::Expected));
    assert_eq!(judge(b"-READONLY\r\n"), complete(11, Verdict::Status(500)));
    for wrong in [&b"HTTP/1.1 400\r\n"[..], b"$3\r\nr00\r\n"] {
        assert!(judge(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn reads_one_key_and_looks_at_every_byte() {
    let (mut gets, mut asked, out) = asked(Verb::Get);
    assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$16\r\nr000000000000000\r\n");
    let mut judge = |bytes: &[u8]| gets.response(&mut asked, bytes, &mut Vec::new());
    let whole = b"$3\r\nr00\r\n";
    for cut in 0..whole.len() {
        assert_eq!(
            judge(&whole[..cut]),
            Ok(Progress::Incomplete { consumed: 0 })
        );
    }
    assert_eq!(judge(whole), complete(9, Verdict::Expected));
    assert_eq!(judge(b"$3\r\nr01\r\n"), complete(9, Verdict::WrongBody));
    assert_eq!(judge(b"$0\r\n\r\n"), complete(6, Verdict::WrongBody));
    assert_eq!(judge(b"$-1\r\n"), complete(5, Verdict::Status(404)));
    assert_eq!(judge(b"-LOADING\r\n"), complete(10, Verdict::Status(500)));
    for wrong in [&b"+OK\r\n"[..], b"$x\r\n", b"$3\r\nr00xx"] {
        assert!(judge(wrong).is_err(), "{wrong:?}");
    }
}
