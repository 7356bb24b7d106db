#![allow(clippy::unwrap_used)]
use std::time::Duration;

use super::*;

fn place(key: &'static str) -> Place {
    Place {
        keyspace: "bank".into(),
        key: Bytes::from_static(key.as_bytes()),
    }
}

fn insert(open: &Open, txn: u64, client: &str) {
    let memory = Memory::uncounted();
    open.insert((Version(txn), 7), client.to_owned(), memory);
}

#[tokio::test]
async fn a_key_that_is_written_twice_counts_once_and_too_much_is_refused() {
    let (open, limits) = (Open::default(), &Limits::default());
    insert(&open, 1, "somebody");
    let mut buffers = open.buffers.borrow_mut();
    let buffer = buffers.values_mut().next().unwrap();
    let kept = |writes| {
        StepReply::Kept(Written {
            writes,
            first: Some(place("a")),
        })
    };
    let large = Bytes::from(vec![7; limits.bytes / 2]);
    assert_eq!(
        open.put(buffer, limits, (&place("a"), Some(&large)), usize::MAX),
        kept(1)
    );
    assert_eq!(
        open.put(buffer, limits, (&place("a"), Some(&large)), usize::MAX),
        kept(1)
    );
    assert_eq!(buffer.bytes, 1 + large.len());
    let refused = open.put(buffer, limits, (&place("b"), Some(&large)), usize::MAX);
    assert!(matches!(refused, StepReply::Refused(413, _)), "{refused:?}");
    assert_eq!(
        open.put(buffer, limits, (&place("a"), None), usize::MAX),
        kept(1)
    );
    assert_eq!(
        open.put(buffer, limits, (&place("b"), Some(&large)), usize::MAX),
        kept(2)
    );
    let keys: Vec<&Bytes> = buffer.writes.iter().map(|write| &write.place.key).collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(
        buffer.find(&place("a")).map(|write| &write.value),
        Some(&None)
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_used_or_lasts_too_long_is_forgotten() {
    let (open, limits) = (Open::default(), Limits::default());
    for txn in 0..3 {
        insert(&open, txn, "somebody");
    }
    let is_there = |txn| open.with(Version(txn), 7, |_| ()).is_some();
    open.with(Version(2), 7, |buffer| buffer.is_committing = true);
    tokio::time::advance(limits.idle - Duration::from_secs(1)).await;
    open.with(Version(1), 7, |buffer| buffer.used = Instant::now());
    tokio::time::advance(Duration::from_secs(2)).await;
    open.expire(&limits);
    assert!(!is_there(0));
    assert_eq!((open.count(), open.expired()), (2, 1));
    tokio::time::advance(limits.time).await;
    open.expire(&limits);
    assert!(is_there(2));
    assert_eq!(open.count(), 1);
}

#[tokio::test]
async fn one_client_has_a_quarter_of_all_places_at_most() {
    let open = Open::default();
    let quarter = (OPEN_MAX / CLIENT_PART) as u64;
    for txn in 0..quarter {
        open.admit("greedy").unwrap();
        insert(&open, txn, "greedy");
    }
    let line = open.admit("greedy").unwrap_err().to_string();
    assert!(line.contains("1024 transactions of greedy"), "{line}");
    open.admit("other").unwrap();
    open.remove(Version(5));
    open.remove(Version(5));
    open.admit("greedy").unwrap();
    insert(&open, 5, "greedy");
    open.admit("greedy").unwrap_err();
    for txn in quarter..OPEN_MAX as u64 {
        insert(&open, txn, &txn.to_string());
    }
    let line = open.admit("other").unwrap_err().to_string();
    assert!(line.contains("4096 transactions are open"), "{line}");
}

#[tokio::test]
async fn one_client_has_a_quarter_of_the_memory_at_most() {
    let (open, limits) = (Open::default(), &Limits::default());
    let put = |txn, key, value: &Bytes| {
        let put = |buffer: &mut Buffer| open.put(buffer, limits, (&place(key), Some(value)), 4_000);
        open.with(Version(txn), 7, put).unwrap()
    };
    let is_refused = |reply| matches!(reply, StepReply::Refused(503, _));
    let value = Bytes::from(vec![7; 599]);
    insert(&open, 1, "greedy");
    insert(&open, 2, "greedy");
    insert(&open, 3, "other");
    assert!(!is_refused(put(1, "a", &value)));
    assert!(is_refused(put(2, "b", &value)));
    assert!(!is_refused(put(3, "b", &value)));
    // The same key again takes no more.
    assert!(!is_refused(put(1, "a", &value)));
    open.remove(Version(1));
    assert!(!is_refused(put(2, "b", &value)));
}

#[tokio::test]
async fn a_wrong_secret_finds_nothing() {
    let open = Open::default();
    insert(&open, 1, "somebody");
    assert!(open.with(Version(1), 7, |_| ()).is_some());
    assert!(open.with(Version(1), 0, |_| ()).is_none());
    assert!(open.with(Version(2), 7, |_| ()).is_none());
}
