#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn ports_are_free_and_those_in_use_are_passed_over() {
    let base = consecutive(3).unwrap();
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, base + 1));
    let next = consecutive(3).unwrap();
    if held.is_ok() {
        assert!(!(next..next + 3).contains(&(base + 1)), "{base} {next}");
    }
    assert!((FIRST..LAST + 3).contains(&next));
}
