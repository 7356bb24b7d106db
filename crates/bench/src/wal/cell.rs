//! One cell of the grid: `pad` beside `fragment`.

use std::path::Path;

use serde::Serialize;

use super::Session;
use super::audit;
use super::cut::{self, Lost};
use super::entry::{Entry, Source};
use super::grid::PAPER_BLOCK_BYTES;
use super::layout::{Counts, Header, Layout, Policy};
use super::patch::{self, PatchEncoder};
use super::writers::{Driven, Load, WRITERS, Written, on_event_loop, one_segment};
use crate::error::BenchError;
use crate::interval::Interval;

const SEGMENT: &str = "00000000000000000001.log";
const PLAIN: &str = "plain.log";

/// One cell of the grid.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// Its entries.
    #[serde(flatten)]
    pub entry: Entry,
    /// Its blocks.
    pub block_bytes: u32,
    /// Bytes of the write batch.
    pub payload_bytes: usize,
    /// key + value + 22.
    pub record_bytes_paper: usize,
    /// Padding of a block by the paper's formula.
    pub padding_bytes_paper: usize,
    /// Entries written for bytes, recovery and write amplification.
    pub entries: u64,
    /// Entries of each timed run.
    pub entries_timed: u64,
    /// Dunlin's log, stock.
    pub fragment: Side,
    /// Dunlin's log, padded.
    pub pad: Side,
    /// Mean latency of `pad` minus that of `fragment`, over the pairs of runs, in microseconds.
    pub difference_us: Interval,
    /// The paper's own form, at its block sizes.
    pub paper: Option<PaperForm>,
}

/// One policy of a cell on Dunlin's log.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// From append to written, with six writers, mean of each run.
    pub latency_us: Interval,
    /// Of all writers.
    pub entries_per_s: Interval,
    /// CPU per entry of log, writers and the making of entries.
    pub cpu_us: Interval,
    /// What the bytes must be.
    pub predicted: Counts,
    /// What they are.
    pub measured: Counts,
    /// Bytes of the file over bytes of keys and values.
    pub write_amplification: f64,
    /// Opening the whole log after it was closed, from the page cache.
    pub recovery_ms: f64,
    /// What a random cut loses.
    pub lost: Lost,
}

/// Legacy headers, one writer, one write a record: stock against the paper's patch.
#[derive(Debug, Clone, Serialize)]
pub struct PaperForm {
    /// Mean of encoding and writing a record, stock.
    pub fragment_us: Interval,
    /// The same with the patch.
    pub patch_us: Interval,
    /// Patch minus stock, over the pairs.
    pub difference_us: Interval,
    /// What the stock bytes must be, and are.
    pub fragment: Counts,
    /// What the patched bytes must be, and are.
    pub patch: Counts,
    /// Of those, what a padded block holds of padding on average.
    pub padding_bytes_a_block: f64,
}

/// Measures a cell.
///
/// # Errors
/// When the log cannot be written, when its bytes are not those predicted, or when the user stops
/// the run.
pub fn measure(session: &Session, entry: Entry, block_bytes: u32) -> Result<Cell, BenchError> {
    let entries_timed = session.plan.entries_timed(entry.user_bytes());
    let source = Source::new(entry, 7);
    let mut sides = Vec::new();
    for policy in [Policy::Fragment, Policy::Pad] {
        sides.push(prove(session, &source, entry, block_bytes, policy)?);
    }
    let mut runs: [Vec<Written>; 2] = Default::default();
    for repeat in 0..session.plan.repeats {
        for side in in_turn(repeat) {
            let policy = [Policy::Fragment, Policy::Pad][side];
            runs[side].push(time(
                session,
                &source,
                entry,
                block_bytes,
                policy,
                entries_timed,
            )?);
        }
    }
    let latencies = runs.each_ref().map(|runs| {
        let latencies = runs.iter().map(|run| run.latency_us_mean);
        latencies.collect::<Vec<f64>>()
    });
    let mut finished = sides.into_iter().zip(&runs).map(|(side, runs)| {
        let of = |number: fn(&Written) -> f64| {
            Interval::of(&runs.iter().map(number).collect::<Vec<f64>>())
        };
        Side {
            latency_us: of(|run| run.latency_us_mean),
            entries_per_s: of(Written::entries_per_s),
            cpu_us: of(Written::cpu_us),
            ..side
        }
    });
    let (Some(fragment), Some(pad)) = (finished.next(), finished.next()) else {
        return Err(BenchError::Layout("a cell needs both policies".into()));
    };
    let paper = if PAPER_BLOCK_BYTES.contains(&block_bytes) {
        Some(paper_form(session, &source, entry, block_bytes)?)
    } else {
        None
    };
    Ok(Cell {
        entry,
        block_bytes,
        payload_bytes: entry.payload_bytes(),
        record_bytes_paper: entry.paper_record_bytes(),
        padding_bytes_paper: entry.paper_padding_bytes(block_bytes as usize),
        entries: session.plan.entries,
        entries_timed,
        difference_us: Interval::of_differences(&latencies[1], &latencies[0]),
        fragment,
        pad,
        paper,
    })
}

/// The order of two sides: each begins every other time.
pub fn in_turn(repeat: usize) -> [usize; 2] {
    if repeat.is_multiple_of(2) {
        [0, 1]
    } else {
        [1, 0]
    }
}

