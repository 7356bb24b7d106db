#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;
use dunlin_store::{Kind, Stamp};

fn bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<u64>()).prop_map(|(v, o)| Stamp::new(Version(v), Origin(o)))
}

fn item() -> impl Strategy<Value = Item> {
    (
        bytes(),
        stamp(),
        any::<u8>(),
        any::<bool>(),
        any::<Option<u64>>(),
        bytes(),
    )
        .prop_map(|(key, stamp, from, tombstone, expiry_ms, value)| Item {
            key,
            stamp,
            from,
            tombstone,
            expiry_ms,
            value,
        })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (
            any::<u32>(),
            any::<bool>(),
            any::<u8>(),
            any::<u8>(),
            stamp(),
            any::<Option<u64>>(),
            bytes(),
            bytes()
        )
            .prop_map(|(keyspace, put, ack, from, stamp, expiry_ms, key, value)| {
                Request::Write(WriteRequest {
                    keyspace,
                    kind: if put { Kind::Put } else { Kind::Delete },
                    ack,
                    from,
                    condition: match ack % 4 {
                        0 => Condition::None,
                        1 => Condition::Absent,
                        2 => Condition::Present,
                        _ => Condition::Is(stamp),
                    },
                    expiry_ms,
                    key,
                    value,
                })
            }),
        (
            any::<u32>(),
            any::<u16>(),
            prop::option::of(stamp()),
            bytes()
        )
            .prop_map(
                |(keyspace, partition, have, key)| Request::Read(ReadRequest {
                    keyspace,
                    partition,
                    have,
                    key
                })
            ),
        (
            any::<u64>(),
            any::<u64>(),
            any::<u64>(),
            prop::collection::vec(bytes(), 0..5)
        )
            .prop_map(|(origin, after, up_to, entries)| Request::Replicate(Batch {
                origin: Origin(origin),
                after: Version(after),
                up_to: Version(up_to),
                entries,
            })),
        any::<u64>().prop_map(|o| Request::Position(Origin(o))),
        prop::collection::vec(bytes(), 0..5).prop_map(Request::Repair),
        Just(Request::Status),
        (any::<u32>(), any::<u16>(), bytes()).prop_map(|(keyspace, partition, start)| {
            Request::Snapshot(SnapshotRequest {
                keyspace,
                partition,
                start,
            })
        }),
        (
            any::<u32>(),
            bytes(),
            prop::option::of(bytes()),
            any::<u32>()
        )
            .prop_map(
                |(keyspace, start, end, max_items)| Request::Scan(ScanRequest {
                    keyspace,
                    start,
                    end,
                    max_items
                })
            ),
    ]
}

fn response() -> impl Strategy<Value = Response> {
    prop_oneof![
        stamp().prop_map(|s| Response::Written(WriteAnswer::Done(s))),
        prop::option::of(stamp()).prop_map(|s| Response::Written(WriteAnswer::ConditionFailed(s))),
        any::<u8>().prop_map(|got| Response::Written(WriteAnswer::NotEnough { got })),
        Just(Response::Written(WriteAnswer::Refused(Refusal::NoSpace))),
        item().prop_map(|i| Response::Read(ReadAnswer::Value(i))),
        Just(Response::Read(ReadAnswer::Same)),
        prop::collection::vec((any::<u64>(), stamp()), 0..4).prop_map(|list| {
            Response::Replicated(BatchAnswer::Have {
                conflicts: list
                    .into_iter()
                    .map(|(v, newer)| Conflict {
                        version: Version(v),
                        newer,
                    })
                    .collect(),
            })
        }),
        (
            prop::collection::vec(item(), 0..4),
            prop::option::of(bytes())
        )
            .prop_map(|(items, next)| Response::Page(Page { items, next })),
        (
            prop::collection::vec(bytes(), 0..4),
            any::<u64>(),
            any::<u64>()
        )
            .prop_map(|(entries, up_to, resume_index)| Response::Pulled(
                PullAnswer::Entries {
                    entries,
                    up_to: Version(up_to),
                    resume_index,
                }
            )),
        bytes().prop_map(Response::Status),
    ]
}

fn encoded(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    out.freeze()
}

proptest! {
    #[test]
    fn requests_round_trip(request in request()) {
        let back = Request::decode(encoded(&request)).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{request:?}"));
    }

    #[test]
    fn responses_round_trip(response in response()) {
        let back = Response::decode(encoded(&response)).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{response:?}"));
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Request::decode(body.clone().into());
        let _ = Response::decode(body.into());
    }
}
