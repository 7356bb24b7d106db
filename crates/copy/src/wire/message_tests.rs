#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

fn keys() -> impl Strategy<Value = Option<Key>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..10).prop_map(Key))
}

proptest! {
    #[test]
    fn digest_requests_come_back(column_family in ".{0,12}", start in keys(), end in keys()) {
        let request = DigestRequest { column_family, start, end };
        prop_assert_eq!(DigestRequest::decode(&request.encode()).unwrap(), request);
    }

    #[test]
    fn tallies_come_back(pairs: u64, bytes: u64, checksum: u128) {
        let tally = Tally { pairs, bytes, checksum };
        prop_assert_eq!(decode_tally(&encode_tally(&tally)).unwrap(), tally);
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(body in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = DigestRequest::decode(&body);
        prop_assert_eq!(decode_tally(&body).is_ok(), body.len() == 32);
        prop_assert_eq!(decode_id(&body).is_ok(), body.len() == 16);
        prop_assert_eq!(decode_unit(&body).is_ok(), body.len() == 4);
        prop_assert_eq!(decode_refused(&body).is_ok(), body.len() >= 2);
    }
}
