use super::*;

#[test]
fn a_key_is_hot_for_a_while() {
    let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
    let mut hot = Hot::default();
    let keys = || [(1, &b), (2, &a), (1, &a)].into_iter();
    assert_eq!(hot.find(keys(), 0), None);
    hot.add(1, &a, 0);
    // The same key of another range is not.
    assert_eq!(hot.find(keys(), HOT_MS - 1), Some((1, a.clone())));
    hot.add(1, &a, 500);
    assert_eq!(hot.find(keys(), HOT_MS), Some((1, a.clone())));
    assert_eq!(hot.find(keys(), HOT_MS + 500), None);
    assert!(hot.0.is_empty());
}

#[test]
fn there_are_so_many_and_old_ones_make_room() {
    let mut hot = Hot::default();
    let key = |number: usize| Bytes::from(number.to_string());
    for number in 0..=KEYS_MAX {
        hot.add(1, &key(number), 0);
    }
    assert_eq!(hot.0.len(), KEYS_MAX);
    hot.add(1, &key(0), HOT_MS);
    assert_eq!(hot.0.len(), 1);
}