/// What a closed log of `entries` must look like.
pub fn predict(entry: Entry, block_bytes: u32, policy: Policy, entries: u64) -> Counts {
    let mut layout = Layout::segment(block_bytes, policy);
    for _ in 0..entries {
        layout.record(entry.payload_bytes() as u64);
    }
    layout.sync_mark();
    layout.counts()
}

/// Writes the whole number of entries once and looks at what is there.
fn prove(
    session: &Session,
    source: &Source,
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
) -> Result<Side, BenchError> {
    let entries = session.plan.entries;
    let predicted = predict(entry, block_bytes, policy, entries);
    let directory = session.directory("cell")?;
    let options = one_segment(block_bytes, policy, predicted.file_bytes);
    let recovery_ms = on_event_loop(async {
        let (driven, ..) = Driven::open(directory.path(), options.clone()).await?;
        driven.begin().await?;
        let load = unsynced(entries);
        driven.write(load, source, &session.interrupt).await?;
        driven.close().await?;
        let (driven, recovered, took) = Driven::open(directory.path(), options).await?;
        driven.abandon();
        if recovered.last_index != entries + 1 || recovered.torn.is_some() {
            return Err(BenchError::Layout(format!(
                "{}: {entries} entries written, {recovered:?}",
                entry.name()
            )));
        }
        Ok(took.as_secs_f64() * 1e3)
    })?;
    let measured = audit::count(
        &directory.path().join(SEGMENT),
        block_bytes,
        Header::Recyclable,
    )?;
    agree(entry, block_bytes, policy, &predicted, &measured)?;
    let none = Interval::of(&[]);
    Ok(Side {
        latency_us: none,
        entries_per_s: none,
        cpu_us: none,
        predicted,
        measured,
        write_amplification: measured.file_bytes as f64
            / (entries * entry.user_bytes() as u64) as f64,
        recovery_ms,
        lost: cut::measure(entry, block_bytes, policy, session.plan.cuts, 11)?,
    })
}

fn time(
    session: &Session,
    source: &Source,
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    entries: u64,
) -> Result<Written, BenchError> {
    session.check()?;
    let directory = session.directory("cell")?;
    let bytes = predict(entry, block_bytes, policy, entries).file_bytes;
    on_event_loop(async {
        let options = one_segment(block_bytes, policy, bytes);
        let (driven, ..) = Driven::open(directory.path(), options).await?;
        driven.begin().await?;
        let load = unsynced(entries);
        let written = driven.write(load, source, &session.interrupt).await?;
        driven.abandon();
        Ok(written)
    })
}

fn unsynced(entries: u64) -> Load {
    Load {
        entries,
        writers: WRITERS,
        sync: false,
        release: false,
    }
}

fn paper_form(
    session: &Session,
    source: &Source,
    entry: Entry,
    block_bytes: u32,
) -> Result<PaperForm, BenchError> {
    const POLICIES: [Policy; 2] = [Policy::Fragment, Policy::Patch];
    let directory = session.directory("cell")?;
    let path = directory.path().join(PLAIN);
    let write = |policy: Policy, entries: u64| -> Result<f64, BenchError> {
        session.check()?;
        let encoder = PatchEncoder::new(block_bytes, policy);
        let mut source = source.fork(0);
        let us = patch::write(&path, encoder, &mut source, entries, &session.interrupt)?;
        Ok(us)
    };
    let mut counts = [Counts::default(); 2];
    for (policy, counts) in POLICIES.into_iter().zip(&mut counts) {
        write(policy, session.plan.entries)?;
        *counts = prove_plain(&path, entry, block_bytes, policy, session.plan.entries)?;
    }
    let mut runs: [Vec<f64>; 2] = Default::default();
    for repeat in 0..session.plan.repeats {
        for side in in_turn(repeat) {
            // Over a new file each time: the page cache must not know it.
            remove(&path)?;
            let entries = session.plan.entries_timed(entry.user_bytes());
            runs[side].push(write(POLICIES[side], entries)?);
        }
    }
    let blocks = counts[1].file_bytes / u64::from(block_bytes);
    Ok(PaperForm {
        fragment_us: Interval::of(&runs[0]),
        patch_us: Interval::of(&runs[1]),
        difference_us: Interval::of_differences(&runs[1], &runs[0]),
        fragment: counts[0],
        patch: counts[1],
        padding_bytes_a_block: counts[1].padding_bytes as f64 / blocks.max(1) as f64,
    })
}

fn prove_plain(
    path: &Path,
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    entries: u64,
) -> Result<Counts, BenchError> {
    let mut layout = Layout::new(block_bytes, policy, Header::Legacy);
    for _ in 0..entries {
        layout.record(entry.payload_bytes() as u64);
    }
    let measured = audit::count(path, block_bytes, Header::Legacy)?;
    agree(entry, block_bytes, policy, &layout.counts(), &measured)?;
    Ok(measured)
}

fn agree(
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    predicted: &Counts,
    measured: &Counts,
) -> Result<(), BenchError> {
    if predicted == measured {
        return Ok(());
    }
    Err(BenchError::Layout(format!(
        "{} in {block_bytes} B blocks, {policy:?}: {predicted:?} predicted, {measured:?} on disk",
        entry.name()
    )))
}

fn remove(path: &Path) -> Result<(), BenchError> {
    std::fs::remove_file(path).map_err(|source| BenchError::File {
        path: path.to_owned(),
        source,
    })
}
