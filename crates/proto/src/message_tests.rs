#![allow(clippy::unwrap_used, clippy::expect_used)]
use bytes::{BufMut, Bytes, BytesMut};
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

fn item() -> impl Strategy<Value = Item> {
    (
        bytes(),
        stamp(),
        any::<u8>(),
        any::<bool>(),
        any::<Option<u64>>(),
        replaces(),
        bytes(),
    )
        .prop_map(
            |(key, stamp, from, tombstone, expiry_ms, replaces, value)| Item {
                key,
                stamp,
                from,
                tombstone,
                expiry_ms,
                is_expiry: false,
                replaces,
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
                        condition: match ack % 4 {
                            0 => Condition::None,
                            1 => Condition::Absent,
                            2 => Condition::Present,
                            _ => Condition::Is(stamp),
                        },
                        expiry_ms,
                        key,
                        value,
                        deadline: stamp.version,
                        floor: Version(stamp.origin.0),
                        replaces,
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
            prop::option::of((asker(), vector(), any::<u64>()))
        )
            .prop_map(|(keyspace, partition, start, is_asker_whole, delta)| {
                let delta = delta.map(|(asker, have, keep)| Delta {
                    asker: asker.address,
                    have,
                    keep: Version(keep),
                });
                Request::Snapshot(SnapshotRequest {
                    keyspace,
                    partition,
                    start,
                    is_asker_whole,
                    delta,
                })
            }),
        (vector(), prop::option::of(asker()))
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
            prop::option::of((shard(), any::<u64>()))
        )
            .prop_map(
                |(incarnation, index, wants, pin)| Request::Tail(TailRequest {
                    incarnation,
                    index,
                    wants,
                    pin: pin.map(|(asker, keep)| TailPin { asker, keep }),
                })
            ),
        Just(Request::Move),
        prop::option::of((any::<u64>(), any::<u64>()))
            .prop_map(|order| Request::Clock(ClockRequest { order })),
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
        (vector(), prop::option::of(answerer())).prop_map(|(vector, answerer)| {
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
            prop::option::of(any::<u64>())
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

/// Shards of the version before send these bytes, and read no more than these of ours.
#[test]
fn an_earlier_version_is_understood_and_understands() {
    let known: Vector = [(Origin(7), Version(9))].into_iter().collect();
    let mut body = BytesMut::new();
    body.put_u8(5);
    wire::put_vector(&mut body, &known);
    let body = body.freeze();
    match Request::decode(body.clone()).unwrap() {
        Request::Vectors(m) => assert!(m.vector == known && m.asker.is_none()),
        other => panic!("{other:?}"),
    }
    match Response::decode(body.clone()).unwrap() {
        Response::Vectors(m) => assert!(m.vector == known && m.answerer.is_none()),
        other => panic!("{other:?}"),
    }
    let answer = Response::Vectors(VectorsAnswer {
        vector: known,
        answerer: Some(Answerer {
            life: Life {
                incarnation: 3,
                is_whole: true,
            },
            contradiction: None,
            final_to: 2,
        }),
    });
    let encoded_answer = encoded(&answer);
    assert!(
        encoded_answer.starts_with(&body),
        "what is new stands at the end"
    );
    // From a build before seals.
    let before = encoded_answer.slice(..encoded_answer.len() - 4);
    match Response::decode(before).unwrap() {
        Response::Vectors(m) => assert_eq!(m.answerer.map(|a| a.final_to), Some(0)),
        other => panic!("{other:?}"),
    }
    let snapshot = SnapshotRequest {
        keyspace: 1,
        partition: 2,
        start: Bytes::new(),
        is_asker_whole: false,
        delta: None,
    };
    let whole = encoded(&Request::Snapshot(snapshot));
    match Request::decode(whole.slice(..whole.len() - 1)).unwrap() {
        Request::Snapshot(m) => assert!(m.is_asker_whole),
        other => panic!("{other:?}"),
    }
}

/// What tells of drops stands behind all that a build reads that does not know it.
#[test]
fn what_tells_of_drops_stands_at_the_end() {
    let have = |uncounted, replaces| {
        let newer = Stamp::new(Version(3), Origin(1));
        let conflict = Conflict {
            version: Version(2),
            newer: Rank::new(newer, replaces),
        };
        encoded(&Response::Replicated(BatchAnswer::Have {
            conflicts: vec![conflict],
            uncounted,
            unsure: Version(0),
            wants_held: false,
        }))
    };
    let replaces = Replaces {
        stamp: Stamp::new(Version(9), Origin(2)),
        is_mend: false,
    };
    for replaces in [None, Some(replaces)] {
        let (known, more) = (have(vec![], replaces), have(vec![Version(7)], replaces));
        assert!(more.starts_with(&known), "{replaces:?}");
    }
    // Of one that replaces nothing that is said, for it is looked for where anything follows.
    let nothing_replaced = have(vec![], None).len();
    assert_eq!(have(vec![Version(7)], None)[nothing_replaced], 0);

    let clock = |drops| encoded(&Response::Clock(ClockAnswer { now_ms: 5, drops }));
    let word = Word {
        order: (1, 2),
        fates: Fates::from([(3, Fate::default())]),
    };
    assert!(clock(Some(word)).starts_with(&clock(None)));
    let ask = |order| encoded(&Request::Clock(ClockRequest { order }));
    assert_eq!(ask(None)[..], [24]);
    assert!(ask(Some((1, 2))).starts_with(&[24]));
}

/// A build before decision 24 neither sends deadline and floor nor minds them.
#[test]
fn writes_without_a_deadline_have_none() {
    let request = WriteRequest {
        keyspace: 1,
        kind: Kind::Put,
        ack: 2,
        from: 3,
        condition: Condition::None,
        expiry_ms: None,
        key: Bytes::from_static(b"key"),
        value: Bytes::from_static(b"value"),
        deadline: Version(7),
        floor: Version(5),
        replaces: None,
    };
    let mut bytes = BytesMut::new();
    Request::Write(request).encode(&mut bytes);
    let whole = bytes.freeze();
    // Nor does one before mends say what it replaces.
    let Ok(Request::Write(decoded)) = Request::decode(whole.slice(..whole.len() - 1)) else {
        panic!("not a write");
    };
    assert_eq!((decoded.floor, decoded.replaces), (Version(5), None));
    let old = whole.slice(..whole.len() - 17);
    let Ok(Request::Write(decoded)) = Request::decode(old.clone()) else {
        panic!("not a write");
    };
    assert_eq!(
        (decoded.deadline, decoded.floor),
        (Version::MAX, Version(0))
    );
    assert_eq!(decoded.value, "value");
    // Half of a tail is none.
    let mut half = BytesMut::from(&old[..]);
    half.put_u64_le(7);
    assert!(Request::decode(half.freeze()).is_err());
}
