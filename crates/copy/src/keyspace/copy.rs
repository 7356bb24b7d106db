//! A copy into a keyspace from its beginning to its end, and comparing alone.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::address::KeyspaceAddress;
use super::body::unfit;
use super::cluster::Cluster;
use super::compare::compare;
use super::memory::{Memory, Remembered, recall};
use super::shared::Shared;
use super::worker::work;
use crate::CopyError;
use crate::gate::Gate;
use crate::limit::Limit;
use crate::outcome::{Check, Outcome, Verified};
use crate::plan::{Mode, Onto, Plan, Range};
use crate::queue::Queue;
use crate::sender::begin::{give_up, plan, ranges, take};
use crate::sender::choose::{Choice, fits};
use crate::sender::left::left;
use crate::settings::Settings;
use crate::source::checkpoint::{Checkpoint, Place};
use crate::source::database::{Source, handle};
use crate::source::directory;
use crate::source::survey;
use crate::watch::Watch;
use crate::wire::codec::Compression;
use crate::wire::pair::Tally;

/// The column family that is copied when none is named.
const DEFAULT_FAMILY: &str = "default";

/// Copies into a keyspace, then compares, unless told otherwise. Blocks until all is there or nothing more can be done.
pub(crate) fn copy(
    address: &KeyspaceAddress,
    settings: &Settings,
    watch: &Watch,
) -> Result<Outcome, CopyError> {
    directory::list(&settings.source)?;
    let settings = &fitted(address, settings)?;
    let cluster = Cluster::new(address)?;
    let id = cluster.describe(settings, watch)?.id;
    let begun = begin(address, settings, &cluster, id, watch)?;
    let units_done_before = begun.done().len();
    let began = Instant::now();
    let (sent, send_time) = match send(settings, &cluster, &begun, watch) {
        Ok(sent) => (sent, began.elapsed()),
        Err(error) => return Err(stop(address, begun, error)),
    };
    let check = match check(settings, &cluster, &begun, watch) {
        Ok(check) => check,
        Err(error) => return Err(stop(address, begun, error)),
    };
    let Begun {
        checkpoint,
        source,
        plan,
        memory,
    } = begun;
    drop(source);
    // What is remembered goes last: with it alone, the next run has nothing left to send.
    checkpoint.remove()?;
    let memory = memory.into_inner();
    memory.unwrap_or_else(PoisonError::into_inner).forget()?;
    Ok(Outcome {
        mode: plan.mode,
        fingerprint: plan.fingerprint,
        column_families: plan.column_families,
        units: plan.units.len(),
        units_done_before,
        sent,
        send_time,
        finish_time: Duration::ZERO,
        check,
    })
}

/// Compares a keyspace with the source, without copying anything.
pub(crate) fn verify(
    address: &KeyspaceAddress,
    settings: &Settings,
    watch: &Watch,
) -> Result<Verified, CopyError> {
    directory::list(&settings.source)?;
    let settings = &fitted(address, settings)?;
    let cluster = Cluster::new(address)?;
    let id = cluster.describe(settings, watch)?.id;
    let target = address.to_string();
    let copying = Place::of(settings, &target)?;
    if let Some(Remembered { plan, done }) = recall(copying.paths(), id)? {
        return Err(CopyError::Refused(format!(
            "{target} is partial: {done} of {} units are there; copy again to go on",
            plan.units.len()
        )));
    }
    let label = format!("verify {target}");
    let mut checkpoint = Place::of(settings, &label)?.make()?;
    let families = &settings.column_families;
    let compared = Source::open_as_it_is(&mut checkpoint, &settings.source, families)
        .and_then(|source| {
            let units = ranges(&source, settings.range_bytes())?;
            let tally = compare(settings, &cluster, &source, &units, watch)?;
            Ok((tally, units.len()))
        })
        .and_then(|compared| {
            survey::all(&mut checkpoint, settings, watch)?;
            Ok(compared)
        });
    let removed = checkpoint.remove();
    let (tally, ranges) = compared?;
    removed?;
    Ok(Verified {
        ranges,
        column_families: families.clone(),
        tally,
    })
}

