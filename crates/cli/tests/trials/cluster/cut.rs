//! Networks that lose everything between some nodes for a while.

use std::time::{Duration, Instant};

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Writer, verify_within};
use crate::harness::namespace::Network;

/// A flock with each node on a host of its own. Bound in this order, the network outlives the
/// processes.
fn flock() -> Option<(Network, Flock)> {
    let network = Network::of(3)?;
    let mut flock = Flock::prepare_at(&[], &network.gateway());
    for (node, host) in flock.nodes.iter_mut().zip(&network.hosts) {
        node.host = host.address.clone();
        node.namespace = Some(host.namespace.clone());
    }
    flock.up_all();
    Some((network, flock))
}

#[test]
fn a_node_cut_off_refuses_what_it_cannot_know_and_catches_up_when_healed() {
    let Some((network, mut flock)) = flock() else {
        return;
    };
    let addresses = flock.addresses();
    let before = Writer::new("before", &addresses, 1, 50).run_count(200);
    for key in ["a", "b", "c"] {
        assert_eq!(flock.nodes[0].put(key, b"old", "&ack=3").status, 201);
    }
    for other in [0, 1] {
        network.cut(2, other);
        network.cut(other, 2);
    }
    // The majority goes on, perhaps after noticing.
    let (majority, minority) = flock.nodes.split_at(2);
    let cut_at = Instant::now();
    eventually("the majority writes", Duration::from_secs(10), || {
        majority[0].put("a", b"new", "").status == 201 && majority[1].delete("b", "").status == 202
    });
    println!("the majority wrote {:?} after the cut", cut_at.elapsed());
    let during = Writer::new("during", &addresses[..2], 2, 50).run_count(300);
    for key in ["a", "b", "c"] {
        let begun = Instant::now();
        assert_eq!(
            minority[0].get(key, "").status,
            504,
            "{key} read in the minority"
        );
        assert_eq!(minority[0].put("d", b"x", "").status, 504);
        assert!(
            begun.elapsed() < Duration::from_secs(12),
            "refusals took {:?}",
            begun.elapsed()
        );
    }
    // What one replica is enough for still works, and is not lost.
    assert_eq!(minority[0].get("a", "&ack=1").text(), "old");
    assert_eq!(minority[0].put("c", b"alone", "&ack=1").status, 201);
    assert_eq!(minority[0].request("GET", "/health", b"").status, 503);
    assert_eq!(minority[0].request("GET", "/health/live", b"").status, 200);
    std::thread::sleep(Duration::from_secs(3));
    for other in [0, 1] {
        network.heal(2, other);
        network.heal(other, 2);
    }
    let healed = Instant::now();
    flock.wait_connected();
    for node in &flock.nodes {
        eventually("right answers everywhere", Duration::from_secs(20), || {
            node.get("a", "&ack=1").text() == "new"
                && node.get("b", "&ack=1").status == 404
                && node.get("c", "&ack=1").text() == "alone"
        });
    }
    println!("all replicas equal {:?} after healing", healed.elapsed());
    for ledger in [&before, &during] {
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
    }
}

#[test]
fn a_cut_in_one_direction_loses_nothing() {
    let Some((network, mut flock)) = flock() else {
        return;
    };
    let addresses = flock.addresses();
    let mut ledgers = vec![Writer::new("whole", &addresses, 3, 30).run_count(100)];
    for (round, (from, to)) in [(0, 1), (2, 0)].into_iter().enumerate() {
        network.cut(from, to);
        // Either end may fail writes until it notices; what it acknowledges counts.
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|number| {
                    let name = format!("cut{round}-{number}");
                    let writer =
                        Writer::new(&name, &addresses[number..=number], 4 + number as u64, 20);
                    let stop = &stop;
                    scope.spawn(move || writer.run(stop))
                })
                .collect();
            std::thread::sleep(Duration::from_secs(5));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            ledgers.extend(writers.into_iter().map(|writer| writer.join().unwrap()));
        });
        network.heal(from, to);
        flock.wait_connected();
    }
    for ledger in &ledgers {
        println!(
            "{} acknowledged, {} unknown",
            ledger.acknowledged_count, ledger.open_count
        );
        verify_within(ledger, &flock.nodes, "", Duration::from_secs(20));
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
    }
}
