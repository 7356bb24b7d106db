#![allow(clippy::unwrap_used)]
use dunlin_entry::{Origin, Version};
use proptest::prelude::*;

use super::*;
use crate::sample;

fn entry(key: &[u8], value: &[u8]) -> Entry {
    Entry {
        partition: 4,
        expiry_ms: Some(7),
        ..sample::entry(key, value)
    }
}

fn vector() -> Vector {
    [(Origin::new(1, 0, 1), Version(6))].into_iter().collect()
}

fn token() -> Token {
    Token::new(1, 5, None, [(4, vector())])
}

proptest! {
    #[test]
    fn an_item_is_read_as_it_was_written(
        kind in 0u8..5,
        entries in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..9), any::<Vec<u8>>()), 0..5),
        is_done: bool,
        ends: bool,
    ) {
        let entries: Vec<Entry> = entries.iter().map(|(key, value)| entry(key, value)).collect();
        let what = match kind {
            0 => What::Beat,
            4 => What::Stands(9),
            1 => What::Entries(entries.into_iter().map(Change::new).collect()),
            2 => What::Records { partition: 4, begins: None, records: entries, ends },
            _ => What::Records { partition: 4, begins: Some(Scope::Complete), records: entries, ends },
        };
        let item = Item { what, token: Rc::new(token()), end: 7, forgotten: Version(8), is_done };
        let bytes = item.encode();
        prop_assert_eq!(Item::decode(bytes.clone()), Ok(item));
        for at in 0..bytes.len().min(40) {
            prop_assert!(Item::decode(bytes.slice(..at)).is_err());
        }
    }
}

#[test]
fn a_request_is_read_as_it_was_written() {
    for (from, until) in [
        (None, None),
        (Some(token()), Some(vec![(4, vector())])),
        (None, Some(Vec::new())),
    ] {
        let open = Open {
            keyspace: 5,
            partitions: vec![1, 4],
            keys_only: true,
            prefix: Bytes::from_static(b"a"),
            from,
            until,
            is_tail: true,
            who: "me".to_owned(),
        };
        let bytes = open.encode();
        assert_eq!(Open::decode(bytes.clone()).unwrap(), open);
        assert_eq!(Open::decode(bytes.slice(..bytes.len() / 2)), Err(Malformed));
    }
}
