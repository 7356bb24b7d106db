//! Reads and writes by majorities are those of one register a key: each can be given a moment
//! between its beginning and its end at which it happened (`crates/history`).
//!
//! One thing is granted: a write under way that met a newer one is stamped again, above it, so it
//! may be seen, be overwritten, and be seen again before it is acknowledged (decision 26). Such keys
//! are judged a second time, with that in mind, and counted.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_history::{Kind, Limits, Operation, Outcome, check};

use super::key::KeyHistory;
use super::{Broken, Checked};
use crate::history::{Ended, History, Place, Seen};
use crate::plan::Plan;

/// Configurations to look at before a key is left undecided.
const STATES_MAX: u64 = 2_000_000;

/// Checks the keys of a keyspace that are read and written by majorities, except those of which a
/// fault may have taken an acknowledged write.
///
/// # Errors
/// The first key that is no register.
pub fn linear(plan: &Plan, keys: &[KeyHistory]) -> Result<Checked, Broken> {
    let mut places = BTreeMap::new();
    let mut operations = Vec::new();
    for key in keys {
        if plan.is_majority(key.place) && !key.may_miss() {
            places.insert(name(plan, key.place), key.place);
            operations.extend(of_key(plan, key));
        }
    }
    let limits = Limits { states: STATES_MAX };
    let mut report = check(&operations, limits);
    let again = report.violations.len() as u64;
    if again > 0 {
        let suspects = report.violations.iter().map(|v| v.key.clone());
        let suspects: BTreeSet<String> = suspects.collect();
        let suspects = operations.iter().filter(|o| suspects.contains(&o.key));
        let granted: Vec<Operation> = suspects.flat_map(stamped_again).collect();
        let second = check(&granted, limits);
        report.violations = second.violations;
        report.undecided.extend(second.undecided);
    }
    if let Some(violation) = report.violations.first() {
        return Err(Broken {
            text: violation.to_string(),
            place: places.get(&violation.key).copied(),
            at: Some(violation.until),
        });
    }
    let undecided = operations
        .iter()
        .filter(|operation| report.undecided.contains(&operation.key))
        .count() as u64;
    Ok(Checked {
        linear: operations.len() as u64 - undecided,
        undecided,
        again,
        ..Checked::default()
    })
}

/// An operation, and if it is a write, that it may happen more than once before it is over.
fn stamped_again(operation: &Operation) -> Vec<Operation> {
    let mut all = vec![operation.clone()];
    let until = match operation.outcome {
        Outcome::Ok { returned } => Some(returned),
        Outcome::Unknown { until } => until,
        Outcome::Unmet { .. } | Outcome::Failed => return all,
    };
    if !matches!(operation.kind, Kind::Get(_)) {
        for _ in 0..2 {
            let mut again = operation.clone();
            again.outcome = Outcome::Unknown { until };
            again.note = "stamped again".into();
            all.push(again);
        }
    }
    all
}

/// All that clients did, for other checkers: those of keys that are no registers, too.
pub fn operations(plan: &Plan, history: &History) -> Vec<Operation> {
    let keyspaces = 0..plan.keyspaces.len();
    keyspaces
        .flat_map(|keyspace| KeyHistory::all(plan, history, keyspace))
        .flat_map(|key| of_key(plan, &key))
        .collect()
}

fn name(plan: &Plan, (keyspace, key): Place) -> String {
    let name = plan.keyspaces.get(keyspace).map_or("?", |(name, _)| name);
    format!("{name}/{key}")
}

/// Without scans: they do not ask what one key holds.
fn of_key(plan: &Plan, key: &KeyHistory) -> Vec<Operation> {
    let name = name(plan, key.place);
    let writes = key.writes.iter().map(|(write, _)| Operation {
        process: write.client as u64,
        key: name.clone(),
        kind: match write.delete {
            true => Kind::Delete,
            false => Kind::Put(write.id),
        },
        invoked: write.begun,
        outcome: match &write.ended {
            Some((moment, _, Ended::Acknowledged)) => Outcome::Ok { returned: *moment },
            Some((_, _, Ended::Refused(_))) => Outcome::Failed,
            _ => Outcome::Unknown { until: None },
        },
        note: write
            .attempts
            .iter()
            .map(|(_, host, _)| format!("n{}", host + 1))
            .collect::<Vec<_>>()
            .join(", then "),
    });
    let reads = key.reads.iter().filter(|read| !read.scan);
    let reads = reads.map(|read| Operation {
        process: read.client as u64,
        key: name.clone(),
        kind: Kind::Get(match read.seen {
            Seen::Value(id) => id,
            Seen::Nothing => None,
        }),
        invoked: read.begun,
        outcome: Outcome::Ok {
            returned: read.ended,
        },
        note: format!("n{}", read.host + 1),
    });
    writes.chain(reads).collect()
}
