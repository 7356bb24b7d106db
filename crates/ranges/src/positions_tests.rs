#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use dunlin_entry::Version;
use dunlin_metadata::{Keyspace, KeyspaceSettings, RangeRecord};

use super::*;

fn place(keyspace: &str, key: &str) -> Place {
    Place {
        keyspace: keyspace.into(),
        key: Bytes::copy_from_slice(key.as_bytes()),
    }
}

/// `bank` has a range up to `m` and one from there, `shop` has one.
fn keyspaces() -> Keyspaces {
    let of = |(id, name, starts): (u32, &str, &[&str])| {
        let mut keyspace = Keyspace::new(id, name, KeyspaceSettings::default());
        let record = |(number, start): (u16, &&str)| RangeRecord {
            number,
            start: (*start).to_owned(),
            config: 1,
            replicas: Vec::new(),
            target: Vec::new(),
            planned: 0,
            followed: 0,
            ready: true,
            recovered: None,
        };
        keyspace.ranges = (0..).zip(starts).map(record).collect();
        (name.to_owned(), Arc::new(keyspace))
    };
    [(1, "bank", &["", "m"][..]), (2, "shop", &[""])]
        .map(of)
        .into()
}

#[test]
fn values_are_in_the_order_of_the_keys_whatever_ranges_these_are_in() {
    let keyspaces = keyspaces();
    let places = [
        place("bank", "z"),
        place("shop", "a"),
        place("bank", "a"),
        place("bank", "z"),
    ];
    let ranges = positions(&keyspaces, &places).unwrap();
    let expected = [((1, 0), vec![2]), ((1, 1), vec![0, 3]), ((2, 0), vec![1])];
    assert_eq!(ranges, expected.into());
    assert_eq!(keys_at(&places, &[0, 2]), [&b"z"[..], &b"a"[..]]);
    let value = |at| Some((Version(at), Bytes::from_static(b"v")));
    let mut all = vec![None; places.len()];
    set_at(&mut all, &[2], vec![value(5)]);
    // An answer may have values of the first keys alone.
    set_at(&mut all, &[0, 3], vec![value(7)]);
    assert_eq!(all, [value(7), None, value(5), None]);
    let unknown = positions(&keyspaces, &[place("bank", "a"), place("none", "a")]);
    assert!(matches!(unknown, Err(Failure::UnknownKeyspace)));
}
