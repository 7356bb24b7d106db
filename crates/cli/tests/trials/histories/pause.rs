//! Nodes that stand still, with requests in their sockets, and go on.

use std::time::Duration;

use super::clients::{Clients, bytes_of, now_ms, times, value_of};
use crate::harness::flock::{Flock, entity};
use crate::harness::random::Random;

const ROUNDS: usize = 8;

#[test]
fn nodes_that_stand_still_and_go_on() {
    let mut random = Random::from_environment();
    let mut flock = Flock::start(&["--shards", "2"]);
    let clients = Clients::new(&flock.addresses(), 6);
    let mut choices = Random::new(random.next());
    clients.run([3, 3, 2], &mut random, || {
        for _ in 0..ROUNDS {
            std::thread::sleep(choices.millis(200, 800));
            // Two of three now and then: then nobody can acknowledge anything.
            let count = 1 + usize::from(choices.below(4) == 0);
            let first = choices.below(3);
            let still: Vec<usize> = (0..count).map(|more| (first + more) % 3).collect();
            for node in &still {
                flock.nodes[*node].process_mut().signal("-STOP");
            }
            std::thread::sleep(choices.millis(300, 2_200));
            for node in &still {
                flock.nodes[*node].process_mut().signal("-CONT");
            }
        }
        std::thread::sleep(Duration::from_secs(1));
    });
    flock.wait_connected();
    clients.settle(&flock);
    clients.judge("pause", 500);
}

/// The same seen close up: one request waits in the socket of a node that stands still while its
/// client goes on through another, and a later write is acknowledged.
#[test]
fn what_waited_in_a_socket_does_not_come_back_on_top() {
    let mut flock = Flock::start(&[]);
    for round in 0..4 {
        let (still, key) = (round % 3, format!("late-{round}"));
        let others = [(still + 1) % 3, (still + 2) % 3];
        let path = entity(&key, "");
        assert_eq!(flock.nodes[others[0]].put(&key, b"0 ", "").status, 201);
        // With times, and without.
        let deadline_ms = now_ms() + 500;
        let first = match round % 2 {
            0 => times(deadline_ms, 0),
            _ => String::new(),
        };
        let mut waiting = flock.nodes[still].wire();
        flock.nodes[still].process_mut().signal("-STOP");
        waiting
            .try_send("PUT", &path, &first, bytes_of(1, 20))
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let again = times(deadline_ms + 1_000, deadline_ms);
        let mut wire = flock.nodes[others[0]].wire();
        let answer = wire.try_request_with("PUT", &path, &again, bytes_of(1, 20));
        assert_eq!(answer.unwrap().status, 201);
        let answer = flock.nodes[others[1]].put(&key, &bytes_of(2, 20), "");
        assert_eq!(answer.status, 201);
        std::thread::sleep(Duration::from_millis(1_200));
        flock.nodes[still].process_mut().signal("-CONT");
        let late = waiting.answer();
        println!(
            "round {round}: the request that waited: {} {}",
            late.status,
            late.text()
        );
        std::thread::sleep(Duration::from_millis(300));
        for node in &flock.nodes {
            let found = node.get(&key, "");
            assert_eq!(value_of(found.status, &found.body), Some(2), "{late:?}");
        }
        flock.wait_connected();
    }
}
