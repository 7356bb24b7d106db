//! `dunlin status`: nodes, keyspaces, and how far each replica is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use dunlin_client::{
    BackfillStatus, FollowerStatus, KeyspaceDescription, PinStatus, RangeStatus, RecoveryStatus,
    ShardStatus, Status as Cluster, StreamStatus, ViewStatus,
};

use crate::command::{keyspace, link, range};
use crate::connect::Server;
use crate::failure::Failure;
use crate::margin::at_risk;
use crate::members;
use crate::output::{self, Output};
use crate::runtime;
use crate::shortage::shortage;
use crate::table::{Align, Cell, Colour, Table};
use crate::units::{grouped, rounded, rounded_count, rounded_latency, rounded_time};

const EXAMPLES: &str = "\
A node that is a member holds data; a spare one takes requests and holds nothing. While members
change, the change is shown at the end: how far it is, how fast it may go and for whom it waits.

KEYS are those of all partitions that the shard holds a copy of: counted, at most a second ago, while
there are at most 10,000 (fewer where values are large or its disk is slow). Beyond, ~ stands before
an estimate of its records: with those deleted, overwritten or dropped and not compacted away yet.

A shard that is filling is new or has lost its data: it takes writes, and answers no reads before
the others have given it what it should hold. One that is catching up was away, or lags, and answers
what it has: what it copies, and how long that will take, is said below the tables. Each row of the last table is a node that follows the
logs of another, with --followers a shard that follows one log: the entries it has not yet acknowledged, how much of the log that is, the bytes it is
sent each second, how long it has yet to go at that rate, and percentiles of the time from a write to
its acknowledgement. Below it stand the streams of changes that clients follow: how many records of
logs each has yet to read, how much that is, how old what it was told last is, and what it is told
each second. One that is not read has a client that takes nothing; it is closed after a minute.

A table lists views: how much of the index is built at the slowest shard, the rows of all replicas,
documents that were skipped, what the indexes have yet to read, queries and their mean time.

Replicas of transactional keyspaces stand in a table of their own: who leads, since which term, and how
many entries of the leader's log the replica furthest behind lacks. One that is lost holds less than it
once promised; its leader replaces it. See dunlin range list.

Links to and from other clusters that are paused, wait, are late or broken are said last, with why.

While a node copies from a shard, that keeps of its log what the node has yet to read; how much, and
for whom, is said below the tables.

Examples:
  dunlin status
  dunlin status --watch
  dunlin status --exit-code > /dev/null && systemctl restart dunlin
  dunlin status --json | jq '[.followers[].items_remaining] | add'";

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Status {
    /// Show it again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..))]
    watch: Option<u64>,
    /// Each follower of each shard's log, not what those of a node add up to
    #[arg(long)]
    followers: bool,
    /// Fail with exit code 1 when one more loss would stop a keyspace of several replicas, and say which: for scripts that
    /// take one node after another down
    #[arg(long, conflicts_with = "watch")]
    exit_code: bool,
    #[command(flatten)]
    server: Server,
    /// One JSON object, with --watch one a line
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Shows it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            let client = self.server.client()?;
            let mut output = Output::new();
            let coloured = output::coloured();
            loop {
                let status = client.status().await;
                let risks = status.as_ref().map_or_else(|_| Vec::new(), at_risk);
                match (self.watch, status) {
                    (_, Ok(status)) if self.json => output.json(&status)?,
                    (None, status) => {
                        let all = text(&status?, self.followers, coloured);
                        let all = all + &link::warnings(&client).await;
                        output.bytes(all.as_bytes())?
                    }
                    // A watcher wants to see the cluster come back.
                    (Some(_), status) => {
                        let shown = match status {
                            Ok(status) => {
                                let all = text(&status, self.followers, coloured);
                                all + &link::warnings(&client).await
                            }
                            Err(error) => format!("{error}\n"),
                        };
                        let clear = if coloured { "\x1b[H\x1b[2J" } else { "" };
                        output.line(format!("{clear}{shown}"))?;
                    }
                }
                output.flush()?;
                if self.exit_code && !risks.is_empty() {
                    let risks = risks.join("; ");
                    return Err(Failure::Failed(format!("one more loss would stop {risks}")));
                }
                let Some(seconds) = self.watch else {
                    return Ok(());
                };
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
        })
    }
}

