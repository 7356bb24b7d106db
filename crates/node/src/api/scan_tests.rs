#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_prefix_ends_before_its_successor() {
    assert_eq!(prefix_end(b"ab"), Some(Bytes::from_static(b"ac")));
    assert_eq!(prefix_end(b"a\xff\xff"), Some(Bytes::from_static(b"b")));
    assert_eq!(prefix_end(b"\xff"), None);
    assert_eq!(prefix_end(b""), None);
}
