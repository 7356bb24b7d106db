#![allow(clippy::unwrap_used)]
use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn runner() -> Runner {
    Runner::inline(|| Duration::ZERO)
}

#[test]
fn a_hash_is_argon2id_of_owasps_parameters_and_salted() {
    let one = password_hash(b"secret word").unwrap();
    let other = password_hash(b"secret word").unwrap();
    assert!(one.reveal().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    assert_ne!(one, other, "each has a salt of its own");
    assert!(fits(one.reveal(), b"secret word") && fits(other.reveal(), b"secret word"));
    assert!(!fits(one.reveal(), b"secret wore") && !fits(one.reveal(), b""));
    assert!(!fits("", b"") && !fits("no hash", b"no hash"));
}

#[test]
fn tokens_are_long_and_differ() {
    let tokens: std::collections::BTreeSet<String> = (0..100).map(|_| new_token()).collect();
    assert_eq!(tokens.len(), 100);
    let shape = |token: &String| token.len() == 7 + 43 && token.starts_with(TOKEN_PREFIX);
    assert!(tokens.iter().all(shape));
    assert_eq!(hex(&token_hash(b"")).reveal().len(), 64);
}

#[tokio::test]
async fn what_fits_is_remembered_until_the_hash_is_another() {
    let (logins, runner) = (Logins::new(), runner());
    let check = async |hash: Option<&Hash>, password: &str| {
        let hash = hash.map(|hash| hash.reveal().to_owned());
        let password = password.as_bytes().to_vec();
        logins.check(&runner, HERE, hash, password).await
    };
    let hashed = || logins.counts.hashed.load(Relaxed);
    let hash = password_hash(b"one").unwrap();
    assert_eq!(check(Some(&hash), "one").await, Checked::Right);
    assert_eq!(check(Some(&hash), "one").await, Checked::Right);
    assert_eq!(hashed(), 1);
    for _ in 0..2 {
        assert_eq!(check(Some(&hash), "two").await, Checked::Wrong);
    }
    assert_eq!(hashed(), 3, "what does not fit is checked again");
    let changed = password_hash(b"two").unwrap();
    assert_eq!(check(Some(&changed), "one").await, Checked::Wrong);
    assert_eq!(check(Some(&changed), "two").await, Checked::Right);
    // A user that there is not costs the same, whatever the password.
    let before = hashed();
    assert_eq!(check(None, "one").await, Checked::Wrong);
    assert_eq!(check(None, "one").await, Checked::Wrong);
    assert_eq!(hashed(), before + 2);
}

#[test]
fn only_so_many_wait_and_fewer_of_one_address() {
    let logins = Logins::new();
    let from = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let mut held = Vec::new();
    for _ in 0..LOGINS_WAITING_OF_ONE {
        held.push(logins.wait(from(1)).unwrap());
    }
    assert!(logins.wait(from(1)).is_none());
    let mut number = 2;
    while let Some(one) = logins.wait(from(number)) {
        held.push(one);
        number += 1;
    }
    assert_eq!(held.len(), LOGINS_WAITING);
    held.clear();
    assert!(logins.wait(from(1)).is_some());
    assert!(logins.waiting.lock().unwrap().is_empty());
}

#[test]
fn failures_are_told_once_a_second() {
    let counts = Counts::default();
    assert_eq!(counts.failed(9_010_000), Some(0));
    assert_eq!(counts.failed(9_010_001), None);
    assert_eq!(counts.failed(9_010_999), None);
    assert_eq!(counts.failed(9_011_000), Some(2));
    // The clock is set back by an hour.
    assert_eq!(counts.failed(9_011_000 - 3_600_000), Some(0));
    assert_eq!(counts.failed.load(Relaxed), 5);
}
