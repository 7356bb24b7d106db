//! Two processes with one name: the one that started later stays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, verify};
use crate::harness::random::Random;

#[test]
fn the_earlier_of_two_with_one_name_ends_and_nothing_acknowledged_is_lost() {
    let mut random = Random::from_environment();
    let mut flock = Flock::start(&[]);
    let twin = flock.join();
    flock.nodes[twin].name = "n2".to_owned();
    flock.nodes[twin].data = flock.directory.path().join("another-n2");
    let addresses = flock.addresses();
    let stop = AtomicBool::new(false);
    let (code, ledger) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|number| {
                let writer = Writer::new(&format!("w{number}"), &addresses, random.next(), 60);
                let stop = &stop;
                scope.spawn(move || writer.run(stop))
            })
            .collect();
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            std::thread::sleep(Duration::from_secs(1));
            flock.spawn(twin);
            let code = flock.nodes[1].process_mut().ended(Duration::from_secs(20));
            flock.wait(twin);
            std::thread::sleep(Duration::from_secs(1));
            code
        }));
        stop.store(true, Ordering::Relaxed);
        let mut ledger = Ledger::default();
        for writer in writers {
            ledger.merge(writer.join().unwrap());
        }
        match rounds {
            Ok(code) => (code, ledger),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let output = flock.nodes[1].output();
    assert_eq!(code, Some(4), "{output}");
    let lines: Vec<&str> = output
        .lines()
        .filter(|l| l.starts_with("dunlin:"))
        .collect();
    assert_eq!(lines.len(), 1, "{output}");
    // The topology tells where the later one listens as well; another node only that there is one.
    let why = "another process runs as node n2";
    assert!(lines[0].contains(why), "{}", lines[0]);
    assert!(lines[0].contains("--name"), "{}", lines[0]);
    println!(
        "{} acknowledged writes, {} of unknown outcome; {}",
        ledger.acknowledged_count, ledger.open_count, lines[0]
    );
    assert!(ledger.acknowledged_count > 500, "hardly any load");
    flock.nodes.remove(1);
    verify(&ledger, &flock.nodes, "");
    // The later one holds what it acknowledged: it serves without the one or the other.
    flock.ready(2);
    flock.stop(0);
    verify(&ledger, &flock.nodes[1..], "");
}
