//! After the moves: every key there, and on as many nodes as it is to be.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Session;
use super::ledger::Ledger;
use super::members;
use super::workload::ReadBack;
use crate::child;
use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::load::generator::{self, Pace, Plan};

/// Keys read back.
const READ: u64 = 10_000;
/// [`crate::cluster::ready::KEY`] was written to see that the cluster was ready.
const READY_KEYS: u64 = 1;
const CONNECTIONS: usize = 16;
const WITHIN: Duration = Duration::from_secs(600);

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Keys read back from two of three copies, all with the value that they must have.
    pub keys_read: u64,
    /// Acknowledged overwrites up to then.
    pub overwrites: u64,
    /// Copies of keys in the nodes' stores once they had ended.
    pub copies: u64,
    /// Copies of each key that there must be.
    pub copies_wanted: u64,
    /// Copies by node; those of the members are equal, record by record.
    pub copies_by_node: Vec<(String, u64)>,
}

/// What `dunlin copy --verify-only` says, as far as it is of interest.
#[derive(Debug, Deserialize)]
struct Told {
    pairs: u64,
}

/// Reads back, ends the nodes, and counts what their stores hold. There are as many members as
/// copies of each key, so each member must hold every key, and the others none.
///
/// # Errors
/// [`BenchError::Unsound`] when a key cannot be read, or is not what was written last;
/// [`BenchError::Miscounted`] when there are too few or too many copies, or they differ; when the
/// nodes do not end, or the user stops the run.
pub fn verify(
    session: &Session,
    mut cluster: Cluster,
    ledger: &Ledger,
) -> Result<Verified, BenchError> {
    let plan = Plan {
        addresses: cluster.addresses.clone(),
        connections: CONNECTIONS,
        pace: Pace::Closed,
        warmup: Duration::ZERO,
        duration: WITHIN,
    };
    let mut reads = ReadBack::new(ledger, READ);
    let outcome = generator::run(&plan, &mut reads, &session.interrupt, &mut |_| {})?;
    let wanted = READ.min(ledger.count());
    if outcome.errors() > 0 || outcome.measured() != wanted {
        return Err(BenchError::Unsound {
            what: format!("reading {wanted} keys back after the moves"),
            errors: outcome.errors(),
            requests: outcome.measured(),
            detail: outcome.errors_text(),
        });
    }
    let address = cluster.addresses.first().copied();
    let address = address.ok_or_else(|| BenchError::Members("no node".into()))?;
    let now = members::ask(address, &session.interrupt)?;
    cluster.end(&session.interrupt)?;
    count(session, &cluster, &now.members, &now.spare, ledger, wanted)
}

fn count(
    session: &Session,
    cluster: &Cluster,
    members: &[String],
    spare: &[String],
    ledger: &Ledger,
    keys_read: u64,
) -> Result<Verified, BenchError> {
    let store = |name: &String| cluster.directory().join(name).join("shard-0").join("store");
    let Some(first) = members.first() else {
        return Err(BenchError::Members("nobody holds data".into()));
    };
    let keys = ledger.count() + READY_KEYS;
    let mut by_node = Vec::new();
    for name in members.iter().chain(spare) {
        // Beside itself a store has nothing to differ from: then only its records are counted.
        let beside = if spare.contains(name) { name } else { first };
        let pairs = compare(session, cluster, store(beside), store(name))?;
        by_node.push((name.clone(), pairs));
    }
    for (name, pairs) in &by_node {
        let wanted = if members.contains(name) { keys } else { 0 };
        if *pairs != wanted {
            return Err(BenchError::Miscounted(format!(
                "{name} holds {pairs} keys and not {wanted}: {by_node:?}"
            )));
        }
    }
    Ok(Verified {
        keys_read,
        overwrites: ledger.writes(),
        copies: by_node.iter().map(|(_, pairs)| pairs).sum(),
        copies_wanted: members.len() as u64,
        copies_by_node: by_node,
    })
}

/// Compares two stores record by record; returns how many records they have.
fn compare(
    session: &Session,
    cluster: &Cluster,
    one: PathBuf,
    other: PathBuf,
) -> Result<u64, BenchError> {
    let mut command = Command::new(&session.dunlin);
    command
        .args(["copy", "--verify-only", "--json", "--cf", "default"])
        .args([one, other]);
    let printed = child::run(command, cluster.directory(), &session.interrupt)?;
    let told: Told = serde_json::from_str(&printed)?;
    Ok(told.pairs)
}
