//! Reads source and keyspace beside each other, range by range.

use std::sync::{Mutex, PoisonError};

use super::cluster::Cluster;
use super::merge::Compared;
use super::pages::Pages;
use crate::CopyError;
use crate::gate::Gate;
use crate::plan::{Onto, Range, Unit};
use crate::queue::Queue;
use crate::settings::Settings;
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

/// Compares all of `units`; answers what the source holds.
///
/// # Errors
/// [`CopyError::Different`], and what can go wrong while reading.
pub(crate) fn compare(
    settings: &Settings,
    cluster: &Cluster,
    source: &Source,
    units: &[Unit],
    watch: &Watch,
) -> Result<Tally, CopyError> {
    let connections = settings.connections.clamp(1, units.len().max(1));
    watch.comparing(units, connections);
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
                if let Err(error) = comparing.work(number) {
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
    fn work(&self, number: usize) -> Result<(), CopyError> {
        while let Some(unit) = self.queue.next() {
            let Unit::Range(range) = unit else { continue };
            self.watch.begun(number, unit);
            let compared = self.range(number, range)?;
            self.watch.compared(number, unit.size_bytes());
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

    fn range(&self, number: usize, range: &Range) -> Result<Compared, CopyError> {
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
            match next.take() {
                Some((their_key, their_value)) if their_key[..] < *key => {
                    compared.only_theirs(&their_key, &their_value, is_merged);
                    drop(their_value);
                    next = theirs.next(self.watch)?;
                    continue;
                }
                Some((their_key, their_value)) if their_key[..] == *key => {
                    compared.ours(key, value, Some(&their_value));
                    drop(their_value);
                    // Both forget a large value before either reads the next.
                    ours.next();
                    next = theirs.next(self.watch)?;
                }
                later => {
                    compared.ours(key, value, None);
                    next = later;
                    ours.next();
                }
            }
            if compared.ours.pairs.is_multiple_of(STEP) {
                self.look(number, &compared.ours, &mut told)?;
            }
        }
        ours.status().map_err(|error| {
            let error = CopyError::database(db.path(), &error);
            elsewhere(error, &self.settings.source)
        })?;
        while let Some((key, value)) = next.take() {
            compared.only_theirs(&key, &value, is_merged);
            drop(value);
            if compared.additional.is_multiple_of(STEP) {
                self.queue.check(self.watch)?;
            }
            next = theirs.next(self.watch)?;
        }
        self.look(number, &compared.ours, &mut told)?;
        Ok(compared)
    }

    fn look(&self, number: usize, ours: &Tally, told: &mut Tally) -> Result<(), CopyError> {
        let (pairs, bytes) = (ours.pairs - told.pairs, ours.bytes - told.bytes);
        self.watch.looked_at(number, pairs, bytes);
        *told = *ours;
        self.queue.check(self.watch)
    }
}
