//! The beginning of a copy: checkpoint, plan, and what is left to do of it.

use rand::Rng;

use super::choose::{Choice, choose, fits};
use super::dial::Dialer;
use super::files;
use crate::CopyError;
use crate::patience::Patience;
use crate::plan::{FORMAT, Hex, Mode, Plan, Unit};
use crate::settings::Settings;
use crate::source::checkpoint::{Checkpoint, Place};
use crate::source::database::{Source, handle};
use crate::source::ranges::{Table, split};
use crate::source::survey;
use crate::watch::Watch;
use crate::wire::message::{Found, Opened, Receipt, kind};

/// A copy that has begun.
pub(crate) struct Begun {
    pub checkpoint: Checkpoint,
    pub source: Source,
    pub plan: Plan,
    /// Units that need not be sent.
    pub done: Vec<u32>,
}

/// What there is to do.
pub(crate) enum Beginning {
    Begun(Box<Begun>),
    /// Nothing: the target holds this very copy.
    Whole(Box<Receipt>, Mode),
}

/// Asks what is at the target, patiently.
pub(crate) fn look(
    dialer: &Dialer,
    settings: &Settings,
    watch: &Watch,
) -> Result<Found, CopyError> {
    ask(dialer, settings, watch, (kind::LOOK, &[]), kind::FOUND)
}

/// Begins a copy or goes on with one.
pub(crate) fn begin(
    settings: &Settings,
    dialer: &Dialer,
    watch: &Watch,
) -> Result<Beginning, CopyError> {
    // Without a source there is no reason to bother the target.
    crate::source::directory::list(&settings.source)?;
    let found = look(dialer, settings, watch)?;
    let choice = choose(settings, &found)?;
    let target = settings.target.to_string();
    let place = Place::of(settings, &target)?;
    let partial = found.partial.filter(|plan| fits(settings, plan));
    let known = [
        partial.as_ref().map(|plan| plan.fingerprint),
        found.receipt.as_ref().map(|receipt| receipt.fingerprint),
    ];
    let (checkpoint, source, fingerprint) = take(settings, &place, choice.mode, &known, watch)?;
    if let Some(receipt) = found
        .receipt
        .filter(|receipt| receipt.fingerprint == fingerprint)
    {
        drop(source);
        checkpoint.remove()?;
        return Ok(Beginning::Whole(Box::new(receipt), choice.mode));
    }
    let plan = match partial {
        Some(plan) if plan.fingerprint == fingerprint => {
            watch.notice(format!(
                "going on with a copy of which {} of {} units are done",
                found.done,
                plan.units.len()
            ));
            plan
        }
        other => {
            if other.is_some() {
                watch.notice(
                    "the source is not what it was when the copy was begun: starting over"
                        .to_owned(),
                );
            }
            let planned = survey::check(&source, choice.mode, settings, watch)
                .and_then(|()| plan(settings, &choice, &checkpoint, &source, fingerprint));
            match planned {
                Ok(plan) => plan,
                Err(error) => return Err(give_up(checkpoint, source, error)),
            }
        }
    };
    match open(dialer, settings, watch, &plan) {
        Ok(done) => Ok(Beginning::Begun(Box::new(Begun {
            checkpoint,
            source,
            plan,
            done,
        }))),
        Err(error) => Err(give_up(checkpoint, source, error)),
    }
}

/// Nothing was begun, so nothing needs to be kept for going on.
pub(crate) fn give_up(checkpoint: Checkpoint, source: Source, error: CopyError) -> CopyError {
    drop(source);
    // The first error is the one that counts.
    let _ = checkpoint.remove();
    error
}

fn open(
    dialer: &Dialer,
    settings: &Settings,
    watch: &Watch,
    plan: &Plan,
) -> Result<Vec<u32>, CopyError> {
    let body = serde_json::to_vec(plan).map_err(|error| CopyError::Refused(error.to_string()))?;
    let opened: Opened = ask(dialer, settings, watch, (kind::OPEN, &body), kind::OPENED)?;
    Ok(opened.done)
}

