#![allow(clippy::unwrap_used)]
use super::*;

const NOW: u64 = 1_000_000;

fn new() -> Cursor {
    Cursor::new(7, "c", "beginning".to_owned(), NOW, None)
}

fn stale() -> CursorError {
    CursorError::Stale("c".to_owned())
}

#[test]
fn one_consumer_has_it_at_a_time() {
    let held = new().grant("a", None, NOW).unwrap();
    assert_eq!((held.generation, &*held.holder), (NOW + 1, "a"));
    let refused = held
        .clone()
        .grant("b", None, NOW + LEASE_MS - 1)
        .unwrap_err();
    assert!(refused.to_string().contains("read by a"), "{refused}");
    // It gives a sign, and then none.
    let renewed = held.clone().renew(NOW + 1, NOW + 10_000).unwrap();
    assert!(renewed.clone().grant("b", None, NOW + LEASE_MS).is_err());
    let taken = renewed.grant("b", None, NOW + 10_000 + LEASE_MS).unwrap();
    assert_eq!((taken.generation, &*taken.holder), (NOW + 2, "b"));
    // It comes again by its generation, through another node.
    let again = held.clone().grant("a", Some(NOW + 1), NOW + 1).unwrap();
    assert_eq!(again.generation, NOW + 2);
    assert!(again.grant("a", Some(NOW + 1), NOW + 2).is_err());
    // Or says that it ends: then its stream ends, too.
    assert!(held.is_of(NOW + 1) && !held.is_of(NOW));
    let free = held.release(NOW + 1).unwrap();
    assert!(!free.is_of(NOW + 1));
    assert!(free.grant("b", None, NOW + 1).is_ok());
}

#[test]
fn who_works_long_keeps_it_by_signs_of_its_own() {
    let held = new().grant("a", None, NOW).unwrap();
    let late = NOW + 10 * LEASE_MS;
    // Nobody took it meanwhile: it is still at work.
    let again = held.clone().renew(NOW + 1, late).unwrap();
    assert!(again.is_held(late) && again.is_of(NOW + 1));
    let again = held.commit("t".into(), Some(NOW + 1), late).unwrap();
    assert!(again.is_held(late + LEASE_MS - 1));
    // One that was given back is not taken again by a commit.
    let free = again.release(NOW + 1).unwrap();
    let committed = free.commit("u".into(), Some(NOW + 1), late).unwrap();
    assert_eq!((committed.is_held(late), &*committed.token), (false, "u"));
}

#[test]
fn one_made_again_begins_above_the_generations_of_the_one_before() {
    let before = new().grant("a", None, NOW).unwrap();
    // The clock of the node that makes it again is behind.
    let dropped_ms = NOW + 5;
    let made = Cursor::new(7, "c", "t".to_owned(), NOW - 500, Some(dropped_ms));
    assert!(made.generation > before.generation);
    assert!(
        made.commit("u".into(), Some(before.generation), NOW)
            .is_err()
    );
}

#[test]
fn what_an_earlier_consumer_says_counts_no_more() {
    let first = new().grant("a", None, NOW).unwrap();
    let second = first.grant("b", None, NOW + LEASE_MS).unwrap();
    let now = NOW + LEASE_MS + 1;
    assert_eq!(
        second.clone().commit("t".into(), Some(NOW + 1), now),
        Err(stale())
    );
    assert_eq!(second.clone().renew(NOW + 1, now), Err(stale()));
    assert_eq!(second.clone().release(NOW + 1), Err(stale()));
    let committed = second
        .clone()
        .commit("t".into(), Some(NOW + 2), now)
        .unwrap();
    assert_eq!((&*committed.token, committed.committed_ms), ("t", now));
    assert_eq!(committed.lease_until_ms, now + LEASE_MS);
    // Nobody is let in behind a seek with what he had before.
    let sought = committed.seek("u".into(), now);
    assert_eq!((&*sought.token, sought.is_held(now)), ("u", false));
    assert_eq!(
        sought.clone().commit("t".into(), Some(NOW + 2), now),
        Err(stale())
    );
    // An operator says no generation, and gives nobody a lease.
    let said = sought.commit("v".into(), None, now).unwrap();
    assert_eq!((&*said.token, said.lease_until_ms), ("v", 0));
}
