#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use proptest::prelude::*;

fn ops(payload: &[u8]) -> Vec<(&'static str, u32, Vec<u8>, Vec<u8>)> {
    let batch = WriteBatch::whole(payload).expect("no batch");
    batch
        .ops()
        .map(|op| op.unwrap())
        .map(|op| {
            (
                op.name(),
                op.column_family,
                op.key.to_vec(),
                op.value.to_vec(),
            )
        })
        .collect()
}

/// `sequence`, `count`, and operations as bytes.
fn batch(sequence: u64, count: u32, operations: &[u8]) -> Vec<u8> {
    let mut bytes = sequence.to_le_bytes().to_vec();
    bytes.extend(count.to_le_bytes());
    bytes.extend(operations);
    bytes
}

#[test]
fn operations_are_read_with_their_families_and_lengths() {
    let bytes = batch(
        7,
        4,
        b"\x01\x01k\x02vv\x05\x81\x01\x01k\x00\x00\x03abc\x0e\x02\x01a\x01b\x03\x04note\x0d",
    );
    assert_eq!(
        ops(&bytes),
        vec![
            ("PUT", 0, b"k".to_vec(), b"vv".to_vec()),
            ("PUT", 129, b"k".to_vec(), vec![]),
            ("DELETE", 0, b"abc".to_vec(), vec![]),
            ("DELETE-RANGE", 2, b"a".to_vec(), b"b".to_vec()),
            ("LOG-DATA", 0, b"note".to_vec(), vec![]),
            ("NOOP", 0, vec![], vec![]),
        ]
    );
    assert_eq!(WriteBatch::new(&bytes).unwrap().sequence, 7);
}

#[test]
fn what_is_no_batch_says_why() {
    let why = |bytes: &[u8]| WriteBatch::new(bytes).and_then(|batch| batch.check());
    assert_eq!(why(b"short"), Err(BatchError::Short));
    assert_eq!(why(&batch(1 << 56, 0, b"")), Err(BatchError::Sequence));
    assert_eq!(why(&batch(1, 1, b"\x01\x05abc")), Err(BatchError::Short));
    assert_eq!(why(&batch(1, 1, b"\x7f")), Err(BatchError::Tag(127)));
    assert_eq!(
        why(&batch(1, 1, b"\x00\xff\xff\xff\xff\x1f")),
        Err(BatchError::Varint)
    );
    assert_eq!(
        why(&batch(1, 2, b"\x00\x01k")),
        Err(BatchError::Count { said: 2, found: 1 })
    );
    assert_eq!(why(&batch(1, 0, b"")), Ok(()));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(batch) = WriteBatch::new(&bytes) {
            let taken = batch.ops().count();
            prop_assert!(taken <= bytes.len());
            let _ = batch.check();
        }
    }

    /// Bytes that are nearly a batch reach further into the decoder.
    #[test]
    fn flipped_batches_never_panic(
        values in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), 0u8..26), 1..8),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut operations = Vec::new();
        for (value, tag) in &values {
            operations.push(*tag);
            operations.push(value.len() as u8);
            operations.extend(value);
        }
        let mut bytes = batch(1, values.len() as u32, &operations);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(batch) = WriteBatch::new(&bytes) {
            let _ = batch.check();
        }
    }
}
