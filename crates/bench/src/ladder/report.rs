//! The report.

use std::path::Path;

use super::case::{Rung, RungAt, Stage};
use super::figures::StepFigures;
use super::flight::{Flight, FlightServer, Mix};
use super::{Ladder, StepRuns};
use crate::error::BenchError;
use crate::report::model::Target;
use crate::report::summary::{number, targets};
use crate::report::table::Table;
use crate::report::write_both;
use crate::rpc::report::head;
use crate::spread::Spread;

const METHOD: &str = "\
- One client, one transaction after the other: it reads a key of 1,000 with values of 512 bytes and writes the same key. \
The client has a processor, all servers together the other; half of a round trip is the time in which the system wakes a processor.
- In every round each case has its turn. Medians of the rounds, in parentheses the least and the greatest.
- *Ping-pongs*: the median as a multiple of a blocking ping-pong over TCP (1 KiB there, 10 bytes back) between the same processors, \
of the same round.
- CPU is user and system time of all servers (of PostgreSQL with its processes of connections) for each transaction.
- Dunlin: `dunlin serve`, one shard, `--sync always`; with three replicas three processes, of which the one that is spoken to leads \
all ranges. Memory is `/dev/shm`, where a sync costs nothing, as in the paper, which wrote nothing to a disk.
- PostgreSQL: the package with its defaults, serializable, prepared statements. Two rounds: statements without an answer in between are sent \
together (`tokio-postgres` does so by itself).
- Several at a time: all clients are on one processor, all servers on the other; one replica, in memory. *Refused*: attempts that others \
were in the way of, for each commit; they are tried again at once, and their time counts. Of PostgreSQL each transaction that is under \
way has a connection of its own; direct clients share one each.
- A direct client sends two requests; over HTTP it is one (`POST /v1/txn`, evaluated by the leader) or four.
";

const PAPER: &str = "\
## Beside the paper

Paper 003 gives 50.6 us (p50) for one read and one write at depth 1 with one core each, over RDMA, where each transaction reads its own \
write, and the write is sent to another machine's memory. Comparable are multiples of the \
ping-pong: its 50.6 us are about six serialized rounds of its network. Here a client and a server need two rounds.
";

/// Writes `ladder.md` and `ladder.json` into a directory, made if need be; returns their names.
///
/// # Errors
/// [`BenchError::File`] naming the path that cannot be written.
pub fn write(report: &Ladder, directory: &Path) -> Result<Vec<String>, BenchError> {
    write_both("ladder", (report, render(report)), directory)
}

fn render(report: &Ladder) -> String {
    format!(
        "{}\nA ping-pong takes {} us (median of the rounds' medians).\n\n## Targets\n\n{}\n## One read and one write\n\n{}\n## Several at a time\n\n{}\n{PAPER}\n## How it was measured\n\n{METHOD}",
        head("What a transaction costs, step by step", &report.origin),
        number(Spread::of(report.ping_pongs_us.iter().copied())),
        targets(&evaluate(report)),
        table(report),
        flight_table(report)
    )
}

/// One run, while it goes on.
pub fn line(step: RungAt, figures: &StepFigures) -> String {
    format!(
        "{}, {}: {:.0}/s, p50 {:.1} us, servers {:.1} us",
        step.rung.name(),
        step.stage.name(),
        figures.per_s,
        figures.p50_us,
        figures.server_us
    )
}

/// One run of several at a time, while it goes on.
pub fn flight_line(flight: Flight, figures: &StepFigures) -> String {
    format!(
        "{}, {}, {} clients, {} each: {:.0}/s, p50 {:.1} us, {:.2} refused, servers {:.1} us",
        flight.store.name(),
        flight.mix.name(),
        flight.clients,
        flight.depth,
        figures.per_s,
        figures.p50_us,
        figures.refused,
        figures.server_us
    )
}

