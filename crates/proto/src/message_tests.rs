#![allow(clippy::unwrap_used, clippy::expect_used)]
use bytes::{Bytes, BytesMut};
use dunlin_entry::{Kind, Origin, Rank, Replaces, Stamp, Vector, Version};
use dunlin_message::Message;
use proptest::prelude::*;

use crate::*;

fn bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<u64>()).prop_map(|(v, o)| Stamp::new(Version(v), Origin(o)))
}

fn replaces() -> impl Strategy<Value = Option<Replaces>> {
    let some = (stamp(), any::<bool>()).prop_map(|(stamp, is_mend)| Replaces { stamp, is_mend });
    prop::option::of(some)
}

fn condition(number: u8, of: Stamp) -> Condition {
    match number % 4 {
        0 => Condition::None,
        1 => Condition::Absent,
        2 => Condition::Present,
        _ => Condition::Is(of),
    }
}

fn given(number: u8, of: Stamp) -> Option<Given> {
    let is_expiry = number % 3 == 2;
    (!number.is_multiple_of(3)).then_some(Given {
        stamp: of,
        is_expiry,
    })
}

fn item() -> impl Strategy<Value = Item> {
    (
        bytes(),
        stamp(),
        any::<u8>(),
        any::<bool>(),
        any::<Option<u64>>(),
        replaces(),
        prop::option::of(stamp()),
        bytes(),
    )
        .prop_map(
            |(key, stamp, from, tombstone, expiry_ms, replaces, logged, value)| Item {
                key,
                stamp,
                from,
                tombstone,
                expiry_ms,
                is_expiry: false,
                replaces,
                logged: logged.map(|logged| Box::new(logged.into())),
                value,
            },
        )
}

fn shard() -> impl Strategy<Value = ShardAddress> {
    (any::<u16>(), any::<u16>()).prop_map(|(node, shard)| ShardAddress { node, shard })
}

fn place() -> impl Strategy<Value = Place> {
    (any::<u32>(), any::<u16>()).prop_map(|(keyspace, partition)| Place {
        keyspace,
        partition,
    })
}

fn vector() -> impl Strategy<Value = Vector> {
    let pairs = prop::collection::vec((any::<u64>(), 1u64..), 0..4);
    pairs.prop_map(|pairs| {
        let pairs = pairs.into_iter();
        pairs.map(|(o, v)| (Origin(o), Version(v))).collect()
    })
}

fn asker() -> impl Strategy<Value = Asker> {
    let numbers = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u64>());
    (numbers, any::<u64>(), any::<bool>()).prop_map(
        |((node, shard, incarnation, opened_at), vouched, is_settled)| Asker {
            address: ShardAddress { node, shard },
            incarnation,
            opened_at,
            vouched,
            is_settled,
        },
    )
}

fn life() -> impl Strategy<Value = Life> {
    (any::<u32>(), any::<bool>()).prop_map(|(incarnation, is_whole)| Life {
        incarnation,
        is_whole,
    })
}

fn answerer() -> impl Strategy<Value = Answerer> {
    let told = (any::<u32>(), any::<u64>()).prop_map(|(incarnation, vouched)| Told {
        incarnation,
        vouched,
    });
    (life(), prop::option::of(told), any::<u32>()).prop_map(|(life, contradiction, final_to)| {
        Answerer {
            life,
            contradiction,
            final_to,
        }
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
            replaces(),
            bytes(),
            bytes()
        )
            .prop_map(
                |(keyspace, put, ack, from, stamp, expiry_ms, replaces, key, value)| {
                    Request::Write(WriteRequest {
                        keyspace,
                        kind: if put { Kind::Put } else { Kind::Delete },
                        ack,
                        from,
                        condition: condition(ack, stamp),
                        expiry_ms,
                        key,
                        value,
                        deadline: stamp.version,
                        floor: Version(stamp.origin.0),
                        replaces,
                        given: given(from, stamp),
                    })
                }
            ),
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
            prop::collection::vec(bytes(), 0..5),
            prop::collection::vec((any::<u16>(), any::<u16>(), any::<u64>()), 0..4)
        )
            .prop_map(
                |(origin, after, up_to, entries, held)| Request::Replicate(Batch {
                    origin: Origin(origin),
                    after: Version(after),
                    up_to: Version(up_to),
                    entries,
                    held: held
                        .into_iter()
                        .map(|(node, shard, version)| (
                            ShardAddress { node, shard },
                            Version(version)
                        ))
                        .collect(),
                })
            ),
        any::<u64>().prop_map(|o| Request::Position(Origin(o))),
        prop::collection::vec(bytes(), 0..5).prop_map(Request::Repair),
        any::<bool>().prop_map(|counts_keys| Request::Status { counts_keys }),
        (
            any::<u32>(),
            any::<u16>(),
            bytes(),
            any::<bool>(),
            (asker(), vector(), any::<u64>())
        )
            .prop_map(|(keyspace, partition, start, is_asker_whole, delta)| {
                let (asker, have, keep) = delta;
                let delta = Delta {
                    asker: asker.address,
                    have,
                    keep: Version(keep),
                };
                Request::Snapshot(SnapshotRequest {
                    keyspace,
                    partition,
                    start,
                    is_asker_whole,
                    delta,
                })
            }),
        (vector(), asker())
            .prop_map(|(vector, asker)| { Request::Vectors(VectorsRequest { vector, asker }) }),
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
            prop::collection::vec((place(), any::<u64>().prop_map(Froms)), 0..4),
            (shard(), any::<u64>())
        )
            .prop_map(|(incarnation, index, wants, (asker, keep))| Request::Tail(
                TailRequest {
                    incarnation,
                    index,
                    wants,
                    pin: TailPin { asker, keep },
                }
            )),
        Just(Request::Move),
        (any::<u64>(), any::<u64>()).prop_map(|order| Request::Clock(ClockRequest { order })),
        (any::<u32>(), any::<u16>(), bytes()).prop_map(|(keyspace, partition, start)| {
            Request::Far(FarRequest {
                keyspace,
                partition,
                start,
            })
        }),
        shard().prop_map(Request::Reach),
        shard().prop_map(Request::Leaving),
        Just(Request::Ready),
        any::<u64>().prop_map(Request::Acts),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    (any::<u32>(), any::<bool>()).prop_map(|(undrops, is_dropped)| Fate {
        undrops,
        is_dropped,
    })
}

