//! The demo proves what it says: it passes on a real cluster, and its reading back finds every
//! kind of loss.

use std::sync::Arc;

use crate::support::run;
use crate::support::store::{Store, Verdict};
use bytes::Bytes;
use dunlin_cli::demo::verify::{Verified, verify};

fn read_back(store: &Store, records: &[(&str, &str)]) -> Verified {
    let records = records
        .iter()
        .map(|(key, value)| (key.as_bytes().to_vec(), Bytes::from(value.to_string())))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(verify("n1", &store.url, &Arc::new(records)))
        .unwrap()
}

#[test]
fn reading_back_finds_what_is_missing_different_or_unreadable() {
    let store = Store::gated(Arc::new(|_, key, _| match key {
        b"unreadable" => Verdict::Answer(504),
        _ => Verdict::Serve,
    }));
    for (key, value) in [("equal", "v"), ("empty", ""), ("different", "old")] {
        let mut inner = store.inner.lock().unwrap();
        inner
            .values
            .insert(key.as_bytes().to_vec(), (1, Bytes::from(value)));
    }
    let verified = read_back(
        &store,
        &[
            ("equal", "v"),
            ("empty", ""),
            ("different", "new"),
            ("missing", ""),
            ("unreadable", "v"),
        ],
    );
    assert_eq!((verified.equal, verified.mismatches()), (2, 3));
    assert_eq!(
        (verified.different, verified.missing, verified.unreadable),
        (1, 1, 1)
    );
    assert_eq!(verified.examples.len(), 3);
    assert!(
        store
            .requests()
            .iter()
            .all(|r| r.ends_with("?ack=2&from=3"))
    );
}

#[test]
fn a_small_catalogue_survives_the_loss_of_a_node() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("catalogue");
    let stanzas: String = (0..150_000)
        .map(|n| {
            format!(
                "Package: p{n}\nDescription: number {n}\n {}\n\n",
                "x".repeat(n % 300)
            )
        })
        .collect();
    std::fs::write(&file, stanzas).unwrap();
    let ended = run(&["demo", "--json", "--file", file.to_str().unwrap()]).ok();
    let measured = ended.json();
    assert_eq!(measured["mismatches"], 0);
    assert_eq!(measured["keys"], 150_000);
    let verified = measured["verified"].as_array().unwrap();
    assert_eq!(verified.len(), 3);
    assert!(verified.iter().all(|node| node["equal"] == 150_000));
    let (killed, returned) = (&measured["records_at_kill"], &measured["records_at_return"]);
    assert!(killed.as_u64().unwrap() > 1000 && returned.as_u64() > killed.as_u64());
}

#[test]
fn an_input_that_cannot_serve_is_one_line() {
    let ended = run(&["demo", "--file", "/nonexistent"]);
    assert!(ended.complaint(1).starts_with("/nonexistent: "));
}