fn text(status: &Cluster, all_followers: bool, coloured: bool) -> String {
    let listed = if all_followers {
        status.followers.clone()
    } else {
        by_node(&status.followers)
    };
    [
        members::nodes(status),
        keyspace::table(&status.keyspaces),
        shards(&status.shards),
        followers(&listed),
    ]
    .map(|table| table.render(coloured))
    .join("\n")
        + &range::summary(status, coloured)
        + &ranges(&status.ranges, coloured)
        + &streams(&status.streams, coloured)
        + &views(&status.views, coloured)
        + &members::change(&status.members, coloured)
        + &shortages(status)
        + &troubles(&status.shards)
        + &catching_up(&status.shards)
        + &pins(&status.shards)
        + &distrusts(&status.shards)
        + &problems(&status.problems)
}

/// What is wrong with the metadata, by the node that was asked.
fn problems(problems: &[String]) -> String {
    let lines = problems.iter().map(|line| format!("\n{line}\n"));
    lines.collect()
}

/// Keyspaces for whose copies there are not enough members.
fn shortages(status: &Cluster) -> String {
    let members = status.members.members.len();
    let line = |keyspace: &KeyspaceDescription| {
        let replicas = keyspace.settings.replicas.into();
        Some(format!(
            "\n{}\n",
            shortage(&keyspace.name, replicas, members)?
        ))
    };
    status.keyspaces.iter().filter_map(line).collect()
}

/// A table has no room for sentences.
fn troubles(shards: &[ShardStatus]) -> String {
    let line = |shard: &ShardStatus| {
        let trouble = shard
            .trouble
            .clone()
            .or_else(|| Some(filling(shard.refill.as_ref()?)))?;
        Some(format!("\n{}: {trouble}\n", shard.shard))
    };
    shards.iter().filter_map(line).collect()
}

/// What shards get that lack much, and how long that will take.
fn catching_up(shards: &[ShardStatus]) -> String {
    let of = |shard: &ShardStatus, backfill: &BackfillStatus| {
        let left = match backfill.left_s {
            Some(seconds) => format!("{} left", rounded_time(seconds as f64)),
            None => "just begun".to_owned(),
        };
        format!(
            "\n{}: copies from {} what its log has no more: {} of {} partitions, {} sent of {} looked at, {} per second, {left}\n",
            shard.shard,
            backfill.from,
            backfill.parts_done,
            backfill.parts,
            rounded(backfill.bytes as f64),
            rounded(backfill.bytes_read as f64),
            rounded(backfill.bytes_read_per_s as f64),
        )
    };
    let lines = |shard: &ShardStatus| {
        let copies = shard.backfilling.iter().map(|backfill| of(shard, backfill));
        let mut text: String = copies.collect();
        if shard.catching_up && shard.backfilling.is_empty() {
            let behind = rounded_time(shard.behind_ms as f64 / 1_000.0);
            text += &format!("\n{}: is {behind} behind\n", shard.shard);
        }
        if shard.slows {
            text += &format!(
                "\n{}: lets writes wait, for a replica is about to fall off its log\n",
                shard.shard
            );
        }
        text
    };
    shards.iter().map(lines).collect()
}

/// So many of those that a log is kept for are named.
const HOLDERS_MAX: usize = 3;

