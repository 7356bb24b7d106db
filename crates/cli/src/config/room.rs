//! How the machine's descriptors and memory are shared out (pure): see `docs/limits.md`.

use dunlin_node::{BODY_BYTES_MAX, Bounds, REFUSALS_MAX};
use dunlin_rpc::accept::OPENING_MAX;
use dunlin_store::OPEN_FILES;

use crate::failure::Failure;
use crate::machine::Machine;
use crate::units::Size;

/// What is asked for, all nodes of the process together.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// `--max-connections`.
    pub connections: Option<u32>,
    /// `--request-memory`.
    pub memory: Option<Size>,
    /// `--max-body`.
    pub max_body_bytes: usize,
    /// Shards of all nodes of the process.
    pub shards: u64,
}

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// For clients.
    pub bounds: Bounds,
    /// Files that each store keeps open.
    pub open_files: u16,
}

/// Standard streams, event loops, listeners, the metadata store, files of the process.
const OWN: u64 = 32;
/// What a shard's log and store open beside tables: segments, cursors, manifests, and the files of a
/// flush and a compaction.
const OF_SHARD: u64 = 40;
/// With fewer a store opens files anew with every read.
const TABLES_MIN: u64 = 16;
/// Connections from and to other shards, for each shard: two each way while something is copied.
const PEERS_MAX: u64 = 4 * (dunlin_metadata::SHARDS_MAX as u64 - 1);
const PEERS_MIN: u64 = 8;
/// What is asked for by nobody is not taken: each connection costs memory, too.
const CONNECTIONS: u64 = 10_000;
const CONNECTIONS_MIN: u64 = 8;
/// A body that is as large as may be, and its copy in the log's queue.
const BODIES_MIN: u64 = 2;

/// A cluster has room for [`dunlin_metadata::SHARDS_MAX`], all nodes together: so that 32 nodes fit,
/// whatever they are.
const SHARDS_UNASKED_MAX: usize = 8;

/// How many shards each of `nodes` gets when nobody says: one for each processor.
pub fn shards(machine: Machine, nodes: u16) -> u16 {
    let each = machine.processors / usize::from(nodes.max(1));
    each.clamp(1, SHARDS_UNASKED_MAX) as u16
}

/// Shares it out.
///
/// # Errors
/// When what is asked for cannot be had; one line says what can.
pub fn share_out(machine: Machine, asked: Asked) -> Result<Room, Failure> {
    check_max_body(asked.max_body_bytes)?;
    let (connections, open_files) = share_out_descriptors(machine.descriptors, asked)?;
    let least = BODIES_MIN * asked.max_body_bytes as u64;
    let memory = match asked.memory {
        Some(memory) if memory.0 < least => {
            return Err(Failure::Usage(format!(
                "request memory {memory} must be at least {}, twice the largest body",
                Size(least)
            )));
        }
        Some(memory) => memory,
        None => Size((machine.memory_bytes / 4).max(least)),
    };
    Ok(Room {
        bounds: Bounds {
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
            memory_bytes: memory.as_usize(),
        },
        open_files,
    })
}

fn share_out_descriptors(descriptors: u64, asked: Asked) -> Result<(u64, u16), Failure> {
    let shards = asked.shards.max(1);
    let tables = tables(descriptors, shards);
    let left = left(descriptors, shards);
    if left < CONNECTIONS_MIN {
        let enough = (descriptors..).find(|more| self::left(*more, shards) >= CONNECTIONS_MIN);
        return Err(Failure::Usage(format!(
            "the limit of open files is {descriptors}, and {} are needed at least: raise it (ulimit -n)",
            enough.unwrap_or(u64::MAX)
        )));
    }
    let open_files = u16::try_from(tables).unwrap_or(OPEN_FILES);
    match asked.connections.map(u64::from) {
        Some(0) => Err(Failure::Usage(
            "max connections must be at least 1".to_owned(),
        )),
        Some(connections) if connections > left => Err(Failure::Usage(format!(
            "max connections {connections} is above {left}, which the limit of open files, {descriptors}, leaves room for: raise it (ulimit -n)"
        ))),
        Some(connections) => Ok((connections, open_files)),
        None => Ok((left.min(CONNECTIONS), open_files)),
    }
}

/// Tables that each store keeps open.
fn tables(descriptors: u64, shards: u64) -> u64 {
    (descriptors / 8 / shards).clamp(TABLES_MIN, u64::from(OPEN_FILES))
}

/// What is left for clients.
fn left(descriptors: u64, shards: u64) -> u64 {
    let fixed = OWN + REFUSALS_MAX as u64 + OPENING_MAX as u64 + OF_SHARD * shards;
    let peers = (descriptors / 16).clamp(PEERS_MIN, PEERS_MAX * shards);
    descriptors.saturating_sub(fixed + tables(descriptors, shards) * shards + peers)
}

/// Refuses bodies that nothing fits in, or that could be taken and not be sent on.
///
/// # Errors
/// The line names the limit.
pub fn check_max_body(bytes: usize) -> Result<(), Failure> {
    let given = Size(bytes as u64);
    if bytes == 0 {
        return Err(Failure::Usage(
            "max body must be at least 1 byte".to_owned(),
        ));
    }
    if bytes > BODY_BYTES_MAX {
        return Err(Failure::Usage(format!(
            "max body {given} is above {}, the most that nodes can send each other in one piece",
            Size(BODY_BYTES_MAX as u64)
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
