#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn one_member_or_several() {
    let one = Address::parse("etcd://127.0.0.1:2379").unwrap();
    assert_eq!(one.members(), ["127.0.0.1:2379"]);
    let several = Address::parse("etcd://a:1,b.example:2,[::1]:3/").unwrap();
    assert_eq!(several.members(), ["a:1", "b.example:2", "[::1]:3"]);
}

#[test]
fn anything_else_is_one_clear_line() {
    for text in [
        "",
        "a:1",
        "http://a:1",
        "etcd://",
        "etcd://a",
        "etcd://a:0",
        "etcd://a:1,",
        "etcd://a:1/x",
        "etcd://:1",
    ] {
        let error = Address::parse(text).unwrap_err().to_string();
        let line = format!("metadata address {text:?}: must be etcd://HOST:PORT[,HOST:PORT...]");
        assert_eq!(error, line);
    }
}
