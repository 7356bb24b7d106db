#![allow(clippy::expect_used)]
use proptest::prelude::*;

use super::*;

const CLASSES: [Class; 3] = [Class::Replica, Class::Move, Class::Follower];

/// Who is read for when all of `asks` wait from the beginning, a quantum each.
fn order(asks: &[Class]) -> Vec<Class> {
    let mut turns = Turns::default();
    let mut waiting: Vec<_> = asks
        .iter()
        .map(|class| (turns.ask(*class), *class))
        .collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let began = waiting.iter().position(|(ticket, _)| turns.begin(*ticket));
        let (ticket, class) = waiting.remove(began.expect("nobody's turn"));
        turns.end(ticket, QUANTUM_BYTES);
        order.push(class);
    }
    order
}

#[test]
fn the_higher_goes_first_and_the_first_of_its_rank() {
    use Class::{Backfill, Follower, Move, Replica};
    for (asks, expected) in [
        (vec![Move, Replica], vec![Replica, Move]),
        (
            vec![Follower, Move, Backfill],
            vec![Backfill, Move, Follower],
        ),
        (
            vec![Backfill, Replica, Backfill],
            vec![Backfill, Replica, Backfill],
        ),
        (vec![Move, Follower, Move], vec![Move, Move, Follower]),
    ] {
        assert_eq!(order(&asks), expected);
    }
}

#[test]
fn who_was_passed_for_long_has_a_turn() {
    let mut asks = vec![Class::Move, Class::Follower, Class::Follower];
    asks.extend([Class::Replica; 3 * SHARE]);
    let order = order(&asks);
    let first = order.iter().take(2 * SHARE + 4).enumerate();
    let below: Vec<_> = first
        .filter(|(_, class)| **class != Class::Replica)
        .collect();
    // The move after its share; the followers, passed by as much and the move, behind the next replica.
    let expected = [
        (SHARE, &Class::Move),
        (SHARE + 2, &Class::Follower),
        (2 * SHARE + 3, &Class::Follower),
    ];
    assert_eq!(below, expected);
}

#[test]
fn a_turn_that_is_given_up_keeps_nobody() {
    let mut turns = Turns::default();
    let (one, two, three) = (
        turns.ask(Class::Move),
        turns.ask(Class::Move),
        turns.ask(Class::Move),
    );
    assert!(!turns.begin(two));
    turns.end(one, 0);
    assert!(turns.begin(two) && !turns.begin(three));
    turns.end(three, 0);
    turns.end(two, 10);
    assert!(turns.next().is_none());
}

#[derive(Debug, Clone)]
enum Op {
    Ask(usize),
    Begin,
    End(usize),
    GiveUp(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (0..3usize).prop_map(Op::Ask),
        4 => Just(Op::Begin),
        4 => (0..=QUANTUM_BYTES).prop_map(Op::End),
        1 => any::<usize>().prop_map(Op::GiveUp),
    ];
    proptest::collection::vec(op, 0..600)
}

proptest! {
    /// Whatever comes and goes: one at a time, somebody's turn whenever anybody waits, and for nobody who
    /// waits two turns in a row of those below.
    #[test]
    fn a_class_delays_one_above_by_a_quantum_at_most(ops in ops()) {
        let mut turns = Turns::default();
        let mut waiting: Vec<(Ticket, usize)> = Vec::new();
        let mut running = None;
        // Turns below that have begun since one of this rank waits, or had its own.
        let mut below = [0; RANKS];
        for op in ops {
            match op {
                Op::Ask(class) => {
                    let ticket = turns.ask(CLASSES[class]);
                    waiting.push((ticket, class));
                }
                Op::Begin => {
                    let began = waiting.iter().position(|(ticket, _)| turns.begin(*ticket));
                    prop_assert_eq!(began.is_some(), running.is_none() && !waiting.is_empty());
                    if let Some(began) = began {
                        let (ticket, rank) = waiting.remove(began);
                        running = Some(ticket);
                        for (above, below) in below.iter_mut().enumerate() {
                            let waits = waiting.iter().any(|(_, rank)| *rank == above);
                            *below = if waits && above < rank {
                                *below + 1
                            } else {
                                // One of this rank or above was read for.
                                0
                            };
                            prop_assert!(*below <= 1);
                        }
                    }
                }
                Op::End(bytes) => {
                    if let Some(ticket) = running.take() {
                        turns.end(ticket, bytes);
                    }
                }
                Op::GiveUp(nth) => {
                    if !waiting.is_empty() {
                        let (ticket, _) = waiting.remove(nth % waiting.len());
                        turns.end(ticket, 0);
                    }
                }
            }
        }
    }
}
