#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_duration_is_in_the_first_bucket_that_reaches_it() {
    for (spent_us, bucket) in [
        (0, 0),
        (1, 0),
        (128, 0),
        (129, 1),
        (256, 1),
        (257, 2),
        (2_097_152, 14),
        (2_097_153, 15),
        (u64::MAX, 15),
    ] {
        assert_eq!(bucket_of(spent_us), bucket, "{spent_us}");
    }
    assert_eq!((bound_s(0), bound_s(BUCKETS - 1)), (0.000_128, 2.097_152));
}

#[test]
fn statuses_have_classes() {
    for (status, of) in [
        (200, 0),
        (204, 0),
        (304, 1),
        (404, 2),
        (503, 3),
        (100, 0),
        (999, 3),
    ] {
        assert_eq!(class(StatusCode::from_u16(status).unwrap()), of, "{status}");
    }
}

#[test]
fn shards_of_a_node_count_together_and_those_of_another_apart() {
    let meters = Meters::default();
    let shards = [("n1", 0), ("n1", 1), ("n2", 0)].map(|(node, number)| {
        let requests = meters.of_shard(node, number);
        requests.follow([(1, "default"), (2, "birds")].into_iter());
        requests
    });
    for requests in &shards {
        requests.record(Operation::Get, 2, StatusCode::OK, 100);
        requests.record(Operation::Get, 2, StatusCode::NOT_FOUND, 300);
    }
    shards[1].record(Operation::Put, 1, StatusCode::CREATED, 1_000);
    let series = meters.of_node("n1");
    let found: Vec<_> = series
        .iter()
        .map(|((operation, keyspace, class), sums)| {
            let count: u64 = sums.buckets.iter().sum();
            (
                operation.name(),
                keyspace.as_str(),
                CLASSES[*class],
                count,
                sums.sum_us,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("get", "birds", "2xx", 2, 200),
            ("get", "birds", "4xx", 2, 600),
            ("put", "default", "2xx", 1, 1_000),
        ]
    );
    assert_eq!(meters.of_node("n2").len(), 2);
    // A start counts from zero.
    meters.of_shard("n2", 0);
    assert!(meters.of_node("n2").is_empty());
}

#[test]
fn only_so_many_keyspaces_are_shown_and_the_rest_as_one() {
    let meters = Meters::default();
    let requests = meters.of_shard("n1", 0);
    let names: Vec<String> = (0..1_000).map(|id| format!("k{id}")).collect();
    let all = |gone: u32| {
        let named = names.iter().enumerate();
        named
            .map(|(id, name)| (id as u32, name.as_str()))
            .filter(move |(id, _)| *id != gone)
            .rev()
    };
    requests.follow(all(u32::MAX));
    let ask_all = || {
        for id in 0..1_000 {
            requests.record(Operation::Put, id, StatusCode::CREATED, 1);
        }
    };
    ask_all();
    let counts = || -> BTreeMap<String, u64> {
        let series = meters.of_node("n1").into_iter();
        series
            .map(|((_, keyspace, _), sums)| (keyspace, sums.buckets.iter().sum()))
            .collect()
    };
    let before = counts();
    assert_eq!(before.len(), KEYSPACES_SHOWN + 1);
    assert_eq!((before["k0"], before["k99"], before[OTHER]), (1, 1, 900));
    // One goes, and the next has figures of its own from then on.
    requests.follow(all(7));
    ask_all();
    let after = counts();
    assert_eq!(after.len(), KEYSPACES_SHOWN + 1);
    assert_eq!(after.get("k7"), None);
    assert_eq!(
        (after["k0"], after["k100"], after[OTHER]),
        (2, 1, 900 + 900)
    );
}