/// A copy that has begun.
struct Begun {
    checkpoint: Checkpoint,
    source: Source,
    plan: Plan,
    memory: Mutex<Memory>,
}

impl Begun {
    /// Units that the cluster has.
    fn done(&self) -> Vec<u32> {
        let memory = self.memory.lock();
        memory.unwrap_or_else(PoisonError::into_inner).done()
    }
}

/// The settings with what a keyspace leaves no choice about, or why they do not fit one.
fn fitted(address: &KeyspaceAddress, settings: &Settings) -> Result<Settings, CopyError> {
    let refused = |why: &str| {
        Err(CopyError::Refused(format!(
            "{address} is a keyspace: {why}"
        )))
    };
    if let Some(mode @ (Mode::Files | Mode::Ingest)) = settings.mode {
        return refused(&format!(
            "every pair goes through the cluster's log, so --mode {mode} does not apply"
        ));
    }
    if settings.onto == Onto::Replace {
        return refused("--replace does not apply; drop it and create it again");
    }
    if settings.compression != Compression::None {
        return refused("pairs are sent to it as they are, so --compress does not apply");
    }
    let mut settings = settings.clone();
    settings.mode = Some(Mode::Insert);
    match settings.column_families.as_slice() {
        [] => settings.column_families = vec![DEFAULT_FAMILY.to_owned()],
        [_] => {}
        several => {
            let several = several.join(", ");
            return refused(&format!(
                "it takes one column family, and --cf names {several}"
            ));
        }
    }
    Ok(settings)
}

/// Goes on with a copy or begins one.
fn begin(
    address: &KeyspaceAddress,
    settings: &Settings,
    cluster: &Cluster,
    id: u32,
    watch: &Watch,
) -> Result<Begun, CopyError> {
    let place = Place::of(settings, &address.to_string())?;
    let mut remembered = recall(place.paths(), id)?.filter(|left| fits(settings, &left.plan));
    if remembered.as_ref().is_some_and(|left| left.done > 0) && cluster.is_empty(settings, watch)? {
        // A number is given out once in a cluster, but this may be another cluster.
        watch.notice("the keyspace is empty again: starting over".to_owned());
        remembered = None;
    }
    let must_be_empty = |why: &str| {
        if settings.onto != Onto::Merge && !cluster.is_empty(settings, watch)? {
            Err(CopyError::Refused(format!(
                "{address} is not empty{why}; --merge adds to it, --verify-only compares"
            )))
        } else {
            Ok(())
        }
    };
    if remembered.is_none() {
        must_be_empty("")?;
    }
    let known = [remembered.as_ref().map(|left| left.plan.fingerprint)];
    let (checkpoint, source, fingerprint) = take(settings, &place, Mode::Insert, &known, watch)?;
    let planned = match remembered {
        Some(Remembered { plan, done }) if plan.fingerprint == fingerprint => {
            watch.notice(format!(
                "going on with a copy of which {done} of {} units are done",
                plan.units.len()
            ));
            Ok(plan)
        }
        other => other
            .map_or(Ok(()), |_| {
                watch.notice("the source is not what it was when the copy was begun".to_owned());
                must_be_empty(" but holds a part of what the source was")
            })
            .and_then(|()| check_first_key(&source))
            .and_then(|()| survey::check(&source, Mode::Insert, settings, watch))
            .and_then(|()| {
                let choice = Choice {
                    mode: Mode::Insert,
                    onto: settings.onto,
                };
                plan(settings, &choice, &checkpoint, &source, fingerprint)
            }),
    };
    let opened = planned.and_then(|plan| {
        let memory = Memory::open(&checkpoint.path, id, &plan)?;
        Ok((plan, memory))
    });
    match opened {
        Ok((plan, memory)) => {
            tell_of_others(settings, &source, &checkpoint, watch);
            Ok(Begun {
                checkpoint,
                source,
                plan,
                memory: Mutex::new(memory),
            })
        }
        Err(error) => Err(give_up(checkpoint, source, error)),
    }
}

