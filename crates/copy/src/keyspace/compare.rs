//! Reads source and keyspace beside each other, range by range.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use super::cluster::Cluster;
use super::merge::Compared;
use super::pages::Pages;
use crate::CopyError;
use crate::gate::Gate;
use crate::plan::{Onto, Range, Unit};
use crate::queue::Queue;
use crate::sender::Settings;
use crate::source::checkpoint::elsewhere;
use crate::source::database::{Source, handle, read};
use crate::watch::Watch;
use crate::wire::pair::Tally;

/// Pairs between two looks at whether somebody wants to stop.
const STEP: u64 = 1024;

struct Comparing<'a> {
    settings: &'a Settings,
    cluster: &'a Cluster,
    source: &'a Source,
    watch: &'a Watch,
    gate: Gate,
    queue: Queue<&'a Unit>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    tally: Tally,
    additional: u64,
    ranges: usize,
    first: Option<String>,
}

/// Compares all of `units`; answers what the source holds. `is_shown` is whether what is read
/// counts as the copy's progress.
///
/// # Errors
/// [`CopyError::Different`], and what can go wrong while reading.
pub(crate) fn compare(
    settings: &Settings,
    cluster: &Cluster,
    source: &Source,
    units: &[Unit],
    watch: &Watch,
    is_shown: bool,
) -> Result<Tally, CopyError> {
    let connections = settings.connections.clamp(1, units.len().max(1));
    let mut progress = watch.lock();
    progress.running = vec![None; connections];
    if is_shown {
        progress.total = units.len();
        progress.total_size_bytes = units.iter().map(Unit::size_bytes).sum();
    } else {
        progress.compared = Some(0);
    }
    drop(progress);
    let comparing = Comparing {
        settings,
        cluster,
        source,
        watch,
        gate: Gate::default(),
        queue: Queue::new(units),
        found: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for number in 0..connections {
            let comparing = &comparing;
            scope.spawn(move || {
                if let Err(error) = comparing.work(number, is_shown) {
                    comparing.queue.fail(error);
                }
            });
        }
    });
    comparing.queue.end()?;
    let found = comparing.found.into_inner();
    let found = found.unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = found.first {
        return Err(CopyError::Different {
            ranges: found.ranges,
            of: units.len(),
            first,
        });
    }
    if found.additional > 0 {
        watch.notice(format!(
            "the keyspace holds {} keys that the source does not have",
            found.additional
        ));
    }
    Ok(found.tally)
}

impl Comparing<'_> {
    fn work(&self, number: usize, is_shown: bool) -> Result<(), CopyError> {
        while let Some(unit) = self.queue.next() {
            let Unit::Range(range) = unit else { continue };
            if let Some(slot) = self.watch.lock().running.get_mut(number) {
                *slot = Some((unit.to_string(), unit.size_bytes(), 0));
            }
            let compared = self.range(number, range, is_shown)?;
            let mut units = self.watch.lock();
            match &mut units.compared {
                Some(compared) => *compared += 1,
                None => {
                    units.done += 1;
                    units.done_size_bytes += unit.size_bytes();
                }
            }
            drop(units);
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.tally.merge(&compared.ours);
            found.additional += compared.additional;
            if compared.ours != compared.theirs {
                found.ranges += 1;
                let first = compared.first.unwrap_or_default();
                let (ours, theirs) = (compared.ours.pairs, compared.theirs.pairs);
                let line = format!("{unit}, {ours} pairs against {theirs}: {first}");
                found.first.get_or_insert(line);
            }
        }
        Ok(())
    }

    fn range(&self, number: usize, range: &Range, is_shown: bool) -> Result<Compared, CopyError> {
        let is_merged = self.settings.onto == Onto::Merge;
        let is_large = self.source.is_large(range);
        let _permit = is_large.then(|| self.gate.wait());
        let keyspace = self.cluster.keyspace(number)?;
        let mut theirs = Pages::new(self.cluster, keyspace, range, self.settings.retry_for);
        let db = &self.source.db;
        let family = handle(db, &range.column_family)?;
        let bounds = read(range.start.as_ref(), range.end.as_ref(), is_large);
        let mut ours = db.raw_iterator_cf_opt(family, bounds);
        ours.seek_to_first();
        let mut compared = Compared::default();
        let mut told = Tally::default();
        let mut next = theirs.next(self.watch)?;
        while let Some((key, value)) = ours.item() {
            let order = next.as_ref().map(|entry| entry.key[..].cmp(key));
            match (order, &next) {
                (Some(Ordering::Less), Some(entry)) => {
                    compared.only_theirs(&entry.key, &entry.value, is_merged);
                    next = theirs.next(self.watch)?;
                    continue;
                }
                (Some(Ordering::Equal), Some(entry)) => {
                    compared.ours(key, value, Some(&entry.value));
                    next = theirs.next(self.watch)?;
                }
                _ => compared.ours(key, value, None),
            }
            ours.next();
            if compared.ours.pairs.is_multiple_of(STEP) {
                self.look(number, &compared.ours, &mut told, is_shown)?;
            }
        }
        ours.status().map_err(|error| {
            let error = CopyError::database(db.path(), &error);
            elsewhere(error, &self.settings.source)
        })?;
        while let Some(entry) = next {
            compared.only_theirs(&entry.key, &entry.value, is_merged);
            if compared.additional.is_multiple_of(STEP) {
                self.queue.check(self.watch)?;
            }
            next = theirs.next(self.watch)?;
        }
        self.look(number, &compared.ours, &mut told, is_shown)?;
        Ok(compared)
    }

    fn look(
        &self,
        number: usize,
        ours: &Tally,
        told: &mut Tally,
        is_shown: bool,
    ) -> Result<(), CopyError> {
        if is_shown {
            let (pairs, bytes) = (ours.pairs - told.pairs, ours.bytes - told.bytes);
            self.watch.sent(number, pairs, bytes, 0);
            *told = *ours;
        }
        self.queue.check(self.watch)
    }
}
