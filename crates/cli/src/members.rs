//! Members and their changes, told to people.

use dunlin_client::{Change, Members, MoveState, Status};

use crate::table::{Align, Cell, Colour, Table};
use crate::units::{grouped, rounded, rounded_latency};

/// The phases of a change, in their order, and what happens in them.
const PHASES: [(&str, &str); 4] = [
    ("copy", "copying"),
    ("joint", "writing to old and new replicas"),
    ("switch", "reading from the new replicas"),
    ("settle", "leaving the old replicas"),
];

/// Ranges that a change waits for are named up to so many.
const RANGES_MAX: usize = 3;

/// Every node of a cluster, and what it is for.
pub fn nodes(status: &Status) -> Table {
    let mut table = Table::new(&[
        ("NODE", Align::Left),
        ("ID", Align::Right),
        ("STATE", Align::Left),
        ("ROLE", Align::Left),
        ("HTTP", Align::Left),
        ("LISTEN", Align::Left),
        ("SHARDS", Align::Right),
        ("STARTS", Align::Right),
    ]);
    for node in &status.nodes {
        let state = if node.alive {
            Cell::coloured("up", Colour::Green)
        } else {
            Cell::coloured("down", Colour::Red)
        };
        table.row(vec![
            Cell::plain(&node.name),
            Cell::plain(node.id),
            state,
            role(&status.members, &node.name),
            Cell::plain(&node.http),
            Cell::plain(&node.listen),
            Cell::plain(node.shards),
            Cell::plain(node.incarnation),
        ]);
    }
    table
}

fn role(members: &Members, name: &String) -> Cell {
    let change = members.change.as_ref();
    let in_change = |of: fn(&Change) -> &Vec<String>| change.is_some_and(|c| of(c).contains(name));
    if in_change(|change| &change.dead) {
        Cell::coloured("removed", Colour::Red)
    } else if in_change(|change| &change.adds) {
        Cell::coloured("joining", Colour::Yellow)
    } else if in_change(|change| &change.takes_out) {
        Cell::coloured("leaving", Colour::Yellow)
    } else if members.members.contains(name) {
        Cell::plain("member")
    } else {
        Cell::plain("spare")
    }
}

/// What every shard together has done in a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pieces to be copied: partitions times old replicas.
    pub parts: u64,
    /// Pieces copied.
    pub parts_done: u64,
    /// Records copied.
    pub records: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Bytes a second, over the last seconds.
    pub bytes_per_s: u64,
    /// Bytes a second that are allowed, for what clients wait.
    pub bytes_per_s_max: u64,
    /// The worst 99th percentile of the latency of clients' requests at any node.
    pub latency_us_p99: u64,
}

impl Progress {
    /// Of a change.
    pub fn of(change: &Change) -> Progress {
        let copies = || change.shards.iter().filter(|shard| shard.parts > 0);
        let sum = |of: fn(&MoveState) -> u64| copies().map(of).sum();
        let latencies = change.shards.iter().map(|shard| shard.latency_us_p99);
        Progress {
            parts: sum(|s| s.parts),
            parts_done: sum(|s| s.parts_done),
            records: sum(|s| s.records),
            bytes: sum(|s| s.bytes),
            bytes_per_s: sum(|s| s.bytes_per_s),
            bytes_per_s_max: sum(|s| s.bytes_per_s_max),
            latency_us_p99: latencies.max().unwrap_or(0),
        }
    }

    /// How many pieces are copied.
    fn pieces(&self) -> String {
        let (done, all) = (grouped(self.parts_done), grouped(self.parts));
        format!("{done} of {all} pieces")
    }

    /// What is copied, how fast, and what clients feel of it.
    fn copied(&self) -> String {
        format!(
            "{} records, {}, {}/s of at most {}/s, clients' p99 {}",
            grouped(self.records),
            rounded(self.bytes as f64),
            rounded(self.bytes_per_s as f64),
            rounded(self.bytes_per_s_max as f64),
            rounded_latency(self.latency_us_p99),
        )
    }
}