/// A row for each case of several at a time.
pub fn flight_table(report: &Ladder) -> String {
    let mut table = Table::new(&[
        "",
        "",
        "clients",
        "each",
        "/s",
        "p50 us",
        "p99 us",
        "refused",
        "server CPU us",
        "/s beside PostgreSQL",
    ]);
    for row in &report.flights {
        let of = |figure: fn(&StepFigures) -> f64| number(row.spread(figure));
        let ratio = match row.case.store {
            FlightServer::Dunlin => beside_postgres(report, row.case),
            FlightServer::Postgres => None,
        };
        table.row(vec![
            row.case.mix.name(),
            row.case.store.name().to_owned(),
            row.case.clients.to_string(),
            row.case.depth.to_string(),
            of(|of| of.per_s),
            of(|of| of.p50_us),
            of(|of| of.p99_us),
            of(|of| of.refused),
            of(|of| of.server_us),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.render()
}

/// Transactions a second beside PostgreSQL's, round by round.
fn beside_postgres(report: &Ladder, case: Flight) -> Option<f64> {
    let find = |store| {
        let case = Flight { store, ..case };
        report.flights.iter().find(|row| row.case == case)
    };
    let rounds = find(FlightServer::Dunlin)?
        .runs
        .iter()
        .zip(&find(FlightServer::Postgres)?.runs);
    let parts = rounds.map(|(own, other)| own.per_s / other.per_s.max(1e-9));
    Some(Spread::of(parts).median)
}

/// A row for each case.
pub fn table(report: &Ladder) -> String {
    let mut table = Table::new(&[
        "",
        "data",
        "/s",
        "p50 us",
        "ping-pongs",
        "p99 us",
        "server CPU us",
    ]);
    for row in &report.rows {
        let of = |figure: fn(&StepFigures) -> f64| number(row.spread(figure));
        table.row(vec![
            row.case.rung.name().to_owned(),
            row.case.stage.name().to_owned(),
            of(|of| of.per_s),
            of(|of| of.p50_us),
            format!("{:.1}", ping_pongs(report, row).median),
            of(|of| of.p99_us),
            of(|of| of.server_us),
        ]);
    }
    table.render()
}

fn ping_pongs(report: &Ladder, row: &StepRuns) -> Spread {
    let rounds = row.runs.iter().zip(&report.ping_pongs_us);
    Spread::of(rounds.map(|(run, ping_pong)| run.p50_us / ping_pong.max(1e-9)))
}

/// A figure beside another case's of the same stage, round by round.
fn beside(
    report: &Ladder,
    stage: Stage,
    (own, other): (Rung, Rung),
    figure: fn(&StepFigures) -> f64,
) -> Option<f64> {
    let find = |rung| {
        let step = RungAt { rung, stage };
        report.rows.iter().find(|row| row.case == step)
    };
    let rounds = find(own)?.runs.iter().zip(&find(other)?.runs);
    let parts = rounds.map(|(own, other)| figure(own) / figure(other).max(1e-9));
    Some(Spread::of(parts).median)
}

/// Targets, beside the figures.
pub fn evaluate(report: &Ladder) -> Vec<Target> {
    let direct = RungAt {
        rung: Rung::Direct,
        stage: Stage::Memory,
    };
    let row = report.rows.iter().find(|row| row.case == direct);
    let rounds = row.map(|row| ping_pongs(report, row).median);
    let target = |what: &str, wanted: &str, most: f64, measured: Option<f64>| Target {
        what: what.to_owned(),
        wanted: wanted.to_owned(),
        measured: measured.map_or_else(String::new, |measured| format!("{measured:.2}")),
        met: measured.map(|measured| measured <= most),
    };
    let sixteen = Flight {
        store: FlightServer::Dunlin,
        mix: Mix::Own,
        clients: 1,
        depth: 16,
    };
    let sixteen = beside_postgres(report, sixteen);
    let p50: fn(&StepFigures) -> f64 = |of| of.p50_us;
    let cpu: fn(&StepFigures) -> f64 = |of| of.server_us;
    let postgres = (Rung::Direct, Rung::PostgresTwo);
    let four = (Rung::Direct, Rung::Four);
    vec![
        target("direct, memory: ping-pongs", "8 (aim 6)", 8.0, rounds),
        target(
            "direct, memory: p50 beside PostgreSQL in two rounds",
            "0.8 (aim 0.6)",
            0.8,
            beside(report, Stage::Memory, postgres, p50),
        ),
        target(
            "direct, disk: p50 beside PostgreSQL in two rounds",
            "1 (aim 0.8)",
            1.0,
            beside(report, Stage::Disk, postgres, p50),
        ),
        target(
            "direct, 3 replicas: p50 beside four requests over HTTP",
            "0.5 (aim 0.33)",
            0.5,
            beside(report, Stage::Three, four, p50),
        ),
        target(
            "direct, 3 replicas: CPU beside four requests over HTTP",
            "0.5 (aim 0.33)",
            0.5,
            beside(report, Stage::Three, four, cpu),
        ),
        Target {
            what: "direct, memory, 16 under way: a second beside PostgreSQL".to_owned(),
            wanted: "2 (aim 3)".to_owned(),
            measured: sixteen.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            met: sixteen.map(|ratio| ratio >= 2.0),
        },
    ]
}
