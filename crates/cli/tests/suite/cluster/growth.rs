//! A node comes, another goes, under load.

use std::time::Duration;

use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Writer, beside, verify, verify_settled};
use crate::support::copies;
use crate::support::operator::{at, members, names, preload};

#[test]
fn a_node_is_added_and_another_drained_while_clients_read_and_write() {
    // Few partitions: each is copied as files.
    let mut flock = Flock::start(&["--partitions", "4", "--flush", "8MiB"]);
    let mut ledger = preload(&mut flock, 20_000);
    let n4 = flock.join();
    let addresses = flock.addresses();
    let writers = (0..4)
        .map(|number| {
            let writer = Writer::new(&format!("w{number}"), &addresses, number + 1, 200);
            writer.value_bytes(500)
        })
        .collect();
    let (written, ()) = beside(writers, |_| {
        flock.up(n4);
        let line = "n4 holds no data yet: dunlin node add n4";
        // It says so a moment after it serves.
        eventually("n4 says that it is spare", Duration::from_secs(20), || {
            flock.nodes[n4].output().contains(line)
        });
        assert_eq!(names(&mut flock), "n1 n2 n3");
        let added = at(&mut flock, &["node", "add", "n4"]).ok();
        assert!(added.text().contains("n4 hold data"), "{}", added.text());
        assert_eq!(added.stderr, "", "no terminal, no progress");
        assert_eq!(names(&mut flock), "n1 n2 n3 n4");
        let has_ingested = |index: usize| copies::has_ingested(&flock.nodes[index].data);
        assert!(has_ingested(n4), "no partition came as a file");
        assert!(!has_ingested(0), "the mark means nothing");
        std::thread::sleep(Duration::from_secs(1));
        let drained = at(&mut flock, &["node", "drain", "n1", "--json"])
            .ok()
            .json();
        assert_eq!(names(&mut flock), "n2 n3 n4");
        assert_eq!(drained["spare"], serde_json::json!(["n1"]));
        assert!(drained["change"].is_null());
        std::thread::sleep(Duration::from_secs(1));
    });
    println!(
        "{} acknowledged, {} of unknown outcome, {} reads checked",
        written.acknowledged_count, written.open_count, written.checked_reads
    );
    assert!(written.acknowledged_count > 500, "hardly any load");
    let reasons = &written.open_reasons;
    assert!(
        reasons.is_empty(),
        "clients notice nothing of a change: {reasons:#?}"
    );
    ledger.merge(written);
    // The drained node holds nothing, and coordinates as before.
    verify(&ledger, &flock.nodes, "&ack=2");
    verify_settled(&ledger, &flock.nodes, "&ack=3");
    copies::assert_on(&mut flock, &ledger, 3, &[1, 2, 3]);
    let roles = at(&mut flock, &["status"]).ok();
    let n1 = roles
        .text()
        .lines()
        .find(|line| line.starts_with("n1 "))
        .unwrap();
    assert!(n1.contains(" up ") && n1.contains(" spare "), "{n1}");
    assert_eq!(members(&mut flock)["changes"], 2);
}
