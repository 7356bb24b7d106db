//! `dunlin range`: the ranges of transactional keyspaces, their replicas, whether they are whole, and where they should be.

mod recover;
pub(crate) mod target;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use dunlin_client::{RangeCopy, RangeDescription, RangeRecovered, RangeStatus, Status};
use serde::Serialize;
use serde_json::json;

use crate::connect::Server;
use crate::failure::Failure;
use crate::output::{Output, coloured};
use crate::runtime;
use crate::table::{Align, Cell, Colour, Table};
use crate::units::{grouped, now_ms, rounded, rounded_time};

const EXAMPLES: &str = "\
A range is whole when it has a leader and as many replicas as its keyspace wants, all of them have what the
leader has, and the metadata names them. A replica that has lost its data is replaced without a command. Ranges leave a node that
is drained or removed, and spread over nodes that are added: see dunlin node --help.

Examples:
  dunlin range list
  dunlin range list bank --json | jq -e 'all(.ranges[]; .whole)'   in scripts: 1 unless all are whole
  dunlin range lead bank 0 n4                 the replica on n4 leads from now on
  dunlin range move bank 0 --from n1 --to n4  the replica on n1 goes, n4 has one instead
  dunlin range recover bank 0                 most replicas are lost for good: the remaining ones, and how to go on";

/// Commands about ranges.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Range {
    /// List ranges: leader, replicas, and changes under way
    List(ListRanges),
    /// Have the replica on a node lead a range
    Lead(target::Lead),
    /// Move a replica of a range from one node to another
    Move(target::Move),
    /// List the remaining replicas of a range without a majority, and have it begin again
    Recover(recover::Recover),
}

/// Which ranges.
#[derive(Debug, Args)]
pub struct ListRanges {
    /// Keyspace; all of them if it is left out
    keyspace: Option<String>,
    #[command(flatten)]
    server: Server,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A range, as its leader tells.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row<'a> {
    keyspace: &'a str,
    range: u64,
    start: &'a str,
    leader: Option<&'a str>,
    whole: bool,
    config: u64,
    replicas: Vec<Replica<'a>>,
    recovered: Option<RangeRecovered>,
    doing: Option<&'a str>,
    copies: &'a [RangeCopy],
}

/// A replica of it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Replica<'a> {
    id: u64,
    at: &'a str,
    role: &'a str,
    behind: u64,
}

impl Range {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            let list = match self {
                Range::List(list) => list,
                Range::Lead(lead) => return lead.run().await,
                Range::Move(moved) => return moved.run().await,
                Range::Recover(recover) => return recover.run().await,
            };
            let status = list.server.client()?.status().await?;
            let name = list.keyspace.as_deref();
            let rows = rows(&status, name);
            if let Some(name) = name
                && rows.is_empty()
            {
                let why =
                    format!("there is no transactional keyspace {name}: see dunlin keyspace list");
                return Err(Failure::NotFound(why));
            }
            let mut output = Output::new();
            if list.json {
                output.json(&json!({ "ranges": rows }))?;
            } else {
                output.bytes(text(&rows, now_ms(), coloured()).as_bytes())?;
            }
            output.flush()
        })
    }
}

/// The ranges of all keyspaces, or of one, in the order of their keys. What no shard tells of is not whole.
fn rows<'a>(status: &'a Status, name: Option<&str>) -> Vec<Row<'a>> {
    let keyspaces = status.keyspaces.iter();
    let keyspaces = keyspaces.filter(|keyspace| name.is_none_or(|name| name == keyspace.name));
    let of_keyspace = |keyspace: &'a dunlin_client::KeyspaceDescription| {
        let ranges = keyspace.ranges.iter();
        ranges.map(|range| row(status, &keyspace.name, range))
    };
    keyspaces.flat_map(of_keyspace).collect()
}

fn row<'a>(status: &'a Status, keyspace: &'a str, described: &'a RangeDescription) -> Row<'a> {
    let range = described.number;
    let is_here = |row: &&RangeStatus| row.keyspace == keyspace && row.range == range;
    let all = || status.ranges.iter().filter(is_here);
    let leader = target::leader(status, (keyspace, range));
    let replicas = match leader {
        Some(leader) => (leader.led.replicas.iter())
            .map(|replica| Replica {
                id: replica.id,
                at: &replica.at,
                role: &replica.role,
                behind: leader.last.saturating_sub(replica.matched),
            })
            .collect(),
        None => all()
            .map(|row| Replica {
                id: row.id,
                at: &row.at,
                role: &row.role,
                behind: 0,
            })
            .collect(),
    };
    Row {
        keyspace,
        range,
        start: &described.start,
        leader: leader.map(|leader| &*leader.at),
        whole: leader.is_some_and(|leader| target::is_whole(status, leader)),
        config: leader.map_or(0, |leader| leader.config),
        replicas,
        recovered: described.recovered,
        doing: leader.and_then(|leader| leader.led.doing.as_deref()),
        copies: leader.map_or(&[], |leader| &leader.led.copies),
    }
}