/// Asks on a connection of its own, patiently.
fn ask<T: serde::de::DeserializeOwned>(
    dialer: &Dialer,
    settings: &Settings,
    watch: &Watch,
    (kind, body): (u8, &[u8]),
    expected: u8,
) -> Result<T, CopyError> {
    let mut patience = Patience::new(settings.retry_for);
    loop {
        let answered = dialer.dial().and_then(|mut link| {
            link.send(kind, body.to_vec())?;
            let answer = link.answer(expected)?;
            serde_json::from_slice(&answer).map_err(|_| link.out_of_turn(expected))
        });
        match answered {
            Ok(answer) => return Ok(answer),
            Err(error) => patience.bear(error, watch)?,
        }
    }
}

/// The checkpoint that an earlier run left, when the target knows it; else a new one.
pub(crate) fn take(
    settings: &Settings,
    place: &Place,
    mode: Mode,
    known: &[Option<Hex>],
    watch: &Watch,
) -> Result<(Checkpoint, Source, Hex), CopyError> {
    let read = |mut checkpoint: Checkpoint| {
        let families = &settings.column_families;
        let opened = Source::open(&mut checkpoint, &settings.source, families);
        let found = opened.and_then(|source| {
            let fingerprint = source.fingerprint(&checkpoint, mode)?;
            Ok((source, fingerprint))
        });
        match found {
            Ok((source, fingerprint)) => Ok((checkpoint, source, fingerprint)),
            Err(error) => {
                let _ = checkpoint.remove();
                Err(error)
            }
        }
    };
    if known.iter().any(Option::is_some)
        && let Some(checkpoint) = place.left_over()?
        && let Ok(found) = read(checkpoint)
        && known.contains(&Some(found.2))
    {
        watch.notice("using the checkpoint that the earlier run made".to_owned());
        return Ok(found);
    }
    let checkpoint = place.make()?;
    if checkpoint.is_linked_softly {
        watch.notice(
            "hard links to the source are not possible, so it must not change until the end"
                .to_owned(),
        );
    }
    read(checkpoint)
}

pub(crate) fn plan(
    settings: &Settings,
    choice: &Choice,
    checkpoint: &Checkpoint,
    source: &Source,
    fingerprint: Hex,
) -> Result<Plan, CopyError> {
    let units = match choice.mode {
        Mode::Files => files::units(&checkpoint.path, source)?,
        Mode::Ingest | Mode::Insert => ranges(source, settings.range_bytes())?,
    };
    Ok(Plan {
        format: FORMAT,
        copy_id: Hex(rand::rng().random()),
        fingerprint,
        source: settings.source.display().to_string(),
        mode: choice.mode,
        onto: choice.onto,
        column_families: source.column_families.clone(),
        table_compression: settings.table_compression,
        units,
    })
}

/// The ranges of all column families that are copied.
pub(crate) fn ranges(source: &Source, range_bytes: u64) -> Result<Vec<Unit>, CopyError> {
    let mut units = Vec::new();
    for name in &source.column_families {
        let family = handle(&source.db, name)?;
        let tables: Vec<Table> = source
            .files
            .iter()
            .filter(|file| file.column_family_name == *name)
            .map(|file| Table {
                smallest: file.start_key.clone().unwrap_or_default(),
                largest: file.end_key.clone().unwrap_or_default(),
                size_bytes: file.size as u64,
            })
            .collect();
        let ranges = split(name, &tables, range_bytes, |start, end| {
            let between = [rocksdb::Range::new(start, end)];
            let sizes = source.db.get_approximate_sizes_cf(family, &between);
            sizes.first().copied().unwrap_or_default()
        });
        units.extend(ranges.into_iter().map(Unit::Range));
    }
    Ok(units)
}