fn response() -> impl Strategy<Value = Response> {
    prop_oneof![
        stamp().prop_map(|s| Response::Written(WriteAnswer::Done(s))),
        prop::option::of(stamp()).prop_map(|s| Response::Written(WriteAnswer::ConditionFailed(s))),
        any::<u8>().prop_map(|got| Response::Written(WriteAnswer::NotEnough { got })),
        Just(Response::Written(WriteAnswer::Refused(Refusal::NoSpace))),
        Just(Response::Written(WriteAnswer::Overtaken)),
        stamp().prop_map(|s| Response::Written(WriteAnswer::Beyond(s))),
        (
            any::<u64>(),
            prop::option::of((
                (any::<u64>(), any::<u64>()),
                prop::collection::btree_map(any::<u32>(), fate(), 0..4)
            ))
        )
            .prop_map(|(now_ms, word)| Response::Clock(ClockAnswer {
                now_ms,
                drops: word.map(|(order, fates)| Word { order, fates }),
            })),
        any::<u64>().prop_map(|clock| Response::Written(WriteAnswer::TooLate(Version(clock)))),
        item().prop_map(|i| Response::Read(ReadAnswer::Value(i))),
        Just(Response::Read(ReadAnswer::Same)),
        (
            prop::collection::vec((any::<u64>(), stamp(), replaces()), 0..4),
            prop::collection::vec(any::<u64>().prop_map(Version), 0..4),
            prop_oneof![Just(0), any::<u64>()],
            any::<bool>(),
        )
            .prop_map(|(list, uncounted, unsure, wants_held)| {
                Response::Replicated(BatchAnswer::Have {
                    unsure: Version(unsure),
                    wants_held,
                    conflicts: list
                        .into_iter()
                        .map(|(v, newer, replaces)| Conflict {
                            version: Version(v),
                            newer: Rank::new(newer, replaces),
                        })
                        .collect(),
                    uncounted,
                })
            }),
        (
            prop::collection::vec(item(), 0..4),
            prop::option::of(bytes()),
            prop::option::of(life()),
            any::<Option<(u64, u64)>>()
        )
            .prop_map(|(items, next, life, cost)| {
                let cost = cost.map(|(latency_us_p99, read_bytes)| PageCost {
                    latency_us_p99,
                    read_bytes,
                });
                Response::Page(Page {
                    items,
                    next,
                    life,
                    cost: life.and(cost),
                })
            }),
        (vector(), answerer()).prop_map(|(vector, answerer)| {
            Response::Vectors(VectorsAnswer { vector, answerer })
        }),
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
        (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(reaches, is_current, has_heard)| {
                Response::Reached(Reached {
                    reaches,
                    is_current,
                    has_heard,
                })
            }
        ),
        bytes().prop_map(Response::Ready),
        (
            prop::collection::vec(item(), 0..4),
            prop::option::of(bytes()),
            any::<u64>(),
            any::<u64>()
        )
            .prop_map(|(items, next, latency_us_p99, read_bytes)| {
                let mut run = RunBuilder::default();
                items.iter().for_each(|item| run.push(item.by_ref()));
                Response::Filled(FillPage {
                    run: run.finish(),
                    next,
                    latency_us_p99,
                    read_bytes,
                })
            }),
        (
            prop::collection::vec(bytes(), 0..4),
            any::<u32>(),
            any::<u64>(),
            prop::option::of(prop::collection::vec((any::<u64>(), 1u64..), 0..4)),
            any::<u64>()
        )
            .prop_map(|(entries, incarnation, next, end, synced)| Response::Tail(
                TailAnswer::Entries {
                    entries,
                    incarnation,
                    next,
                    end: end.map(|pairs| {
                        let pair = |(o, v)| (Origin(o), Version(v));
                        pairs.into_iter().map(pair).collect()
                    }),
                    synced,
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
