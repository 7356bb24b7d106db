#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::from_seed;

/// What depends on chance: the order of a hash set, the keys of the next one.
fn chances() -> (Vec<u32>, u64) {
    let order = (0..100).collect::<HashSet<u32>>().into_iter().collect();
    (order, RandomState::new().hash_one(0))
}

#[test]
fn the_same_seed_is_the_same_chance() {
    let first = from_seed(7, chances).unwrap();
    assert_eq!(first, from_seed(7, chances).unwrap());
    assert_ne!(first, from_seed(8, chances).unwrap());
}

#[test]
fn other_threads_keep_the_operating_systems() {
    let take = || std::thread::scope(|scope| scope.spawn(chances).join().unwrap());
    assert_ne!(take(), take());
    let within = || from_seed(7, take).unwrap();
    assert_ne!(within(), within());
}

#[test]
fn a_panic_goes_on_in_the_caller() {
    let caught = std::panic::catch_unwind(|| from_seed(1, || panic!("told")));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"told"));
}