/// How much of a copy is sent, how fast, and for how long it goes on.
fn copied(copy: &RangeCopy) -> String {
    let left = copy.about_bytes.saturating_sub(copy.bytes) as f64;
    let seconds = left / (copy.bytes_per_s as f64).max(1.0);
    format!(
        "{} gets a copy: {} of about {}, {}/s, about {} left",
        copy.to,
        rounded(copy.bytes as f64),
        rounded(copy.about_bytes as f64),
        rounded(copy.bytes_per_s as f64),
        rounded_time(seconds)
    )
}

/// Ranges of transactional keyspaces in a line each keyspace, and those without a leader; nothing where there are none.
pub(super) fn summary(status: &Status, coloured: bool) -> String {
    let rows = rows(status, None);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("TRANSACTIONAL", Align::Left),
        ("RANGES", Align::Right),
        ("REPLICAS", Align::Right),
        ("WHOLE", Align::Right),
        ("LEADERS", Align::Left),
        ("COPIES", Align::Right),
    ]);
    for rows in rows.chunk_by(|a, b| a.keyspace == b.keyspace) {
        let whole = rows.iter().filter(|row| row.whole).count();
        let colour = if whole == rows.len() {
            Colour::Green
        } else {
            Colour::Red
        };
        let mut leaders: BTreeMap<&str, usize> = BTreeMap::new();
        for leader in rows.iter().filter_map(|row| row.leader) {
            let node = leader.split('/').next().unwrap_or(leader);
            *leaders.entry(node).or_default() += 1;
        }
        let leaders = leaders
            .iter()
            .map(|(node, count)| format!("{node} {count}"));
        let wanted = status.keyspaces.iter().find(|k| k.name == rows[0].keyspace);
        table.row(vec![
            Cell::plain(rows[0].keyspace),
            Cell::plain(rows.len()),
            Cell::plain(wanted.map_or(0, |keyspace| keyspace.settings.replicas)),
            Cell::coloured(whole, colour),
            Cell::plain(leaders.collect::<Vec<String>>().join(", ")),
            Cell::plain(rows.iter().map(|row| row.copies.len()).sum::<usize>()),
        ]);
    }
    let unled = rows.iter().filter(|row| row.leader.is_none()).map(|row| {
        let (keyspace, range) = (row.keyspace, row.range);
        format!(
            "\n{keyspace}/{range} has no leader: start the nodes that are away, or see dunlin range recover {keyspace} {range}\n"
        )
    });
    let unled: String = unled.collect();
    format!("\n{}{unled}", table.render(coloured))
}

fn text(rows: &[Row<'_>], now_ms: u64, coloured: bool) -> String {
    if rows.is_empty() {
        return "there is no transactional keyspace\n".to_owned();
    }
    let mut table = Table::new(&[
        ("KEYSPACE", Align::Left),
        ("RANGE", Align::Right),
        ("FROM KEY", Align::Left),
        ("WHOLE", Align::Left),
        ("LEADER", Align::Left),
        ("REPLICAS", Align::Left),
        ("BEHIND", Align::Right),
    ]);
    for row in rows {
        let whole = if row.whole {
            Cell::coloured("yes", Colour::Green)
        } else {
            Cell::coloured("no", Colour::Red)
        };
        let replicas = row.replicas.iter().map(|replica| match replica.role {
            "voter" | "leader" | "follower" => replica.at.to_owned(),
            role => format!("{} ({role})", replica.at),
        });
        let behind = row.replicas.iter().map(|replica| replica.behind).max();
        table.row(vec![
            Cell::plain(row.keyspace),
            Cell::plain(row.range),
            Cell::plain(row.start),
            whole,
            Cell::plain(row.leader.unwrap_or("-")),
            Cell::plain(replicas.collect::<Vec<String>>().join(" ")),
            Cell::plain(grouped(behind.unwrap_or(0))),
        ]);
    }
    let doing = rows.iter().filter_map(|row| {
        let doing = row.doing?;
        Some(format!("{}/{}: {doing}\n", row.keyspace, row.range))
    });
    let recovered = rows.iter().filter_map(|row| {
        let age = now_ms.saturating_sub(row.recovered?.at_ms) as f64 / 1e3;
        let (keyspace, range, age) = (row.keyspace, row.range, rounded_time(age));
        Some(format!(
            "{keyspace}/{range}: recovered {age} ago, and may lack acknowledged writes from before\n"
        ))
    });
    let copies = rows.iter().flat_map(|row| {
        let line = |copy| format!("{}/{}: {}\n", row.keyspace, row.range, copied(copy));
        row.copies.iter().map(line)
    });
    let lines: String = doing.chain(copies).chain(recovered).collect();
    let between = if lines.is_empty() { "" } else { "\n" };
    format!("{}{between}{lines}", table.render(coloured))
}
