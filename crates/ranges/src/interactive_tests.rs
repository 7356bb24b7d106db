use std::time::Duration;

use super::*;

fn place(key: &'static str) -> Place {
    Place {
        keyspace: "bank".to_owned(),
        key: Bytes::from_static(key.as_bytes()),
    }
}

fn buffer() -> Buffer {
    Buffer {
        writes: Vec::new(),
        bytes: 0,
        begun: Instant::now(),
        used: Instant::now(),
        is_committing: false,
    }
}

#[tokio::test]
async fn what_is_written_twice_counts_once_and_too_much_is_refused() {
    let mut buffer = buffer();
    let limits = &Limits::default();
    let large = Bytes::from(vec![7; limits.bytes / 2]);
    assert_eq!(buffer.put(limits, &place("a"), Some(&large)), Told::Kept);
    assert_eq!(buffer.put(limits, &place("a"), Some(&large)), Told::Kept);
    assert_eq!(buffer.bytes, 1 + large.len());
    let refused = buffer.put(limits, &place("b"), Some(&large));
    assert!(matches!(refused, Told::Refused(413, _)), "{refused:?}");
    assert_eq!(buffer.put(limits, &place("a"), None), Told::Kept);
    assert_eq!(buffer.put(limits, &place("b"), Some(&large)), Told::Kept);
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
    let id = |secret| TxnId {
        at: ShardAddress { node: 1, shard: 0 },
        txn: Version(1),
        secret,
    };
    for secret in 0..3 {
        open.0.borrow_mut().insert(id(secret), buffer());
    }
    if let Some(buffer) = open.0.borrow_mut().get_mut(&id(2)) {
        buffer.is_committing = true;
    }
    tokio::time::advance(limits.idle - Duration::from_secs(1)).await;
    if let Some(buffer) = open.0.borrow_mut().get_mut(&id(1)) {
        buffer.used = Instant::now();
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    open.expire(&limits);
    assert!(!open.0.borrow().contains_key(&id(0)));
    assert_eq!(open.count(), 2);
    tokio::time::advance(limits.time).await;
    open.expire(&limits);
    assert!(open.0.borrow().contains_key(&id(2)));
    assert_eq!(open.count(), 1);
}
