//! Histories that a real register made, and the same ones spoiled.

use std::collections::HashMap;

use dunlin_history::{Kind, Operation, Outcome, Value};
use proptest::prelude::*;

use super::{Random, judge, operation};

/// What the histories are like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub processes: usize,
    pub operations: usize,
    /// One in so many ends unknown.
    pub unknown: u64,
    /// One write in so many is a delete.
    pub deletes: u64,
    /// One write in so many is conditional; 0 for none.
    pub swaps: u64,
}

enum Running {
    Idle,
    Begun(usize),
    Happened(usize),
}

/// Processes that take turns by chance at one register: each begins, happens, ends. One that ends
/// unknown happens whenever it likes, or never; its process goes on.
pub fn history(shape: Shape, seed: u64) -> Vec<Operation> {
    let mut random = Random::new(seed);
    let mut operations: Vec<Operation> = Vec::new();
    let mut processes: Vec<Running> = (0..shape.processes).map(|_| Running::Idle).collect();
    let mut abandoned: Vec<usize> = Vec::new();
    let mut register = None;
    let mut last = 0;
    let mut moment = || {
        last += 1;
        last
    };
    let mut idle = 0;
    while idle < processes.len() {
        let number = random.below(processes.len() as u64) as usize;
        if !abandoned.is_empty() && random.one_in(20) {
            let which = random.below(abandoned.len() as u64) as usize;
            let index = abandoned.swap_remove(which);
            happen(&mut operations[index], &mut register);
        }
        let process = &mut processes[number];
        *process = match *process {
            Running::Idle if operations.len() >= shape.operations => {
                idle = processes
                    .iter()
                    .filter(|p| matches!(p, Running::Idle))
                    .count();
                continue;
            }
            Running::Idle => {
                let value = operations.len() as Value + 1;
                let kind = match random.below(10) {
                    0..=4 => Kind::Get(None),
                    _ if random.one_in(shape.deletes) => Kind::Delete,
                    _ if shape.swaps > 0 && random.one_in(shape.swaps) => Kind::Swap {
                        expected: register.filter(|_| !random.one_in(8)),
                        value: Some(value),
                    },
                    _ => Kind::Put(value),
                };
                operations.push(operation(kind, moment(), Outcome::Failed));
                operations.last_mut().unwrap().process = number as u64;
                Running::Begun(operations.len() - 1)
            }
            Running::Begun(index) if random.one_in(shape.unknown) => {
                operations[index].outcome = Outcome::Unknown { until: None };
                if !random.one_in(3) {
                    abandoned.push(index);
                }
                Running::Idle
            }
            Running::Begun(index) => {
                happen(&mut operations[index], &mut register);
                Running::Happened(index)
            }
            Running::Happened(index) => {
                let operation = &mut operations[index];
                let returned = moment();
                operation.outcome = match operation.outcome {
                    _ if random.one_in(shape.unknown) => Outcome::Unknown { until: None },
                    Outcome::Unmet { .. } => Outcome::Unmet { returned },
                    _ => Outcome::Ok { returned },
                };
                Running::Idle
            }
        };
    }
    operations
}

fn happen(operation: &mut Operation, register: &mut Option<Value>) {
    match &mut operation.kind {
        Kind::Put(value) => *register = Some(*value),
        Kind::Delete => *register = None,
        Kind::Get(found) => *found = *register,
        Kind::Swap { expected, value } if expected == register => *register = *value,
        Kind::Swap { .. } => {
            if operation.outcome == Outcome::Failed {
                operation.outcome = Outcome::Unmet { returned: 0 };
            }
        }
    }
}

/// Lets one read find a value that had certainly been covered when the read began.
pub fn spoil(operations: &mut [Operation], seed: u64) -> bool {
    let mut random = Random::new(seed);
    let ended = |o: &Operation| match o.outcome {
        Outcome::Ok { returned } => Some(returned),
        _ => None,
    };
    let is_write = |o: &Operation| matches!(o.kind, Kind::Put(_) | Kind::Delete);
    // For each put that ended: when the first write that began after it had ended.
    let mut covered: HashMap<Value, u64> = HashMap::new();
    for put in operations.iter() {
        let (Kind::Put(value), Some(end)) = (put.kind, ended(put)) else {
            continue;
        };
        let later = operations.iter().filter(|o| is_write(o) && o.invoked > end);
        if let Some(first) = later.filter_map(ended).min() {
            covered.insert(value, first);
        }
    }
    let mut choices: Vec<(usize, Value)> = Vec::new();
    for (index, get) in operations.iter().enumerate() {
        let is_read = matches!((get.kind, get.outcome), (Kind::Get(_), Outcome::Ok { .. }));
        let before = covered.iter().filter(|(_, end)| **end < get.invoked);
        choices.extend(before.filter(|_| is_read).map(|(value, _)| (index, *value)));
    }
    choices.sort_unstable();
    if choices.is_empty() {
        return false;
    }
    let (index, value) = choices[random.below(choices.len() as u64) as usize];
    operations[index].kind = Kind::Get(Some(value));
    true
}

fn shape() -> impl Strategy<Value = Shape> {
    let swaps = prop_oneof![Just(0), 2..6_u64];
    (1..12_usize, 1..300_usize, 3..60_u64, 2..10_u64, swaps).prop_map(
        |(processes, operations, unknown, deletes, swaps)| Shape {
            processes,
            operations,
            unknown,
            deletes,
            swaps,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_a_register_did_is_accepted(shape in shape(), seed in any::<u64>()) {
        let report = judge(&history(shape, seed));
        prop_assert!(report.is_linearizable(), "{}", report);
    }
}

proptest! {
    // Few may be beyond the judge's limit of states.
    #![proptest_config(ProptestConfig { max_global_rejects: 3, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_value_from_the_past_is_rejected(shape in shape(), seed in any::<u64>()) {
        let mut operations = history(shape, seed);
        if spoil(&mut operations, seed) {
            let report = judge(&operations);
            prop_assert!(!report.is_linearizable(), "{}", report);
            prop_assume!(report.undecided.is_empty());
            prop_assert_eq!(report.violations.len(), 1, "{}", report);
            let proof = judge(&report.violations[0].proof);
            prop_assert_eq!(proof.violations.len(), 1, "{}", report);
        }
    }
}
