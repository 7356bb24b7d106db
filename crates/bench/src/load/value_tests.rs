#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_value_matches_only_its_own_key() {
    for length in [0, 5, 16, 17, 100, 1024] {
        let values = Values::new(length);
        let (key, other) = (*b"p000000000000001", *b"q000000000000002");
        let mut value = Vec::new();
        values.append(&key, 1, &mut value);
        assert_eq!(value.len(), length);
        assert!(values.matches(&key, 1, &value));
        assert_eq!(values.matches(&other, 2, &value), length == 0);
        if let Some(last) = value.last_mut() {
            *last ^= 1;
            assert!(!values.matches(&key, 1, &value));
        }
    }
}
