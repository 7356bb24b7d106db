//! `kill -9` of one node, or two, or all of them, again and again.

use std::time::{Duration, Instant};

use super::clients::Clients;
use crate::harness::flock::Flock;
use crate::harness::random::Random;

const ROUNDS: usize = 10;
/// However slow the machine: no new kill after this.
const LONGEST: Duration = Duration::from_secs(30);

#[test]
fn killed_nodes_and_their_restarts() {
    let mut random = Random::from_environment();
    // Small segments and memtables: rotations and flushes happen under fire, too.
    let mut flock = Flock::start(&["--segment", "1MiB", "--flush", "1MiB", "--shards", "2"]);
    let clients = Clients::new(&flock.addresses(), 6).value_bytes(1_500);
    let mut choices = Random::new(random.next());
    clients.run([3, 3, 2], &mut random, || {
        let begun = Instant::now();
        for round in 0..ROUNDS {
            if begun.elapsed() > LONGEST {
                println!("only {round} rounds");
                break;
            }
            std::thread::sleep(choices.millis(200, 800));
            let count = [1, 1, 1, 2, 3][choices.below(5)];
            let first = choices.below(3);
            let victims: Vec<usize> = (0..count).map(|more| (first + more) % 3).collect();
            for victim in &victims {
                flock.kill(*victim);
            }
            std::thread::sleep(choices.millis(1, 600));
            for victim in &victims {
                flock.spawn(*victim);
            }
            for victim in &victims {
                flock.wait(*victim);
            }
        }
        std::thread::sleep(Duration::from_secs(1));
    });
    flock.wait_connected();
    clients.settle(&flock);
    clients.judge("crash", 500);
}