/// Log that is kept for whoever reads it, and log that had to go all the same.
fn pins(shards: &[ShardStatus]) -> String {
    let let_go = |shard: &ShardStatus, pin: &PinStatus| {
        let (shard, holder) = (&shard.shard, &pin.holder);
        format!("\n{shard}: keeps no log for {holder} any more\n")
    };
    // Who needs most of it keeps it for all.
    let held = |shard: &ShardStatus| {
        let held = shard.pins.iter().filter(|pin| !pin.let_go);
        let mut held: Vec<&PinStatus> = held.filter(|pin| pin.bytes > 0).collect();
        held.sort_by_key(|pin| std::cmp::Reverse(pin.bytes));
        let Some(most) = held.first() else {
            return String::new();
        };
        let mut holders: Vec<&str> = held.iter().map(|pin| &*pin.holder).collect();
        let more = match holders.len().saturating_sub(HOLDERS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        holders.truncate(HOLDERS_MAX);
        format!(
            "\n{}: keeps {} of its log for {}{more}\n",
            shard.shard,
            rounded(most.bytes as f64),
            holders.join(", ")
        )
    };
    let cut = |shard: &ShardStatus| match shard.pins_cut {
        0 => String::new(),
        times => format!(
            "\n{}: let go of log that was still needed, {times} times: raise --pins\n",
            shard.shard
        ),
    };
    let lines = |shard: &ShardStatus| {
        let gone = shard.pins.iter().filter(|pin| pin.let_go);
        let gone: String = gone.map(|pin| let_go(shard, pin)).collect();
        held(shard) + &gone + &cut(shard)
    };
    shards.iter().map(lines).collect()
}

/// Who does not let whom in.
fn distrusts(shards: &[ShardStatus]) -> String {
    let lines = shards.iter().flat_map(|shard| {
        let told = shard.distrusts.iter();
        told.map(|line| format!("\n{} to {line}\n", shard.shard))
    });
    lines.collect()
}

fn filling(refill: &RecoveryStatus) -> String {
    let reason = &refill.reason;
    if let Some(damage) = &refill.damage {
        return format!("{reason}; {damage}");
    }
    if refill.waits_for.is_empty() {
        format!("{reason}; all that it lacks has come")
    } else {
        format!(
            "{reason}; it answers no reads before {} gave it what it lacks",
            refill.waits_for.join(", ")
        )
    }
}

fn shards(shards: &[ShardStatus]) -> Table {
    let mut table = Table::new(&[
        ("SHARD", Align::Left),
        ("STATE", Align::Left),
        ("PARTITIONS", Align::Right),
        ("KEYS", Align::Right),
        ("STORE", Align::Right),
        ("WRITES", Align::Right),
        ("READS", Align::Right),
        ("SYNCS", Align::Right),
    ]);
    for shard in shards {
        let state = match (&shard.trouble, shard.refilling) {
            (Some(_), _) => Cell::coloured("failing", Colour::Red),
            (None, true) => Cell::coloured("filling", Colour::Yellow),
            (None, false) if shard.catching_up => Cell::coloured("catching up", Colour::Yellow),
            (None, false) => Cell::coloured("serving", Colour::Green),
        };
        table.row(vec![
            Cell::plain(&shard.shard),
            state,
            Cell::plain(shard.partitions),
            Cell::plain(keys(shard)),
            Cell::plain(rounded(shard.store_bytes as f64)),
            Cell::plain(grouped(shard.writes)),
            Cell::plain(grouped(shard.reads)),
            Cell::plain(grouped(shard.log_syncs)),
        ]);
    }
    table
}

/// How many keys a shard holds; with a ~ where nobody has counted them.
fn keys(shard: &ShardStatus) -> String {
    if shard.keys_estimated {
        format!("~{}", rounded_count(shard.keys))
    } else {
        grouped(shard.keys)
    }
}

/// How long a follower has yet to go, at the rate of the last seconds.
fn left(follower: &FollowerStatus) -> String {
    let is_behind = follower.state != "streaming" && follower.bytes_remaining > 0;
    if !is_behind || follower.bytes_per_s == 0 {
        return "-".to_owned();
    }
    let seconds = follower.bytes_remaining as f64 / follower.bytes_per_s as f64;
    rounded_time(seconds)
}

fn followers(followers: &[FollowerStatus]) -> Table {
    let mut table = Table::new(&[
        ("LOG OF", Align::Left),
        ("FOLLOWER", Align::Left),
        ("STATE", Align::Left),
        ("REMAINING", Align::Right),
        ("BYTES", Align::Right),
        ("PER SECOND", Align::Right),
        ("LEFT", Align::Right),
        ("P50", Align::Right),
        ("P95", Align::Right),
        ("P99", Align::Right),
    ]);
    for follower in followers {
        let colour = match follower.state.as_str() {
            "streaming" => Colour::Green,
            "down" => Colour::Red,
            _ => Colour::Yellow,
        };
        table.row(vec![
            Cell::plain(&follower.from),
            Cell::plain(&follower.to),
            Cell::coloured(follower.state.replace('_', " "), colour),
            Cell::plain(grouped(follower.items_remaining)),
            Cell::plain(rounded(follower.bytes_remaining as f64)),
            Cell::plain(rounded(follower.bytes_per_s as f64)),
            Cell::plain(left(follower)),
            Cell::plain(rounded_latency(follower.latency_us_p50)),
            Cell::plain(rounded_latency(follower.latency_us_p95)),
            Cell::plain(rounded_latency(follower.latency_us_p99)),
        ]);
    }
    table
}

/// The followers of a node's logs at each other node, as one: the worst of their states, all that remains, the
/// greatest latencies.
fn by_node(followers: &[FollowerStatus]) -> Vec<FollowerStatus> {
    const WORST_FIRST: [&str; 2] = ["down", "catching_up"];
    let node = |shard: &str| shard.split('/').next().unwrap_or_default().to_owned();
    let badness = |state: &str| match WORST_FIRST.iter().position(|bad| *bad == state) {
        Some(at) => WORST_FIRST.len() + 1 - at,
        None => usize::from(state != "streaming"),
    };
    let mut all: BTreeMap<(String, String), FollowerStatus> = BTreeMap::new();
    for follower in followers {
        let names = (node(&follower.from), node(&follower.to));
        let Some(sum) = all.get_mut(&names) else {
            let (from, to) = names.clone();
            let first = FollowerStatus {
                from,
                to,
                ..follower.clone()
            };
            all.insert(names, first);
            continue;
        };
        if badness(&follower.state) > badness(&sum.state) {
            sum.state.clone_from(&follower.state);
        }
        sum.items_remaining += follower.items_remaining;
        sum.bytes_remaining += follower.bytes_remaining;
        sum.bytes_per_s += follower.bytes_per_s;
        sum.latency_us_p50 = sum.latency_us_p50.max(follower.latency_us_p50);
        sum.latency_us_p95 = sum.latency_us_p95.max(follower.latency_us_p95);
        sum.latency_us_p99 = sum.latency_us_p99.max(follower.latency_us_p99);
    }
    all.into_values().collect()
}

/// Views, one a row, all shards together; nothing where there are none.
fn views(views: &[ViewStatus], coloured: bool) -> String {
    if views.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("VIEW OF", Align::Left),
        ("VIEW", Align::Left),
        ("STATE", Align::Left),
        ("ROWS OF REPLICAS", Align::Right),
        ("SKIPPED", Align::Right),
        ("BYTES BEHIND", Align::Right),
        ("QUERIES", Align::Right),
        ("MEAN", Align::Right),
    ]);
    let mut all: BTreeMap<(&str, &str), Vec<&ViewStatus>> = BTreeMap::new();
    for view in views {
        let names = (view.keyspace.as_str(), view.view.as_str());
        all.entry(names).or_default().push(view);
    }
    for ((keyspace, view), shards) in all {
        let sum =
            |figure: fn(&ViewStatus) -> u64| shards.iter().map(|shard| figure(shard)).sum::<u64>();
        let built = shards.iter().map(|shard| shard.built).fold(1.0, f64::min);
        let state = if shards.iter().any(|shard| shard.error.is_some()) {
            Cell::coloured("failing", Colour::Red)
        } else if built < 1.0 {
            let built = format!("building {:.0} %", built * 100.0);
            Cell::coloured(built, Colour::Yellow)
        } else {
            Cell::coloured("built", Colour::Green)
        };
        let (queries, queries_us) = (sum(|shard| shard.queries), sum(|shard| shard.queries_us));
        let mean = queries_us.checked_div(queries);
        table.row(vec![
            Cell::plain(keyspace),
            Cell::plain(view),
            state,
            Cell::plain(grouped(sum(|shard| shard.rows))),
            Cell::plain(grouped(sum(|shard| shard.failed))),
            Cell::plain(rounded(sum(|shard| shard.bytes_behind.unwrap_or(0)) as f64)),
            Cell::plain(grouped(queries)),
            Cell::plain(mean.map_or_else(|| "-".to_owned(), rounded_latency)),
        ]);
    }
    format!("\n{}", table.render(coloured))
}

