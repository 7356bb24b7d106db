use super::super::key::{Choice, KeySet, Order};
use super::*;

#[test]
fn an_entry_is_added_and_its_id_taken() {
    let set = KeySet {
        tag: b'q',
        order: Order::Sequential,
    };
    let keys = Keys::new(set, Choice::Each { next: 0, end: 1 });
    let mut workload = StreamWorkload::new(keys, Values::new(20));
    let (mut asked, mut out) = (Asked::default(), Vec::new());
    assert!(workload.request(&mut asked, &mut out));
    let head = b"*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$16\r\nq000000000000000\r\n$20\r\n";
    assert!(out.starts_with(head), "{}", String::from_utf8_lossy(&out));
    assert_eq!(out.len(), head.len() + 22);
    assert!(!workload.request(&mut asked, &mut out));
    assert_eq!(workload.added(), 1);
    let mut judge = |input: &[u8]| workload.response(&mut asked, input, &mut Vec::new());
    let complete = |consumed, verdict| Ok(Progress::Complete { consumed, verdict });
    assert_eq!(judge(b"$3\r\n1-0\r\n$3"), complete(9, Verdict::Expected));
    assert_eq!(judge(b"-OOM\r\n"), complete(6, Verdict::Status(500)));
    for part in [&b"$3"[..], b"$3\r\n1-", b""] {
        assert_eq!(judge(part), Ok(Progress::Incomplete { consumed: 0 }));
    }
    assert!(judge(b"+OK\r\n").is_err());
}
