#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn a_key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(0xff), any::<u8>()], 1..6)
}

proptest! {
    #[test]
    fn rows_compare_as_keys_do_and_newer_versions_come_first(
        a in a_key(), b in a_key(), x in any::<u64>(), y in any::<u64>(),
    ) {
        let (row, other) = (of_version(7, &a, Version(x)), of_version(7, &b, Version(y)));
        let expected = a.cmp(&b).then(y.cmp(&x));
        prop_assert_eq!(row.cmp(&other), expected);
        let (head, version) = split(&row).unwrap();
        prop_assert_eq!(key_of(head).unwrap(), a.clone());
        prop_assert_eq!(version, Version(x));
        prop_assert!(row < of_place(8).to_vec() && row >= from_key(7, &a));
        prop_assert_eq!(row.starts_with(&of_key(7, &b)), a == b);
    }
}
