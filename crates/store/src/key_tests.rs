#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn order_is_keyspace_partition_user_key(
        a in (0u32..u32::MAX, any::<u16>(), prop::collection::vec(any::<u8>(), 0..5)),
        b in (0u32..u32::MAX, any::<u16>(), prop::collection::vec(any::<u8>(), 0..5)),
    ) {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        encode(&mut x, a.0, a.1, &a.2);
        encode(&mut y, b.0, b.1, &b.2);
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(decode(&x), Some((a.0, a.1, &a.2[..])));
        prop_assert!(x[..] >= prefix(a.0, a.1)[..] && x[..] < after(a.0, a.1)[..]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        prop_assert_eq!(decode(&bytes).is_some(), bytes.len() >= PREFIX_BYTES);
    }
}
