#![allow(clippy::unwrap_used)]
use dunlin_entry::{Kind, Origin, Stamp, Version};

use super::*;
use crate::change::Change;

const A: Origin = Origin::new(1, 0, 1);
const B: Origin = Origin::new(2, 0, 1);

fn seen(a: u64, b: u64) -> Vector {
    let all = [(A, Version(a)), (B, Version(b))];
    all.into_iter().filter(|(_, v)| v.0 > 0).collect()
}

fn entry(origin: Origin, version: u64, partition: u16, key: &'static str) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition,
        keyspace: 5,
        stamp: Stamp::new(Version(version), origin),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(key.as_bytes()),
        value: Bytes::new(),
    }
}

fn token(of: &[(u16, Vector)]) -> Token {
    Token::new(1, 5, None, of.iter().cloned())
}

fn item(what: What, token: Token) -> Item {
    Item {
        what,
        token: Rc::new(token),
        end: 0,
        forgotten: Version(0),
        is_done: false,
    }
}

#[test]
fn entries_that_were_told_are_named_and_no_others() {
    let copy = Entry {
        copy: true,
        ..entry(B, 9, 0, "c")
    };
    let all = [
        entry(A, 11, 0, "a"),
        copy,
        entry(B, 21, 1, "b"),
        entry(A, 12, 0, "d"),
    ]
    .map(Change::new);
    let before = token(&[(0, seen(10, 20)), (1, seen(10, 20))]);
    let after = token(&[(0, seen(12, 21)), (1, seen(12, 21))]);
    let cut_at = |count| {
        let mut item = item(What::Entries(all.to_vec()), after.clone());
        cut(&mut item, &before, count);
        item
    };
    let three = cut_at(3);
    assert_eq!(three.what, What::Entries(all[..3].to_vec()));
    assert_eq!(*three.token, token(&[(0, seen(11, 20)), (1, seen(10, 21))]));
    assert_eq!((cut_at(0).what, &*cut_at(0).token), (What::Beat, &before));
    assert_eq!(*cut_at(4).token, after);
}

#[test]
fn a_page_is_gone_on_with_behind_the_last_key_told() {
    let records = vec![entry(A, 5, 0, "a"), entry(A, 6, 0, "b")];
    let page = |begins, ends| What::Records {
        partition: 0,
        begins,
        records: records.clone(),
        ends,
    };
    let within = |is_complete, next: &'static str| Within {
        is_complete,
        vector: seen(30, 30),
        next: Bytes::from_static(next.as_bytes()),
    };
    let old = token(&[(0, seen(3, 3))]);
    // Begins, ends, what it stood within before; what the token names then.
    for (begins, ends, before, is_complete, named) in [
        (Some(Scope::Complete), false, None, true, seen(0, 0)),
        (Some(Scope::Complete), true, None, true, seen(0, 0)),
        (Some(Scope::Delta), false, None, false, seen(3, 3)),
        (None, false, Some(within(false, "0")), false, seen(3, 3)),
        (None, true, Some(within(true, "0")), true, seen(3, 3)),
    ] {
        let mut after = token(&[(0, if ends { seen(30, 30) } else { named.clone() })]);
        if !ends {
            after.set_within(0, Some(within(is_complete, "b\0")));
        }
        let mut start = old.clone();
        start.set_within(0, before);
        let mut item = item(page(begins, ends), after);
        cut(&mut item, &start, 1);
        assert_eq!(item.token.vector(0), Some(&named));
        assert_eq!(item.token.within(0), Some(&within(is_complete, "a\0")));
        let What::Records { records, ends, .. } = item.what else {
            panic!("{item:?}");
        };
        assert_eq!((records.len(), ends), (1, false));
    }
}
