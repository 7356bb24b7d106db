//! Reads and writes by majorities are those of one register a key: each can be given a moment
//! between its beginning and its end at which it happened (`crates/history`).
//!
//! One thing is granted: a write under way that met a newer one is stamped again, above it, so it
//! may be seen, be overwritten, and be seen again before it is acknowledged (decision 26). Such keys
//! are judged a second time, with that in mind, and counted. A write with a condition is never
//! stamped again, so it is granted nothing. What its condition asked for is no part of this: of two
//! conditional writes both may be told that it held (`docs/formats.md`, section 11).

use std::collections::{BTreeMap, BTreeSet};

use dunlin_history::{Kind, Limits, Operation, Outcome, check, grant_again};

use super::key::KeyHistory;
use super::{Broken, Checked};
use crate::history::{Ended, History, Place, Seen};
use crate::plan::Plan;

/// Configurations to look at before a key is left undecided.
const STATES_MAX: u64 = 2_000_000;

/// Checks the keys of a keyspace that are read and written by majorities. Where a fault may have
/// taken an acknowledged write, a key that is no register is exempt, and counted.
///
/// # Errors
/// The first key that is no register.
pub fn linear(plan: &Plan, keys: &[KeyHistory]) -> Result<Checked, Broken> {
    let mut places = BTreeMap::new();
    let mut operations = Vec::new();
    let mut once = BTreeSet::new();
    let mut lossy = BTreeSet::new();
    // Values that end by themselves are no register's.
    let is_register = |place| plan.is_majority(place) && !plan.ends_at(place);
    for key in keys.iter().filter(|key| is_register(key.place)) {
        places.insert(name(plan, key.place), key.place);
        operations.extend(of_key(plan, key));
        if key.may_miss() {
            lossy.insert(name(plan, key.place));
        }
        let conditional = key.writes.iter().filter(|(w, _)| w.expect.is_some());
        once.extend(conditional.map(|(write, _)| write.id));
    }
    let limits = Limits { states: STATES_MAX };
    let mut report = check(&operations, limits);
    let again = report.violations.len() as u64;
    if again > 0 {
        let is_once = |o: &Operation| matches!(o.kind, Kind::Put(id) if once.contains(&id));
        grant_again(&mut report, &operations, is_once, limits);
    }
    let (exempt, broken): (Vec<_>, Vec<_>) = report
        .violations
        .into_iter()
        .partition(|violation| lossy.contains(&violation.key));
    if let Some(violation) = broken.first() {
        return Err(Broken {
            text: violation.to_string(),
            place: places.get(&violation.key).copied(),
            at: Some(violation.until),
        });
    }
    let count = |is_of: &dyn Fn(&str) -> bool| {
        let of = operations.iter().filter(|o| is_of(&o.key));
        of.count() as u64
    };
    let undecided = count(&|key| report.undecided.iter().any(|other| other == key));
    let exempt = count(&|key| exempt.iter().any(|violation| violation.key == key));
    Ok(Checked {
        linear: operations.len() as u64 - undecided - exempt,
        linear_exempt: exempt,
        undecided,
        again,
        ..Checked::default()
    })
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
        kind: if write.delete {
            Kind::Delete
        } else {
            Kind::Put(write.id)
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
