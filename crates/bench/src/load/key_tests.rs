#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::collections::HashSet;

#[test]
fn keys_are_unique_printable_and_sixteen_bytes() {
    for order in [Order::Sequential, Order::Random] {
        let set = KeySet { tag: b'p', order };
        let keys: HashSet<_> = (0..50_000).map(|number| set.key(number)).collect();
        assert_eq!(keys.len(), 50_000);
        assert!(keys.iter().flatten().all(u8::is_ascii_alphanumeric));
    }
}

#[test]
fn sequential_keys_sort_as_numbered_and_random_ones_scatter() {
    let key = |order, number| KeySet { tag: b'p', order }.key(number);
    assert!((1..1000).all(|n| key(Order::Sequential, n - 1) < key(Order::Sequential, n)));
    let rises = (1..1000)
        .filter(|&n| key(Order::Random, n - 1) < key(Order::Random, n))
        .count();
    assert!((400..600).contains(&rises), "{rises}");
}

#[test]
fn each_stops_at_its_end_and_any_stays_below_its_count() {
    let mut each = Choice::Each { next: 3, end: 5 };
    assert_eq!(
        [each.advance(), each.advance(), each.advance()],
        [Some(3), Some(4), None]
    );
    let mut any = Choice::Any {
        count: 10,
        state: 7,
    };
    let seen: HashSet<_> = (0..1000).filter_map(|_| any.advance()).collect();
    assert_eq!(seen, (0..10).collect());
}