/// Replicas of more ranges are not listed one by one.
const RANGES_MAX: usize = 64;

/// Replicas of transactional keyspaces; nothing where there are none, or too many.
fn ranges(ranges: &[RangeStatus], coloured: bool) -> String {
    let numbers: BTreeSet<(&str, u64)> = ranges
        .iter()
        .map(|row| (&*row.keyspace, row.range))
        .collect();
    if numbers.is_empty() || numbers.len() > RANGES_MAX {
        return String::new();
    }
    let mut table = Table::new(&[
        ("RANGE OF", Align::Left),
        ("RANGE", Align::Right),
        ("REPLICA", Align::Left),
        ("ROLE", Align::Left),
        ("LEADER", Align::Left),
        ("TERM", Align::Right),
        ("LAST", Align::Right),
        ("APPLIED", Align::Right),
        ("BEHIND", Align::Right),
        ("INTENTS", Align::Right),
    ]);
    let mut ranges: Vec<&RangeStatus> = ranges.iter().collect();
    ranges.sort_by_key(|range| (&range.keyspace, range.range, &range.at));
    for range in &ranges {
        let colour = match range.role.as_str() {
            "leader" | "follower" => Colour::Green,
            "candidate" | "preparing" | "learner" => Colour::Yellow,
            _ => Colour::Red,
        };
        let behind = match range.role.as_str() {
            "leader" => grouped(range.behind),
            _ => "-".to_owned(),
        };
        table.row(vec![
            Cell::plain(&range.keyspace),
            Cell::plain(range.range),
            Cell::plain(&range.at),
            Cell::coloured(&range.role, colour),
            Cell::plain(range.leader.as_deref().unwrap_or("-")),
            Cell::plain(range.term),
            Cell::plain(grouped(range.last)),
            Cell::plain(grouped(range.applied)),
            Cell::plain(behind),
            Cell::plain(grouped(range.intents)),
        ]);
    }
    let reason = |range: &&RangeStatus| {
        let reason = range.reason.as_deref()?;
        let (at, keyspace, role) = (&range.at, &range.keyspace, &range.role);
        Some(format!(
            "\n{at}: its replica of {keyspace} is {role}: {reason}\n"
        ))
    };
    let reasons: String = ranges.iter().filter_map(reason).collect();
    format!("\n{}{reasons}", table.render(coloured))
}

