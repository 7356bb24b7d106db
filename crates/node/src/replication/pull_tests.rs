#![allow(clippy::unwrap_used, clippy::expect_used)]
use bytes::Bytes;
use dunlin_entry::Origin;
use dunlin_metadata::{KeyspaceSettings, Sync};
use dunlin_proto::{Condition, ShardAddress, WriteRequest};
use tokio::time::Instant;

use super::super::reclaim::tests::among;
use super::*;
use crate::limits::LOOK_BYTES;
use crate::quorum::{Coordinator, Quorum};

/// Somebody of whom the log holds nothing.
const ABSENT: Origin = Origin::new(7, 0, 1);

#[test]
fn a_page_ends_after_so_much_of_the_log_though_nothing_was_found() {
    among(&["n1"], async |start| {
        let settings = KeyspaceSettings {
            replicas: 1,
            partitions: 1,
            sync: Sync::Never,
            ..KeyspaceSettings::default()
        };
        let keyspace = start.metadata.create_keyspace("k", settings).await.unwrap();
        let shard = start.shard(2).await;
        let value = Bytes::from(vec![b'v'; 1 << 20]);
        let values = 2 * (LOOK_BYTES >> 20) + 8;
        let coordinator = Coordinator::new(shard.clone());
        for number in 0..values {
            let begun = Instant::now();
            loop {
                let request = WriteRequest {
                    keyspace: keyspace.id,
                    kind: dunlin_entry::Kind::Put,
                    ack: 1,
                    from: 1,
                    condition: Condition::None,
                    expiry_ms: None,
                    key: format!("key {number}").into(),
                    value: value.clone(),
                    deadline: Version::MAX,
                    floor: Version(0),
                    replaces: None,
                    given: None,
                };
                // Its clock is believed after a moment.
                match coordinator.write(request).await {
                    Ok(_) => break,
                    Err(error) => assert!(begun.elapsed().as_secs() < 30, "{error}"),
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        let mut pages = 0;
        // From the log's beginning: somebody of whom there is nothing would begin in the last segment.
        let mut resume_index = 1;
        loop {
            let request = PullRequest {
                origin: ABSENT,
                after: Version(0),
                for_shard: ShardAddress { node: 7, shard: 0 },
                resume_index,
            };
            let PullAnswer::Entries {
                entries,
                up_to,
                resume_index: next,
            } = Replication::new(shard.clone()).serve_pull(request).await
            else {
                panic!("the log reaches back");
            };
            pages += 1;
            assert!(entries.is_empty());
            assert_eq!(up_to, Version(0));
            assert!(next == 0 || next > resume_index, "{next}");
            resume_index = next;
            if resume_index == 0 {
                break;
            }
        }
        // A write that was tried again on a slow machine may be there twice.
        assert!(pages >= 3, "{pages}");
        let quorum = Quorum { ack: 1, from: 1 };
        let key = Bytes::from_static(b"key 0");
        let read = coordinator.read(keyspace.id, &key, quorum).await.unwrap();
        assert_eq!(read.unwrap().value.len(), 1 << 20);
        shard.close().await.unwrap();
    });
}

#[test]
fn of_what_its_writer_lost_a_log_beside_copies_does_not_tell_all() {
    among(&["n1"], async |start| {
        let shard = start.shard(2).await;
        // A copy of what was meant for others, and a vector that has risen over it.
        shard.log_claim(&[(ABSENT, Version(9))], true);
        shard.copies().came(ABSENT, Version(5));
        let [writer, other] = [7, 8].map(|node| ShardAddress { node, shard: 0 });
        for (for_shard, after, is_told) in [
            (writer, 0, false),
            (writer, 4, false),
            (writer, 5, true),
            // It takes it for no more than it is, whoever it is that asks about another.
            (other, 0, true),
        ] {
            let request = PullRequest {
                origin: ABSENT,
                after: Version(after),
                for_shard,
                resume_index: 1,
            };
            let answer = Replication::new(shard.clone()).serve_pull(request).await;
            assert_eq!(
                matches!(answer, PullAnswer::Entries { .. }),
                is_told,
                "{for_shard} {after}: {answer:?}"
            );
        }
        shard.close().await.unwrap();
    });
}
