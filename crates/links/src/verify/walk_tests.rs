use dunlin_entry::{Kind, Origin, Stamp};

use super::*;

fn entry(key: &str, version: u64) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 0,
        partition: 0,
        keyspace: 0,
        stamp: Stamp::new(Version(version), Origin(1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.to_owned().into(),
        value: Bytes::new(),
    }
}

#[test]
fn lists_differ_in_keys_that_one_has_or_that_have_another_version() {
    let list = |all: &[(&str, u64)]| all.iter().map(|(k, v)| entry(k, *v)).collect::<Vec<_>>();
    let here = list(&[("a", 1), ("b", 1), ("c", 1), ("e", 2)]);
    let there = list(&[("b", 1), ("c", 2), ("d", 1), ("e", 2)]);
    assert_eq!(differ(here.clone(), there), ["a", "c", "d"]);
    assert!(differ(here.clone(), here).is_empty());
}

#[test]
fn the_end_of_a_prefix_is_behind_all_its_keys_and_before_all_others() {
    let cases: [(&[u8], Option<&[u8]>); 4] = [
        (b"", None),
        (b"ab", Some(b"ac")),
        (b"a\xff\xff", Some(b"b")),
        (b"\xff", None),
    ];
    for (prefix, end) in cases {
        assert_eq!(behind(prefix).as_deref(), end);
    }
}