/// More than these are counted.
const STREAMS_MAX: usize = 20;

/// Streams that clients follow, who is furthest behind first; nothing where there are none.
fn streams(streams: &[StreamStatus], coloured: bool) -> String {
    if streams.is_empty() {
        return String::new();
    }
    let mut streams: Vec<&StreamStatus> = streams.iter().collect();
    streams.sort_by_key(|stream| std::cmp::Reverse(stream.behind_ms));
    let mut table = Table::new(&[
        ("STREAM OF", Align::Left),
        ("CLIENT", Align::Left),
        ("CURSOR", Align::Left),
        ("AT", Align::Left),
        ("STATE", Align::Left),
        ("BEHIND", Align::Right),
        ("BYTES", Align::Right),
        ("TIME", Align::Right),
        ("PER SECOND", Align::Right),
        ("CHANGES", Align::Right),
    ]);
    for stream in streams.iter().take(STREAMS_MAX) {
        let colour = match stream.state.as_str() {
            "streaming" => Colour::Green,
            "not_read" => Colour::Red,
            _ => Colour::Yellow,
        };
        let or_none = |figure: Option<String>| Cell::plain(figure.unwrap_or_else(|| "-".into()));
        table.row(vec![
            Cell::plain(&stream.keyspace),
            Cell::plain(&stream.who),
            or_none(stream.cursor.clone()),
            Cell::plain(&stream.at),
            Cell::coloured(stream.state.replace('_', " "), colour),
            or_none(stream.entries_behind.map(grouped)),
            or_none(stream.bytes_behind.map(|bytes| rounded(bytes as f64))),
            Cell::plain(rounded_time(stream.behind_ms as f64 / 1e3)),
            Cell::plain(rounded(stream.bytes_per_s as f64)),
            Cell::plain(grouped(stream.changes)),
        ]);
    }
    let more = match streams.len().saturating_sub(STREAMS_MAX) {
        0 => String::new(),
        more => format!("and {more} streams that are less behind\n"),
    };
    format!("\n{}{more}", table.render(coloured))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
