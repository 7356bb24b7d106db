//! Compares source and target, range by range, without copying anything.

use std::sync::{Mutex, PoisonError};

use super::begin::{look, ranges};
use super::dial::{Dialer, Patience};
use super::settings::{Settings, Target};
use crate::CopyError;
use crate::keyspace;
use crate::plan::{Onto, Unit};
use crate::queue::Queue;
use crate::receiver::digest::digest;
use crate::source::checkpoint::{Place, elsewhere};
use crate::source::database::Source;
use crate::watch::Watch;
use crate::wire::link::Link;
use crate::wire::message::{self, DigestRequest, Holds, kind};
use crate::wire::pair::Tally;

/// What was compared and found equal.
#[derive(Debug, Clone)]
pub struct Verified {
    /// Ranges compared.
    pub ranges: usize,
    /// Column families.
    pub column_families: Vec<String>,
    /// What they hold.
    pub tally: Tally,
}

struct Compared {
    tally: Tally,
    different: Vec<String>,
}

/// Reads source and target and compares them, range by range. A target that holds more than the
/// source differs, unless it is a keyspace and the settings say that it was merged into.
///
/// # Errors
/// [`CopyError::Different`], and what can go wrong while reading.
pub fn verify(settings: &Settings, watch: &Watch) -> Result<Verified, CopyError> {
    match &settings.target {
        Target::Keyspace(address) => keyspace::verify(address, settings, watch),
        target if settings.onto != Onto::Empty => Err(CopyError::Refused(format!(
            "{target} can only be compared as a whole; --merge goes with --verify-only for \
             keyspaces alone"
        ))),
        Target::Directory(path) => verify_at(&Dialer::local(path), settings, watch),
        Target::Receiver(address) => verify_at(&Dialer::remote(address), settings, watch),
    }
}

/// Compares with what is at a receiver.
fn verify_at(dialer: &Dialer, settings: &Settings, watch: &Watch) -> Result<Verified, CopyError> {
    crate::source::directory::list(&settings.source)?;
    let target = &settings.target;
    let found = look(dialer, settings, watch)?;
    if let Some(plan) = found.partial {
        return Err(CopyError::Refused(format!(
            "{target} is partial: {} of {} units are there; copy again to go on",
            found.done,
            plan.units.len()
        )));
    }
    if found.holds != Holds::Database {
        return Err(CopyError::Refused(format!("{target} holds no database")));
    }
    let label = format!("verify {target}");
    let directory = settings.checkpoint_directory.as_deref();
    let mut checkpoint = Place::new(&settings.source, &label, directory)?.make()?;
    let compared = Source::open(&mut checkpoint, &settings.source, &settings.column_families)
        .and_then(|source| {
            let units = ranges(&source, settings.range_bytes)?;
            Ok((
                compare(settings, dialer, &source, &units, watch)?,
                units,
                source.column_families,
            ))
        });
    let removed = checkpoint.remove();
    let (compared, units, column_families) = compared?;
    removed?;
    match compared.different.first() {
        Some(first) => Err(CopyError::Different {
            ranges: compared.different.len(),
            of: units.len(),
            first: first.clone(),
        }),
        None => Ok(Verified {
            ranges: units.len(),
            column_families,
            tally: compared.tally,
        }),
    }
}

fn compare(
    settings: &Settings,
    dialer: &Dialer,
    source: &Source,
    units: &[Unit],
    watch: &Watch,
) -> Result<Compared, CopyError> {
    let connections = settings.connections.clamp(1, units.len().max(1));
    let mut progress = watch.lock();
    progress.total = units.len();
    progress.total_size_bytes = units.iter().map(Unit::size_bytes).sum();
    progress.running = vec![None; connections];
    drop(progress);
    let queue = Queue::new(units);
    let compared = Mutex::new(Compared {
        tally: Tally::default(),
        different: Vec::new(),
    });
    std::thread::scope(|scope| {
        for number in 0..connections {
            let (queue, compared) = (&queue, &compared);
            scope.spawn(move || {
                let mut link = None;
                while let Some(unit) = queue.next() {
                    let result = one(settings, dialer, source, unit, watch, number, &mut link);
                    let mut compared = compared.lock().unwrap_or_else(PoisonError::into_inner);
                    match result {
                        Ok((ours, theirs)) => {
                            compared.tally.merge(&ours);
                            if ours != theirs {
                                compared.different.push(format!(
                                    "{unit}, {} pairs against {}",
                                    ours.pairs, theirs.pairs
                                ));
                            }
                        }
                        Err(error) => {
                            queue.fail(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    queue.end()?;
    let compared = compared.into_inner();
    Ok(compared.unwrap_or_else(PoisonError::into_inner))
}

/// What source and target hold of a range.
fn one(
    settings: &Settings,
    dialer: &Dialer,
    source: &Source,
    unit: &Unit,
    watch: &Watch,
    number: usize,
    link: &mut Option<Link>,
) -> Result<(Tally, Tally), CopyError> {
    let Unit::Range(range) = unit else {
        return Ok((Tally::default(), Tally::default()));
    };
    if let Some(slot) = watch.lock().running.get_mut(number) {
        *slot = Some((unit.to_string(), unit.size_bytes(), 0));
    }
    let request = DigestRequest {
        column_family: range.column_family.clone(),
        start: range.start.clone(),
        end: range.end.clone(),
    };
    // The target reads its part while the source's is read here.
    let mut patience = Patience::new(settings.retry_for);
    let mut ours = None;
    let theirs = loop {
        let asked = ask(dialer, link, &request).and_then(|()| {
            if ours.is_none() {
                let (start, end) = (range.start.as_ref(), range.end.as_ref());
                let read = digest(
                    &source.db,
                    &range.column_family,
                    start,
                    end,
                    |pairs, bytes| {
                        watch.sent(number, pairs, bytes, 0);
                        watch.check()
                    },
                );
                ours = Some(read.map_err(|error| elsewhere(error, &settings.source))?);
            }
            answered(link)
        });
        match asked {
            Ok(theirs) => break theirs,
            Err(error) => {
                *link = None;
                patience.bear(error, watch)?;
            }
        }
    };
    let mut units = watch.lock();
    units.done += 1;
    units.done_size_bytes += unit.size_bytes();
    Ok((ours.unwrap_or_default(), theirs))
}

fn ask(dialer: &Dialer, link: &mut Option<Link>, request: &DigestRequest) -> Result<(), CopyError> {
    let link = match link {
        Some(link) => link,
        none => none.insert(dialer.dial()?),
    };
    link.send(kind::DIGEST, request.encode())?;
    Ok(())
}

fn answered(link: &mut Option<Link>) -> Result<Tally, CopyError> {
    let Some(link) = link else {
        return Ok(Tally::default());
    };
    let body = link.answer(kind::DIGESTED)?;
    message::decode_tally(&body).map_err(|_| link.out_of_turn(kind::DIGESTED))
}