/// The phase of a change, with its place among the four.
fn phase(change: &Change) -> String {
    let at = PHASES.iter().position(|(name, _)| *name == change.phase);
    at.map_or_else(
        || change.phase.clone(),
        |at| format!("{} of 4, {}", at + 1, PHASES[at].1),
    )
}

/// Who comes and who goes in a change, as in `n4 joins, n1 leaves`.
pub fn who(change: &Change) -> String {
    let (dead, leaving): (Vec<_>, Vec<_>) = change
        .takes_out
        .iter()
        .cloned()
        .partition(|name| change.dead.contains(name));
    let parts = [
        verb(&change.adds, "joins", "join"),
        verb(&leaving, "leaves", "leave"),
        verb(&dead, "is removed", "are removed"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Names with a verb, as in `n4 and n5 join`; `None` without names.
pub fn verb(names: &[String], one: &str, many: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{name} {one}")),
        [first @ .., last] => Some(format!("{} and {last} {many}", first.join(", "))),
    }
}

/// Says of spare nodes that they hold nothing, and how that changes.
pub fn spare(names: &[String]) -> String {
    let who = verb(names, "holds", "hold").unwrap_or_default();
    format!("{who} no data yet: dunlin node add {}", names.join(" "))
}

/// How far a change is, in lines for a narrow terminal.
pub fn lines(change: &Change) -> Vec<String> {
    let progress = Progress::of(change);
    let (phase, pieces) = (phase(change), progress.pieces());
    let mut lines = vec![format!("phase {phase}; {pieces}"), progress.copied()];
    if !change.waits_for.is_empty() {
        lines.push(format!("waits for {}", change.waits_for.join(", ")));
    }
    lines.extend(ranges(change));
    lines
}

/// The ranges that a change waits for.
pub fn ranges(change: &Change) -> Vec<String> {
    let mut lines: Vec<String> = change.ranges.iter().take(RANGES_MAX).cloned().collect();
    if let more @ 1.. = change.ranges.len().saturating_sub(RANGES_MAX) {
        lines.push(format!("and {more} more ranges: dunlin range list"));
    }
    lines
}

/// All about a change but its single shards.
fn sentence(change: &Change) -> String {
    format!(
        "change {}: {}; {}",
        change.id,
        who(change),
        lines(change).join("; ")
    )
}

/// How far the change under way is; empty without one.
pub fn change(members: &Members, coloured: bool) -> String {
    members.change.as_ref().map_or_else(String::new, |change| {
        let table = copies(change);
        let table = table.map_or_else(String::new, |table| table.render(coloured));
        format!("\n{}\n{table}", sentence(change))
    })
}

/// The shards that take something over; `None` when none do.
fn copies(change: &Change) -> Option<Table> {
    let mut copies = change.shards.iter().filter(|s| s.parts > 0).peekable();
    copies.peek()?;
    let mut table = Table::new(&[
        ("TAKES OVER", Align::Left),
        ("PHASE", Align::Left),
        ("PIECES", Align::Right),
        ("DONE", Align::Right),
        ("RECORDS", Align::Right),
        ("BYTES", Align::Right),
        ("PER SECOND", Align::Right),
        ("AT MOST", Align::Right),
        ("CLIENTS' P99", Align::Right),
    ]);
    for shard in copies {
        table.row(vec![
            Cell::plain(&shard.shard),
            Cell::plain(shard.phase.as_deref().unwrap_or("-")),
            Cell::plain(grouped(shard.parts)),
            Cell::plain(grouped(shard.parts_done)),
            Cell::plain(grouped(shard.records)),
            Cell::plain(rounded(shard.bytes as f64)),
            Cell::plain(rounded(shard.bytes_per_s as f64)),
            Cell::plain(rounded(shard.bytes_per_s_max as f64)),
            Cell::plain(rounded_latency(shard.latency_us_p99)),
        ]);
    }
    Some(table)
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
