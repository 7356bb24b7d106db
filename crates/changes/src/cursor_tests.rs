#![allow(clippy::unwrap_used)]
use super::*;

const NOW: u64 = 1_000_000;

fn new() -> Cursor {
    Cursor::new(7, "c", "beginning".to_owned(), NOW)
}

fn stale() -> CursorError {
    CursorError::Stale("c".to_owned())
}

#[test]
fn one_consumer_has_it_at_a_time() {
    let held = new().grant("a", None, NOW).unwrap();
    assert_eq!((held.generation, &*held.holder), (2, "a"));
    let refused = held
        .clone()
        .grant("b", None, NOW + LEASE_MS - 1)
        .unwrap_err();
    assert!(refused.to_string().contains("read by a"), "{refused}");
    // It gives a sign, and then none.
    let renewed = held.clone().renew(2, NOW + 10_000).unwrap();
    assert!(renewed.clone().grant("b", None, NOW + LEASE_MS).is_err());
    let taken = renewed.grant("b", None, NOW + 10_000 + LEASE_MS).unwrap();
    assert_eq!((taken.generation, &*taken.holder), (3, "b"));
    // It comes again by its generation, through another node.
    let again = held.clone().grant("a", Some(2), NOW + 1).unwrap();
    assert_eq!(again.generation, 3);
    assert!(again.grant("a", Some(2), NOW + 2).is_err());
    // Or says that it ends: then a stream that does not know it yet gives no more signs.
    let free = held.release(2).unwrap();
    assert_eq!(free.clone().renew(2, NOW + 1), Err(stale()));
    assert!(free.grant("b", None, NOW + 1).is_ok());
}

#[test]
fn what_an_earlier_consumer_says_counts_no_more() {
    let first = new().grant("a", None, NOW).unwrap();
    let second = first.grant("b", None, NOW + LEASE_MS).unwrap();
    let now = NOW + LEASE_MS + 1;
    assert_eq!(
        second.clone().commit("t".into(), Some(2), now),
        Err(stale())
    );
    assert_eq!(second.clone().renew(2, now), Err(stale()));
    assert_eq!(second.clone().release(2), Err(stale()));
    let committed = second.clone().commit("t".into(), Some(3), now).unwrap();
    assert_eq!((&*committed.token, committed.committed_ms), ("t", now));
    assert_eq!(committed.lease_until_ms, now + LEASE_MS);
    // Nobody is let in behind a seek with what he had before.
    let sought = committed.seek("u".into(), now);
    assert_eq!((&*sought.token, sought.is_held(now)), ("u", false));
    assert_eq!(
        sought.clone().commit("t".into(), Some(3), now),
        Err(stale())
    );
    // An operator says no generation, and gives nobody a lease.
    let said = sought.commit("v".into(), None, now).unwrap();
    assert_eq!((&*said.token, said.lease_until_ms), ("v", 0));
}