/// Column families that nobody asked for are worth a word.
fn tell_of_others(settings: &Settings, source: &Source, checkpoint: &Checkpoint, watch: &Watch) {
    let options = rocksdb::Options::default();
    // What cannot be listed has just been opened, so there is nothing to say.
    let all = rocksdb::DB::list_cf(&options, &checkpoint.path).unwrap_or_default();
    let others: Vec<String> = all
        .into_iter()
        .filter(|name| !settings.column_families.contains(name))
        .collect();
    if !others.is_empty() {
        watch.notice(format!(
            "copying column family {}; a keyspace takes one, so these are left out: {}",
            source.column_families.join(", "),
            others.join(", ")
        ));
    }
}

/// An empty key is the first, so it is known before anything is sent.
fn check_first_key(source: &Source) -> Result<(), CopyError> {
    for name in &source.column_families {
        let family = handle(&source.db, name)?;
        let found = source.db.get_pinned_cf(family, b"");
        let found = found.map_err(|error| CopyError::database(source.db.path(), &error))?;
        if found.is_some() {
            let range = Range {
                column_family: name.clone(),
                start: None,
                end: None,
                size_bytes: 0,
            };
            let reason = "is empty, and a keyspace takes no empty key; delete it first";
            return Err(unfit(&range, b"", reason.to_owned()));
        }
    }
    Ok(())
}

/// Sends what is left.
fn send(
    settings: &Settings,
    cluster: &Cluster,
    begun: &Begun,
    watch: &Watch,
) -> Result<Tally, CopyError> {
    let queue = Queue::new(left(&begun.plan, &begun.done(), watch));
    let connections = settings.connections.clamp(1, queue.len().max(1));
    watch.lock().running = vec![None; connections];
    let shared = Shared {
        settings,
        cluster,
        source: &begun.source,
        source_path: &settings.source,
        plan: &begun.plan,
        watch,
        limit: settings.limit_bytes_per_s.map(Limit::new),
        gate: Gate::default(),
        queue,
        memory: &begun.memory,
        total: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for number in 0..connections {
            let shared = &shared;
            scope.spawn(move || work(shared, number));
        }
    });
    shared.queue.end()?;
    let total = shared.total.into_inner();
    Ok(total.unwrap_or_else(PoisonError::into_inner))
}

/// Compares what was sent, and what earlier runs had sent, unless the settings want no comparison.
fn check(
    settings: &Settings,
    cluster: &Cluster,
    begun: &Begun,
    watch: &Watch,
) -> Result<Check, CopyError> {
    if !settings.is_compared {
        return Ok(Check::Nothing);
    }
    watch.notice("all is sent; comparing source and keyspace".to_owned());
    let began = Instant::now();
    let tally = compare(settings, cluster, &begun.source, &begun.plan.units, watch)?;
    Ok(Check::Pairs {
        tally,
        time: began.elapsed(),
    })
}

/// The error of a copy that is not whole, with how far it came.
fn stop(address: &KeyspaceAddress, begun: Begun, error: CopyError) -> CopyError {
    let (done, of) = (begun.done().len(), begun.plan.units.len());
    let is_source = matches!(
        error,
        CopyError::Damaged { .. } | CopyError::Unsupported { .. } | CopyError::Unfit { .. }
    );
    let is_different = matches!(error, CopyError::Different { .. });
    let Begun {
        checkpoint,
        source,
        memory,
        ..
    } = begun;
    drop(source);
    // The first error is the one that counts.
    if is_source || is_different {
        // Going on with it would find the same again, even when the source was restored.
        let _ = checkpoint.remove();
    }
    if is_different {
        // Somebody wrote to the keyspace meanwhile. No unit is left that could mend it.
        let memory = memory.into_inner();
        let _ = memory.unwrap_or_else(PoisonError::into_inner).forget();
    }
    match error {
        CopyError::Different { .. } => error,
        error => CopyError::Partial {
            target: address.to_string(),
            done,
            of,
            error: Box::new(error),
        },
    }
}
