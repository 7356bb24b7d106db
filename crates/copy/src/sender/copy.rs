//! A copy from its beginning to its end.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::begin::{Beginning, Begun, begin};
use super::dial::{Dialer, Patience};
use super::settings::{Settings, Target};
use super::worker::{Shared, work};
use crate::CopyError;
use crate::gate::Gate;
use crate::keyspace;
use crate::limit::Limit;
use crate::plan::{Hex, Mode, Plan};
use crate::queue::Queue;
use crate::watch::Watch;
use crate::wire::message::kind;
use crate::wire::pair::Tally;

/// A copy that is whole.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How the data travelled.
    pub mode: Mode,
    /// What distinguishes what was copied from anything else.
    pub fingerprint: Hex,
    /// Column families.
    pub column_families: Vec<String>,
    /// Units of the plan.
    pub units: usize,
    /// Units that earlier runs had sent.
    pub units_done_before: usize,
    /// Pairs and bytes that this run sent and the target has compared, and their checksum.
    pub sent: Tally,
    /// From the first unit's beginning to the last one's end, on disk.
    pub send_time: Duration,
    /// From then until the target was whole.
    pub finish_time: Duration,
}

/// Copies. Blocks until the target is whole or nothing more can be done; what is done by then is
/// gone on with by the next call with the same settings.
///
/// # Errors
/// See [`CopyError`].
pub fn copy(settings: &Settings, watch: &Watch) -> Result<Outcome, CopyError> {
    match &settings.target {
        Target::Directory(path) => copy_to(&Dialer::local(path), settings, watch),
        Target::Receiver(address) => {
            copy_to(&Dialer::remote(address, &settings.guard), settings, watch)
        }
        Target::Keyspace(address) => keyspace::copy(address, settings, watch),
    }
}

/// Copies to a receiver.
fn copy_to(dialer: &Dialer, settings: &Settings, watch: &Watch) -> Result<Outcome, CopyError> {
    let begun = match begin(settings, dialer, watch)? {
        Beginning::Begun(begun) => *begun,
        Beginning::Whole(receipt, mode) => {
            watch.notice("the target already holds this copy: nothing to send".to_owned());
            return Ok(Outcome {
                mode,
                fingerprint: receipt.fingerprint,
                column_families: Vec::new(),
                units: 0,
                units_done_before: 0,
                sent: Tally::default(),
                send_time: Duration::ZERO,
                finish_time: Duration::ZERO,
            });
        }
    };
    let began = Instant::now();
    let sent = match send(settings, dialer, &begun, watch) {
        Ok(sent) => sent,
        Err(error) => {
            let Begun {
                checkpoint, source, ..
            } = begun;
            drop(source);
            if matches!(
                error,
                CopyError::Damaged { .. } | CopyError::Unsupported { .. }
            ) {
                // Going on with it would find the same again, even when the source was restored.
                checkpoint.remove()?;
            }
            return Err(error);
        }
    };
    let send_time = began.elapsed();
    finish(settings, dialer, &begun.plan, watch)?;
    let finish_time = began.elapsed() - send_time;
    let Begun {
        checkpoint,
        source,
        plan,
        done,
    } = begun;
    drop(source);
    checkpoint.remove()?;
    Ok(Outcome {
        mode: plan.mode,
        fingerprint: plan.fingerprint,
        column_families: plan.column_families,
        units: plan.units.len(),
        units_done_before: done.len(),
        sent,
        send_time,
        finish_time,
    })
}

/// Sends what is left.
fn send(
    settings: &Settings,
    dialer: &Dialer,
    begun: &Begun,
    watch: &Watch,
) -> Result<Tally, CopyError> {
    let queue = Queue::new(left(&begun.plan, &begun.done, watch));
    let connections = settings.connections.clamp(1, queue.len().max(1));
    watch.lock().running = vec![None; connections];
    let shared = Shared {
        source: &begun.source,
        source_path: &settings.source,
        checkpoint_path: &begun.checkpoint.path,
        plan: &begun.plan,
        dialer,
        watch,
        compression: settings.compression,
        limit: settings.limit_bytes_per_s.map(Limit::new),
        gate: Gate::default(),
        retry_for: settings.retry_for,
        queue,
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

/// The units that are not done, after telling who watches of them all.
pub(crate) fn left(plan: &Plan, done: &[u32], watch: &Watch) -> Vec<u32> {
    let done: BTreeSet<u32> = done.iter().copied().collect();
    let mut left = Vec::new();
    let mut units = watch.lock();
    for (number, unit) in plan.units.iter().enumerate() {
        let number = number as u32;
        units.total += 1;
        units.total_size_bytes += unit.size_bytes();
        if done.contains(&number) {
            units.done += 1;
            units.done_size_bytes += unit.size_bytes();
        } else {
            left.push(number);
        }
    }
    (units.done_before, units.done_before_size_bytes) = (units.done, units.done_size_bytes);
    left
}

/// Has the target made whole.
fn finish(
    settings: &Settings,
    dialer: &Dialer,
    plan: &Plan,
    watch: &Watch,
) -> Result<(), CopyError> {
    let mut patience = Patience::new(settings.retry_for);
    loop {
        let finished = dialer.dial().and_then(|mut link| {
            link.send(kind::FINISH, plan.copy_id.0.to_le_bytes().to_vec())?;
            link.answer(kind::FINISHED)
        });
        match finished {
            Ok(_) => return Ok(()),
            Err(error) => patience.bear(error, watch)?,
        }
    }
}
