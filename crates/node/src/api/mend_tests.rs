#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_place_survives_its_text_and_other_texts_are_none() {
    for (partition, key) in [(0, &b""[..]), (63, b"a-b"), (u16::MAX, &[0, 255, b'/'])] {
        let written = text(partition, key);
        let read = place(written.as_bytes());
        assert_eq!(
            read,
            Some((partition, Bytes::copy_from_slice(key))),
            "{written}"
        );
    }
    for wrong in ["", "7", "-", "65536-", "7-%", "x-YQ==", "7-YQ="] {
        assert_eq!(place(wrong.as_bytes()), None, "{wrong}");
    }
}
