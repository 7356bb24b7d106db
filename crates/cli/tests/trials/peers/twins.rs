//! Two processes with one name: who has no data does not take the name of one that answers; else the one
//! that started later stays.

use std::net::SocketAddr;
use std::time::Duration;

use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, beside, verify};
use crate::harness::random::Random;

/// Writers at work while `rounds` happens to the nodes; what they were told.
fn under_load(
    flock: &mut Flock,
    addresses: &[SocketAddr],
    rounds: impl FnOnce(&mut Flock),
) -> Ledger {
    let mut random = Random::from_environment();
    let writers = (0..6)
        .map(|number| Writer::new(&format!("w{number}"), addresses, random.next(), 60))
        .collect();
    let (ledger, ()) = beside(writers, |_| rounds(flock));
    println!(
        "{} acknowledged writes, {} of unknown outcome",
        ledger.acknowledged_count, ledger.open_count
    );
    assert!(ledger.acknowledged_count > 500, "hardly any load");
    ledger
}

/// The one line with which a process of this name ended.
fn last_line(flock: &Flock, index: usize) -> String {
    let output = flock.nodes[index].output();
    let lines: Vec<&str> = output
        .lines()
        .filter(|l| l.starts_with("dunlin:"))
        .collect();
    assert_eq!(lines.len(), 1, "{output}");
    println!("{}", lines[0]);
    lines[0].to_owned()
}

/// Another process of the name n2 with an empty directory; not started.
fn twin_of_n2(flock: &mut Flock) -> usize {
    let twin = flock.join();
    flock.nodes[twin].name = "n2".to_owned();
    flock.nodes[twin].data = flock.directory.path().join("another-n2");
    twin
}

#[test]
fn a_newcomer_without_data_does_not_take_the_name_of_one_that_answers() {
    let mut flock = Flock::start(&[]);
    flock.ready(1);
    let addresses = flock.addresses();
    let twin = twin_of_n2(&mut flock);
    let ledger = under_load(&mut flock, &addresses, |flock| {
        flock.spawn(twin);
        let code = flock.nodes[twin]
            .process_mut()
            .ended(Duration::from_secs(20));
        assert_eq!(code, Some(4), "{}", flock.nodes[twin].output());
        let line = last_line(flock, twin);
        let listen = format!("127.0.0.1:{}", flock.nodes[1].listen);
        for part in ["another process runs as node n2", &listen, "--name"] {
            assert!(line.contains(part), "{line}");
        }
        std::thread::sleep(Duration::from_secs(1));
        assert!(flock.nodes[1].is_running(), "{line}");
    });
    flock.nodes.remove(twin);
    verify(&ledger, &flock.nodes, "");
    // What ended is not in the way of the one that stays, when it starts again.
    flock.stop(1);
    flock.up(1);
    flock.ready(1);
    flock.stop(0);
    verify(&ledger, &flock.nodes[1..], "");
}

#[test]
fn the_name_of_one_that_hangs_is_taken_and_nothing_acknowledged_is_lost() {
    let mut flock = Flock::start(&[]);
    let twin = twin_of_n2(&mut flock);
    let addresses = flock.addresses();
    let ledger = under_load(&mut flock, &addresses, |flock| {
        std::thread::sleep(Duration::from_secs(1));
        flock.nodes[1].process().freeze();
        flock.up(twin);
        flock.nodes[1].process().signal("-CONT");
        let code = flock.nodes[1].process_mut().ended(Duration::from_secs(20));
        assert_eq!(code, Some(4), "{}", flock.nodes[1].output());
        std::thread::sleep(Duration::from_secs(1));
    });
    // The topology tells where the later one listens as well; another node only that there is one.
    let line = last_line(&flock, 1);
    assert!(line.contains("another process runs as node n2"), "{line}");
    assert!(line.contains("--name"), "{line}");
    flock.nodes.remove(1);
    verify(&ledger, &flock.nodes, "");
    // The later one holds what it acknowledged: it serves without the one or the other.
    flock.ready(2);
    flock.ready(1);
    flock.stop(0);
    verify(&ledger, &flock.nodes[1..], "");
}
