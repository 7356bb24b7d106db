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

fn place() -> impl Strategy<Value = Place> {
    (any::<u32>(), any::<u16>()).prop_map(|(keyspace, partition)| Place {
        keyspace,
        partition,
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
            any::<u32>(),
            any::<u64>()
        )
            .prop_map(|(keyspace, start, end, max_items, epoch)| Request::Scan(
                ScanRequest {
                    keyspace,
                    start,
                    end,
                    max_items,
                    epoch
                }
            )),
        (place(), any::<u64>(), bytes()).prop_map(|(place, froms, start)| {
            Request::Fill(FillRequest {
                place,
                froms: Froms(froms),
                start,
            })
        }),
        (
            any::<u32>(),
            any::<u64>(),
            prop::collection::vec((place(), any::<u64>().prop_map(Froms)), 0..4)
        )
            .prop_map(|(incarnation, index, wants)| Request::Tail(TailRequest {
                incarnation,
                index,
                wants
            })),
        Just(Request::Move),
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
        bytes().prop_map(Response::Moved),
        (
            prop::collection::vec(item(), 0..4),
            prop::option::of(bytes()),
            any::<u64>(),
            any::<u64>()
        )
            .prop_map(|(items, next, latency_us_p99, read_bytes)| {
                Response::Filled(FillPage {
                    page: Page { items, next },
                    latency_us_p99,
                    read_bytes,
                })
            }),
        (
            prop::collection::vec(bytes(), 0..4),
            any::<u32>(),
            any::<u64>(),
            prop::option::of(prop::collection::vec((any::<u64>(), 1u64..), 0..4))
        )
            .prop_map(|(entries, incarnation, next, end)| Response::Tail(
                TailAnswer::Entries {
                    entries,
                    incarnation,
                    next,
                    end: end.map(|pairs| {
                        let pair = |(o, v)| (Origin(o), Version(v));
                        pairs.into_iter().map(pair).collect()
                    }),
                }
            )),
        Just(Response::Tail(TailAnswer::TooOld)),
        Just(Response::Tail(TailAnswer::NotNow)),
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

#[test]
fn a_set_of_froms_has_what_it_names() {
    assert!(Froms::of(3).has(3) && !Froms::of(3).has(2) && !Froms::of(3).has(4));
    assert!(Froms::and_above(3).has(200) && !Froms::and_above(3).has(2));
    assert!(Froms::of(64).has(255) && Froms::of(1).has(0));
}
