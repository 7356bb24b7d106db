#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::load::key::Order;

fn ledger() -> Ledger {
    let keys = KeySet {
        tag: b'm',
        order: Order::Random,
    };
    Ledger::new(keys, Values::new(64), 3)
}

fn value(ledger: &Ledger, number: u64, write: u32) -> Vec<u8> {
    let mut value = Vec::new();
    ledger.append(number, write, &mut value);
    value
}

#[test]
fn the_first_write_is_what_values_have_for_the_key() {
    let ledger = ledger();
    let mut filled = Vec::new();
    Values::new(64).append(&ledger.key(2), 2, &mut filled);
    assert_eq!(value(&ledger, 2, 0), filled);
    assert!(ledger.may_be(2, 0, &filled));
}

#[test]
fn a_value_from_before_an_acknowledged_write_is_wrong() {
    let mut ledger = ledger();
    let values: Vec<Vec<u8>> = (0..4).map(|write| value(&ledger, 1, write)).collect();
    let write = ledger.begin_write(1).unwrap();
    assert_eq!((write, ledger.begin_write(1)), (1, None), "one at a time");
    // While it is under way both may be read.
    let least = ledger.acknowledged(1);
    assert!(ledger.may_be(1, least, &values[0]) && ledger.may_be(1, least, &values[1]));
    assert!(!ledger.may_be(1, least, &values[2]), "never written");
    ledger.end_write(1, write, true);
    // A read that began before may still bring the old one; one that begins now must not.
    assert!(ledger.may_be(1, least, &values[0]));
    let least = ledger.acknowledged(1);
    assert!(!ledger.may_be(1, least, &values[0]) && ledger.may_be(1, least, &values[1]));
    assert!(!ledger.may_be(2, 0, &values[1]), "of another key");
    assert_eq!(ledger.writes(), 1);
}

#[test]
fn a_write_that_failed_may_turn_up_until_the_next_is_acknowledged() {
    let mut ledger = ledger();
    let values: Vec<Vec<u8>> = (0..3).map(|write| value(&ledger, 0, write)).collect();
    let failed = ledger.begin_write(0).unwrap();
    ledger.end_write(0, failed, false);
    assert!(ledger.may_be(0, ledger.acknowledged(0), &values[0]));
    assert!(ledger.may_be(0, ledger.acknowledged(0), &values[1]));
    let next = ledger.begin_write(0).unwrap();
    ledger.end_write(0, next, true);
    assert!(!ledger.may_be(0, ledger.acknowledged(0), &values[1]));
    assert!(ledger.may_be(0, ledger.acknowledged(0), &values[2]));
}
