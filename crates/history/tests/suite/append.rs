//! Known histories of transactions, and those that a real serial execution made.

use dunlin_history::{Anomaly, Edge, Outcome, Step, Transaction, check_appends};
use proptest::prelude::*;

use super::Random;

fn append(key: &str, value: u64) -> Step {
    Step::Append(key.to_owned(), value)
}

fn read(key: &str, list: &[u64]) -> Step {
    Step::Read(key.to_owned(), list.to_vec())
}

fn txn(invoked: u64, returned: u64, steps: &[Step]) -> Transaction {
    Transaction {
        process: invoked,
        steps: steps.to_vec(),
        invoked,
        outcome: Outcome::Ok { returned },
    }
}

fn with(outcome: Outcome, invoked: u64, steps: &[Step]) -> Transaction {
    Transaction {
        outcome,
        ..txn(invoked, 0, steps)
    }
}

fn cycle(all: &[Transaction]) -> Vec<Edge> {
    match check_appends(all) {
        Err(Anomaly::Cycle { mut edges, .. }) => {
            edges.sort();
            edges
        }
        other => panic!("no cycle: {other:?}"),
    }
}

#[test]
fn nothing_and_a_plain_sequence_are_fine() {
    assert_eq!(check_appends(&[]), Ok(()));
    let all = [
        txn(1, 2, &[append("x", 1)]),
        txn(3, 4, &[read("x", &[1]), append("x", 2)]),
        txn(5, 6, &[read("x", &[1, 2]), read("y", &[])]),
    ];
    assert_eq!(check_appends(&all), Ok(()));
}

#[test]
fn what_is_beside_each_other_may_be_in_either_order() {
    let all = [
        txn(1, 10, &[append("x", 1)]),
        txn(2, 9, &[append("x", 2), read("x", &[2])]),
        txn(11, 12, &[read("x", &[2, 1])]),
    ];
    assert_eq!(check_appends(&all), Ok(()));
}

#[test]
fn an_unknown_end_may_be_either() {
    let open = Outcome::Unknown { until: None };
    let unseen = [
        with(open, 1, &[append("x", 1)]),
        txn(5, 6, &[read("x", &[])]),
    ];
    assert_eq!(check_appends(&unseen), Ok(()));
    let seen = [
        with(open, 1, &[append("x", 1)]),
        txn(5, 6, &[read("x", &[1])]),
    ];
    assert_eq!(check_appends(&seen), Ok(()));
    // Once seen it stays.
    let gone = [
        with(open, 1, &[append("x", 1)]),
        txn(5, 6, &[read("x", &[1])]),
        txn(7, 8, &[read("x", &[])]),
    ];
    assert_eq!(cycle(&gone), [Edge::Read, Edge::Missed, Edge::RealTime]);
}

#[test]
fn a_dirty_read_is_found() {
    let all = [
        with(Outcome::Failed, 1, &[append("x", 1)]),
        txn(2, 3, &[read("x", &[1])]),
    ];
    assert!(matches!(
        check_appends(&all),
        Err(Anomaly::NeverAppended(_))
    ));
    let nobody = [txn(2, 3, &[read("x", &[7])])];
    assert!(matches!(
        check_appends(&nobody),
        Err(Anomaly::NeverAppended(_))
    ));
    let part = [
        txn(1, 9, &[append("x", 1), append("x", 2)]),
        txn(2, 3, &[read("x", &[1])]),
        txn(10, 11, &[read("x", &[1, 2])]),
    ];
    assert!(matches!(
        check_appends(&part),
        Err(Anomaly::Intermediate(_))
    ));
}

#[test]
fn a_lost_update_is_found() {
    // Both read the same and appended to it; one is gone.
    let all = [
        txn(1, 10, &[read("x", &[]), append("x", 1)]),
        txn(2, 9, &[read("x", &[]), append("x", 2)]),
        txn(11, 12, &[read("x", &[2])]),
    ];
    assert!(cycle(&all).contains(&Edge::Missed));
    // An acknowledged one that nobody ever sees.
    let lost = [txn(1, 2, &[append("x", 1)]), txn(3, 4, &[read("x", &[])])];
    assert_eq!(cycle(&lost), [Edge::Missed, Edge::RealTime]);
}

#[test]
fn read_and_write_skew_are_found() {
    let write_skew = [
        txn(1, 10, &[read("x", &[]), append("y", 1)]),
        txn(2, 9, &[read("y", &[]), append("x", 2)]),
        txn(11, 12, &[read("x", &[2]), read("y", &[1])]),
    ];
    assert_eq!(cycle(&write_skew), [Edge::Missed, Edge::Missed]);
    let read_skew = [
        txn(1, 10, &[append("x", 1), append("y", 2)]),
        txn(2, 9, &[read("x", &[]), read("y", &[2])]),
        txn(11, 12, &[read("x", &[1])]),
    ];
    assert_eq!(cycle(&read_skew), [Edge::Read, Edge::Missed]);
}

