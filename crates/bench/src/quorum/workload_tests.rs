#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::load::protocol::Protocol;
use std::collections::HashSet;

fn first(workload: &mut HttpWorkload) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(workload.request(&mut Default::default(), &mut out));
    out
}

#[test]
fn no_two_runs_write_the_same_key() {
    let mut workloads = Workloads::new(10, Order::Random);
    let mut seen = HashSet::new();
    for copies in [ONE_COPY, THREE_COPIES, ONE_COPY, THREE_COPIES] {
        let mut workload = workloads.next(Verb::Put, copies);
        (0..100).for_each(|_| assert!(seen.insert(first(&mut workload))));
    }
}

#[test]
fn reads_ask_for_what_the_fill_wrote_and_differ_by_run() {
    let mut workloads = Workloads::new(10, Order::Sequential);
    workloads.filled = 1000;
    let keys: HashSet<_> = (0..1000)
        .map(|number| workloads.fill_keys(THREE_COPIES).key(number))
        .collect();
    let mut sequences = HashSet::new();
    for _ in 0..3 {
        let mut workload = workloads.next(Verb::Get, THREE_COPIES);
        let asked: Vec<Vec<u8>> = (0..50).map(|_| first(&mut workload)).collect();
        for request in &asked {
            let key = &request["GET /v0/entity?id=".len()..][..16];
            assert!(keys.contains(key));
        }
        sequences.insert(asked);
    }
    assert_eq!(sequences.len(), 3);
}
