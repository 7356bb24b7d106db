//! A failing seed, for people: what broke, what happened to the key concerned, how to replay it.

use std::fmt::Write as _;

use dunlin_node::Sabotage;

use crate::checks::Broken;
use crate::history::{Ended, History, Moment, Place, Seen};
use crate::plan::Plan;

/// Most lines of a key's history to print.
const LINES_MAX: usize = 120;
/// Lines to print after the moment at which it broke.
const LINES_AFTER: usize = 10;

/// What broke, with the history of the key concerned and of all faults.
pub fn report(plan: &Plan, history: &History, broken: &Broken) -> String {
    let mut text = format!("seed {}: {}\n", plan.seed, broken.text);
    let mut lines = faults(history);
    if let Some(place) = broken.place {
        let name = plan.keyspaces.get(place.0).map_or("?", |(name, _)| name);
        let _ = writeln!(text, "history of key {} of keyspace {name}:", place.1);
        lines.extend(of_key(history, place));
    }
    lines.sort();
    if let Some(at) = broken.at {
        let shown = lines.partition_point(|(moment, _)| *moment <= at) + LINES_AFTER;
        lines.truncate(shown);
    }
    let skipped = lines.len().saturating_sub(LINES_MAX);
    if skipped > 0 {
        let _ = writeln!(text, "  ... {skipped} earlier lines");
    }
    for (_, line) in lines.iter().skip(skipped) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = write!(
        text,
        "replay: cargo run --release -p dunlin-sim -- --seed {}{} --trace",
        plan.seed,
        match plan.sabotage {
            Sabotage::None => String::new(),
            other => format!(" --sabotage {other:?}"),
        }
    );
    text
}

fn faults(history: &History) -> Vec<(Moment, String)> {
    let notes = history.notes.iter();
    notes
        .map(|(moment, at_ms, text)| (*moment, format!("{moment:>6} {at_ms:>7} ms  -- {text}")))
        .collect()
}

fn of_key(history: &History, place: Place) -> Vec<(Moment, String)> {
    let mut lines = Vec::new();
    for write in history.writes.iter().filter(|w| w.place == place) {
        let what = if write.delete { "delete" } else { "put" };
        let expect = write.expect.map_or(String::new(), |e| format!(" if {e:?}"));
        lines.push((
            write.begun,
            format!(
                "{:>6} {:>7} ms  c{} {what} {} ack={} from={}{expect}",
                write.begun, write.begun_ms, write.client, write.id, write.ack, write.from,
            ),
        ));
        let Some((moment, at_ms, ended)) = &write.ended else {
            continue;
        };
        let ended = match ended {
            Ended::Acknowledged => "acknowledged".to_owned(),
            Ended::Refused(why) => format!("refused: {why}"),
            Ended::Unknown(why) => format!("unknown: {why}"),
        };
        let attempts: Vec<String> = write
            .attempts
            .iter()
            .map(|(at_ms, host, text)| format!("n{} at {at_ms} ms: {text}", host + 1))
            .collect();
        lines.push((
            *moment,
            format!(
                "{moment:>6} {at_ms:>7} ms  c{} write {} {ended} ({})",
                write.client,
                write.id,
                attempts.join("; ")
            ),
        ));
    }
    for read in history.reads.iter().filter(|r| r.place == place) {
        let what = if read.scan { "scan" } else { "read" };
        lines.push((
            read.ended,
            format!(
                "{:>6} {:>7} ms  c{} {what} through n{} ack={} from={} begun at {} saw {}",
                read.ended,
                read.ended_ms,
                read.client,
                read.host + 1,
                read.ack,
                read.from,
                read.begun,
                seen(read.seen)
            ),
        ));
    }
    lines
}

fn seen(seen: Seen) -> String {
    match seen {
        Seen::Value(Some(id)) => format!("write {id}"),
        Seen::Value(None) => "a value of nobody's".into(),
        Seen::Nothing => "nothing".into(),
    }
}
