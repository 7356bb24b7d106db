//! Any records, any block size, any padding: what was written is read, from memory and from disk.

use crate::common::*;
use bytes::Bytes;
use dunlin_log::{Options, Padding, Tail, sim::SimDisk};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn tail_and_disk_give_the_same(
        records in prop::collection::vec(
            (prop_oneof![4 => 0usize..300, 1 => 4000usize..4200, 1 => 0usize..70_000], any::<bool>()),
            1..60,
        ),
        block_bits in 12u32..=17,
        pad in any::<bool>(),
        tail_bytes in 0usize..100_000,
        max_bytes in 1usize..50_000,
        group in 1usize..10,
    ) {
        simulate(async {
            let disk = SimDisk::new(1);
            let options = Options {
                block_size_bytes: 1 << block_bits,
                padding: if pad { Padding::Pad } else { Padding::Fragment },
                segment_bytes: 2 << block_bits,
                tail_bytes,
                ..small()
            };
            let (log, _) = start(&disk, &options).await;
            // One keeps up with what is appended, and never needs the disk.
            let mut follower = log.cursor(1);
            let mut followed = Vec::new();
            for (number, (length, sync)) in records.iter().enumerate() {
                put(&log, Bytes::from(vec![number as u8; *length]), *sync);
                if let Tail::Batch(batch) = follower.try_next(usize::MAX) {
                    followed.extend(batch);
                }
                if number % group == 0 {
                    log.wait_written(log.last()).await.unwrap();
                }
            }
            let mut cursor = log.cursor(1);
            let mut read = Vec::new();
            while cursor.position() <= log.last() {
                read.extend(cursor.next(max_bytes).await.unwrap());
            }
            assert_eq!(read, followed);
            log.close().await.unwrap();
            let (log, recovered) = start(&disk, &options).await;
            assert_eq!(recovered.torn, None);
            assert_eq!(all(&log).await, followed);
        });
    }
}
