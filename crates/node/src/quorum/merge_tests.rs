#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeMap;

use dunlin_entry::{Origin, Stamp, Version};
use proptest::prelude::*;

use super::*;

fn item(key: u8, version: u64) -> Item {
    Item {
        key: Bytes::copy_from_slice(&[key]),
        stamp: Stamp {
            version: Version(version),
            origin: Origin(0),
        },
        from: 3,
        tombstone: false,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        logged: None,
        value: Bytes::new(),
    }
}

#[test]
fn waits_for_a_stream_that_may_still_bring_a_smaller_key() {
    let mut a = Stream {
        items: [item(5, 1)].into(),
        ended: true,
    };
    let mut b = Stream::default();
    assert_eq!(next(&mut [&mut a, &mut b]), None);
    b.items.push_back(item(3, 1));
    assert_eq!(next(&mut [&mut a, &mut b]).unwrap().key, [3u8][..]);
    b.ended = true;
    assert_eq!(next(&mut [&mut a, &mut b]).unwrap().key, [5u8][..]);
    assert_eq!(next(&mut [&mut a, &mut b]), None);
}

proptest! {
    #[test]
    fn merged_is_the_newest_of_each_key_in_order(
        sources in prop::collection::vec(prop::collection::btree_map(0u8..20, 1u64..100, 0..20), 1..4)
    ) {
        let mut expected: BTreeMap<u8, u64> = BTreeMap::new();
        for source in &sources {
            for (key, version) in source {
                let newest = expected.entry(*key).or_default();
                *newest = (*newest).max(*version);
            }
        }
        let mut streams: Vec<Stream> = sources
            .iter()
            .map(|s| Stream { items: s.iter().map(|(k, v)| item(*k, *v)).collect(), ended: true })
            .collect();
        let mut merged = Vec::new();
        let mut borrowed: Vec<&mut Stream> = streams.iter_mut().collect();
        while let Some(item) = next(&mut borrowed) {
            merged.push((item.key[0], item.stamp.version.0));
        }
        prop_assert_eq!(merged, expected.into_iter().collect::<Vec<_>>());
    }
}