#[test]
fn a_long_fork_is_found() {
    let all = [
        txn(1, 20, &[append("x", 1)]),
        txn(2, 19, &[append("y", 2)]),
        txn(3, 18, &[read("x", &[1]), read("y", &[])]),
        txn(4, 17, &[read("x", &[]), read("y", &[2])]),
    ];
    assert_eq!(
        cycle(&all),
        [Edge::Read, Edge::Read, Edge::Missed, Edge::Missed]
    );
}

#[test]
fn a_stale_read_and_a_cycle_through_real_time_are_found() {
    let stale = [
        txn(1, 2, &[append("x", 1)]),
        txn(3, 4, &[append("x", 2)]),
        txn(5, 6, &[read("x", &[1])]),
        txn(7, 8, &[read("x", &[1, 2])]),
    ];
    assert_eq!(cycle(&stale), [Edge::Missed, Edge::RealTime]);
    // Serializable, but the order of two that do not touch one another is turned round for a third.
    let reversed = [
        txn(1, 2, &[append("x", 1)]),
        txn(3, 4, &[append("y", 2)]),
        txn(1, 10, &[read("x", &[]), read("y", &[2])]),
    ];
    assert!(cycle(&reversed).contains(&Edge::RealTime));
}

#[test]
fn two_orders_and_disagreement_with_oneself_are_found() {
    let two = [
        txn(1, 10, &[append("x", 1)]),
        txn(2, 9, &[append("x", 2)]),
        txn(3, 4, &[read("x", &[1, 2])]),
        txn(3, 4, &[read("x", &[2, 1])]),
    ];
    assert!(matches!(check_appends(&two), Err(Anomaly::TwoOrders(_))));
    let twice = [
        txn(1, 9, &[append("x", 1)]),
        txn(3, 4, &[read("x", &[1, 1])]),
    ];
    assert!(matches!(check_appends(&twice), Err(Anomaly::TwoOrders(_))));
    let own = [txn(1, 2, &[append("x", 1), read("x", &[])])];
    assert!(matches!(check_appends(&own), Err(Anomaly::NotItsOwn(_))));
    let again = [
        txn(1, 9, &[append("x", 1)]),
        txn(2, 3, &[read("x", &[]), read("x", &[1])]),
    ];
    assert!(matches!(check_appends(&again), Err(Anomaly::NotItsOwn(_))));
}

/// What a serial store made, each transaction at one moment within its time.
fn serial(seed: u64, count: u64) -> Vec<Transaction> {
    let mut random = Random::new(seed);
    let mut lists: std::collections::BTreeMap<String, Vec<u64>> = Default::default();
    let mut value = 0;
    (0..count)
        .map(|number| {
            let moment = 100 * (number + 1);
            let mut steps = Vec::new();
            for _ in 0..=random.below(3) {
                let key = format!("k{}", random.below(3));
                let list = lists.entry(key.clone()).or_default();
                if random.one_in(2) {
                    value += 1;
                    list.push(value);
                    steps.push(Step::Append(key, value));
                } else {
                    steps.push(Step::Read(key, list.clone()));
                }
            }
            let (early, late) = (random.below(500), random.below(500));
            txn(moment.saturating_sub(early), moment + late, &steps)
        })
        .collect()
}

proptest! {
    #[test]
    fn what_a_serial_store_did_is_fine(seed: u64) {
        prop_assert_eq!(check_appends(&serial(seed, 60)), Ok(()));
    }

    #[test]
    fn a_list_that_lacks_what_was_there_is_found(seed: u64) {
        let mut all = serial(seed, 60);
        // The last read that saw anything misses the newest of it, which was there long before it began.
        let mut random = Random::new(seed ^ 1);
        let mut candidates = Vec::new();
        for (number, transaction) in all.iter().enumerate() {
            for (place, step) in transaction.steps.iter().enumerate() {
                let Step::Read(key, list) = step else { continue };
                let Some(last) = list.last() else { continue };
                let writer = all.iter().find(|t| t.steps.contains(&Step::Append(key.clone(), *last)));
                let Some(Outcome::Ok { returned }) = writer.map(|writer| writer.outcome) else { continue };
                let is_only = transaction.steps.iter().filter(|s| matches!(s, Step::Read(k, _) | Step::Append(k, _) if k == key)).count() == 1;
                if returned < transaction.invoked && is_only {
                    candidates.push((number, place));
                }
            }
        }
        prop_assume!(!candidates.is_empty());
        let (number, place) = candidates[random.below(candidates.len() as u64) as usize];
        if let Step::Read(_, list) = &mut all[number].steps[place] {
            list.pop();
        }
        prop_assert!(check_appends(&all).is_err());
    }
}
