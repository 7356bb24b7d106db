#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

const ALL: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

fn packed(payload: &[u8], compression: Compression) -> Vec<u8> {
    let mut buffer = vec![0; PREFIX_BYTES];
    buffer.extend_from_slice(payload);
    pack(buffer, compression)
}

proptest! {
    #[test]
    fn payloads_come_back(payload in proptest::collection::vec(0u8..4, 0..5_000)) {
        for compression in ALL {
            let body = packed(&payload, compression);
            prop_assert!(body.len() <= payload.len() + PREFIX_BYTES);
            prop_assert_eq!(&*unpack(&body).unwrap(), &payload[..]);
        }
    }

    #[test]
    fn any_bytes_are_a_payload_or_an_error(
        codec in 0u8..4,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut body = vec![codec];
        body.extend_from_slice(&bytes);
        let _ = unpack(&body);
    }
}

#[test]
fn what_shrinks_is_sent_compressed_and_what_does_not_is_not() {
    let zeros = vec![0; 100_000];
    let noise: Vec<u8> = (0..100_000u32)
        .map(|i| (xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()) & 255) as u8)
        .collect();
    for compression in [Compression::Lz4, Compression::Zstd] {
        assert!(packed(&zeros, compression).len() < 2_000);
        assert_eq!(packed(&noise, compression)[0], 0);
    }
}
