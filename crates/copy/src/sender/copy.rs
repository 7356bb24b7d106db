//! A copy to a receiver from its beginning to its end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::begin::{Beginning, Begun, begin};
use super::carrier::Shared;
use super::dial::Dialer;
use super::left::left;
use super::worker::work;
use crate::CopyError;
use crate::gate::Gate;
use crate::limit::Limit;
use crate::outcome::{Check, Outcome};
use crate::patience::Patience;
use crate::plan::Plan;
use crate::queue::Queue;
use crate::settings::Settings;
use crate::watch::Watch;
use crate::wire::message::kind;
use crate::wire::pair::Tally;

/// Copies to a receiver.
pub(crate) fn copy(
    dialer: &Dialer,
    settings: &Settings,
    watch: &Watch,
) -> Result<Outcome, CopyError> {
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
                check: Check::Units,
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
        check: Check::Units,
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
