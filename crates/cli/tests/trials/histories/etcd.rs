//! A node that sees the others and its clients, but not etcd.

use std::time::Duration;

use dunlin_history::Operation;

use super::clients::{Clients, is_ok};
use crate::harness::etcd::Etcd;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::namespace::Network;
use crate::harness::random::Random;

const APART: usize = 2;
/// Its place among the hosts.
pub const ETCD: usize = 3;
const SOON: Duration = Duration::from_secs(20);

/// Three nodes and etcd, each on a host of its own; no node is started. Bound behind the network, so
/// that it outlives the processes.
pub fn apart(network: &Network, flags: &[&str]) -> Flock {
    let directory = tempfile::tempdir().unwrap();
    let host = &network.hosts[ETCD];
    let etcd = Etcd::start_in(directory.path(), &host.address, Some(&host.namespace));
    let mut flock = Flock::prepare_with(flags, "127.0.0.1", etcd, directory);
    for (node, host) in flock.nodes.iter_mut().zip(&network.hosts) {
        node.host = host.address.clone();
        node.namespace = Some(host.namespace.clone());
    }
    flock
}

#[test]
fn a_node_cut_off_from_etcd_alone_serves_and_catches_up() {
    let Some(network) = Network::of(4) else {
        return;
    };
    let mut random = Random::from_environment();
    let mut flock = apart(&network, &[]);
    flock.up_all();
    let clients = Clients::new(&flock.addresses(), 6);
    let through = |node: usize| {
        let note = format!("through n{}", node + 1);
        let wanted = |o: &&Operation| is_ok(o) && o.note.ends_with(&note);
        clients.operations().iter().filter(wanted).count()
    };
    clients.run([2, 2, 2], &mut random, || {
        std::thread::sleep(Duration::from_millis(500));
        network.cut(APART, ETCD);
        network.cut(ETCD, APART);
        std::thread::sleep(Duration::from_secs(3));
        // What changes now, it cannot hear of.
        let later = br#"{"name": "later"}"#;
        eventually("a keyspace is made", SOON, || {
            let answer = flock.nodes[0].request("POST", "/v1/keyspaces", later);
            matches!(answer.status, 201 | 409)
        });
        let put = |flock: &Flock, node: usize| {
            let path = format!("/v1/keyspaces/later/keys/from-{node}");
            flock.nodes[node].request("PUT", &path, b"x").status
        };
        for node in [0, 1] {
            eventually("the others know it", SOON, || put(&flock, node) == 201);
        }
        assert_ne!(put(&flock, APART), 201, "it cannot know this keyspace");
        flock.kill(0);
        std::thread::sleep(Duration::from_millis(500));
        flock.up(0);
        let before = through(APART);
        eventually("it serves all the while", SOON, || {
            through(APART) > before + 200
        });
        network.heal(APART, ETCD);
        network.heal(ETCD, APART);
        eventually("it hears of what it missed", SOON, || {
            put(&flock, APART) == 201
        });
    });
    flock.wait_connected();
    for node in &flock.nodes {
        let scan = node.request("GET", "/v1/keyspaces/later/keys", b"");
        assert_eq!(scan.text().lines().count(), 3, "{}", scan.text());
    }
    clients.settle(&flock);
    clients.judge("etcd", 500);
}
