//! From a history of one key that cannot be, the few operations that show it.
//!
//! First the shortest prefix: a history cut off at a moment is a history (what was under way then has
//! an open end), and whatever comes later cannot mend it, so the shortest is found by halving. Then
//! everything is taken out of it without which it still cannot be. Gets may always go. A write may
//! go when nothing left can see its value: nothing observes it, or another that stays is certain to
//! have covered it before its observers began. What follows it in an order that explains all is a
//! write then, or nothing (`prepare` says why), so the same order explains what is left.

use std::collections::HashSet;

use crate::prepare::prepare;
use crate::search::{Found, search};
use crate::{Kind, Limits, Moment, Operation, Outcome, Value, Violation};

/// How many times a smaller history is searched.
const TRIALS_MAX: u32 = 1_500;
/// How many operations beside the proof are shown.
const AROUND_MAX: usize = 8;

/// The proof that these operations of one key, which are no history, are none.
pub(crate) fn excerpt(mut operations: Vec<&Operation>, limits: Limits) -> Violation {
    operations.sort_by_key(|operation| operation.invoked);
    let mut judge = Judge {
        states: limits.states / 10 + 1,
        trials: 0,
    };
    let until = judge.shortest_prefix(&operations);
    let prefix = cut(&operations, until);
    let proof = judge.smallest(&prefix);
    let around = around(&prefix, &proof);
    Violation {
        key: operations
            .first()
            .map(|o| o.key.clone())
            .unwrap_or_default(),
        until,
        prefix: prefix.len(),
        operations: operations.len(),
        proof,
        around,
    }
}

struct Judge {
    states: u64,
    trials: u32,
}

impl Judge {
    /// Whether these are certainly no history.
    fn refutes<'a>(&mut self, operations: impl Iterator<Item = &'a Operation>) -> bool {
        self.trials += 1;
        search(&prepare(operations), self.states).0 == Found::None
    }

    /// The earliest moment up to which the history cannot be.
    fn shortest_prefix(&mut self, operations: &[&Operation]) -> Moment {
        let mut ends: Vec<Moment> = operations.iter().filter_map(|o| o.returned()).collect();
        ends.sort_unstable();
        // The whole is refuted, whose last end this is.
        let (mut fine, mut refuted) = (0, ends.len());
        while fine + 1 < refuted {
            let middle = fine.midpoint(refuted);
            let prefix = cut(operations, ends[middle - 1]);
            if self.refutes(prefix.iter()) {
                refuted = middle
            } else {
                fine = middle
            }
        }
        ends.get(refuted.wrapping_sub(1))
            .copied()
            .unwrap_or(Moment::MAX)
    }

    /// As few of `prefix` as refute it alone.
    fn smallest(&mut self, prefix: &[Operation]) -> Vec<Operation> {
        let mut proof: Vec<Operation> = prefix.to_vec();
        let mut chunk = proof.len().div_ceil(2);
        while chunk > 0 && self.trials < TRIALS_MAX {
            let before = proof.len();
            let mut begin = 0;
            while begin < proof.len() && self.trials < TRIALS_MAX {
                let end = proof.len().min(begin + chunk);
                match without(&proof, begin, end) {
                    Some(less) if self.refutes(less.iter()) => proof = less,
                    _ => begin = end,
                }
            }
            chunk = match chunk {
                1 if proof.len() < before => 1,
                _ => chunk / 2,
            };
        }
        proof
    }
}

/// The history up to a moment: what ended later has an open end.
fn cut(operations: &[&Operation], until: Moment) -> Vec<Operation> {
    let begun = operations.iter().filter(|o| o.invoked <= until);
    begun
        .map(|operation| {
            let mut operation = (*operation).clone();
            let is_open = operation.returned().is_some_and(|moment| moment > until);
            let is_open_then = matches!(operation.outcome,
                Outcome::Unknown { until: Some(moment) } if moment > until);
            if is_open || is_open_then {
                operation.outcome = Outcome::Unknown { until: None };
            }
            operation
        })
        .collect()
}

/// `operations` without what may go of those from `begin` to `end`; `None` when nothing may.
fn without(operations: &[Operation], begin: usize, end: usize) -> Option<Vec<Operation>> {
    let is_inside = |index: usize| (begin..end).contains(&index);
    let mut observed: HashSet<Option<Value>> = HashSet::new();
    let mut has_unmet = false;
    // When the first of those who observe nothing began.
    let mut first = Moment::MAX;
    for (index, operation) in operations.iter().enumerate() {
        let value = match (operation.kind, operation.outcome) {
            (_, Outcome::Failed) => continue,
            (_, Outcome::Unmet { .. }) => {
                has_unmet |= !is_inside(index);
                continue;
            }
            (Kind::Get(found), Outcome::Ok { .. }) if !is_inside(index) => found,
            (Kind::Swap { expected, .. }, _) => expected,
            _ => continue,
        };
        observed.insert(value);
        if value.is_none() {
            first = operation.invoked.min(first);
        }
    }
    // When the last of the writes began that stay and had ended by then: deletes that ended before
    // it began are covered when somebody looks.
    let staying = operations.iter().enumerate();
    let covering = staying
        .filter(|(index, operation)| !is_inside(*index) && operation.writes().is_some())
        .filter(|(_, operation)| operation.returned().is_some_and(|end| end < first));
    let covering = covering.map(|(_, operation)| operation.invoked).max();
    let is_needed = |operation: &Operation| {
        let Some(value) = operation.writes() else {
            return false;
        };
        let end = match operation.outcome {
            Outcome::Unknown { until } => until,
            _ => operation.returned(),
        };
        let is_covered = end.is_some_and(|end| covering.is_some_and(|moment| end < moment));
        // Where a value came from is part of the story, though the proof could do without it.
        has_unmet || observed.contains(&value) && (value.is_some() || !is_covered)
    };
    let mut less = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        if !is_inside(index) || is_needed(operation) {
            less.push(operation.clone());
        }
    }
    (less.len() < operations.len()).then_some(less)
}

/// What else was going on: the latest of the other writes.
fn around(prefix: &[Operation], proof: &[Operation]) -> Vec<Operation> {
    let is_other = |o: &&Operation| o.writes().is_some() && !proof.contains(o);
    let mut others: Vec<&Operation> = prefix.iter().filter(is_other).collect();
    others.sort_by_key(|operation| operation.returned().unwrap_or(operation.invoked));
    let latest = others.iter().rev().take(AROUND_MAX);
    let mut around: Vec<Operation> = latest.map(|o| (*o).clone()).collect();
    around.sort_by_key(|operation| operation.invoked);
    around
}
