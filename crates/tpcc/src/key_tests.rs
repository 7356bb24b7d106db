#![allow(clippy::expect_used)]
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn keys_sort_as_their_numbers(one: (u32, u8, u32), other: (u32, u8, u32)) {
        let key = |(warehouse, district, order): (u32, u8, u32)| {
            Key::of(warehouse % 100_000, Table::Order).small(district).number(order)
        };
        let sorts = |(warehouse, district, order): (u32, u8, u32)| (warehouse % 100_000, district, order);
        prop_assert_eq!(key(one).cmp(&key(other)), sorts(one).cmp(&sorts(other)));
    }

    #[test]
    fn parts_of_a_key_are_those_it_was_made_of(district: u8, order: u32, run: u64) {
        let key = Key::of(7, Table::Payment).small(district).downwards(order).number(order).large(run);
        let mut parts = KeyReader::of(key.bytes()).expect("a prefix");
        prop_assert_eq!(parts.small(), Some(district));
        prop_assert_eq!(parts.downwards(), Some(order));
        prop_assert_eq!(parts.number(), Some(order));
        prop_assert_eq!(parts.large(), Some(run));
        prop_assert_eq!(parts.small(), None);
    }
}

#[test]
fn the_end_of_a_prefix_is_behind_all_of_it() {
    let prefix = Key::of(7, Table::Line).small(3).number(u32::MAX);
    let last = prefix.clone().small(u8::MAX);
    let end = prefix.behind();
    assert!(last < end);
    assert!(end <= Key::of(7, Table::Line).small(4));
}
