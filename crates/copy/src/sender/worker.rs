//! One connection of a sender: takes unit after unit until none is left.

use std::sync::PoisonError;

use super::carrier::{Carrier, Shared};
use super::{part, range};
use crate::CopyError;
use crate::patience::Patience;
use crate::plan::Unit;
use crate::wire::message::{self, kind};
use crate::wire::pair::Tally;

/// Times a unit may arrive otherwise than it was sent.
const MISMATCHES_MAX: u32 = 3;

/// Sends units until none is left or one cannot be sent. `number` is this connection's.
pub(crate) fn work(shared: &Shared<'_>, number: usize) {
    let mut carrier = None;
    while let Some(unit) = shared.queue.next() {
        if let Err(error) = carry(shared, number, &mut carrier, unit) {
            shared.queue.fail(error);
            return;
        }
    }
}

/// Sends a unit, again when the connection breaks.
fn carry<'a>(
    shared: &'a Shared<'a>,
    number: usize,
    carrier: &mut Option<Carrier<'a>>,
    unit_number: u32,
) -> Result<(), CopyError> {
    let Some(unit) = shared.plan.units.get(unit_number as usize) else {
        return Ok(());
    };
    let mut patience = Patience::new(shared.retry_for);
    let mut mismatches = 0;
    loop {
        shared.queue.check(shared.watch)?;
        shared.watch.begun(number, unit);
        let attached = match carrier.take() {
            Some(attached) => Ok(attached),
            None => Carrier::attach(shared, number),
        };
        let attempt =
            attached.and_then(|attached| send(carrier.insert(attached), unit_number, unit));
        match attempt {
            Ok(tally) => {
                shared.watch.finished(number, unit.size_bytes());
                let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
                total.merge(&tally);
                return Ok(());
            }
            Err(CopyError::Mismatch { what }) => {
                *carrier = None;
                mismatches += 1;
                if mismatches >= MISMATCHES_MAX {
                    return Err(CopyError::Mismatch { what });
                }
                shared.watch.retry();
            }
            Err(error) => {
                *carrier = None;
                patience.bear(error, shared.watch)?;
            }
        }
    }
}

/// Sends a unit once; answers what it comes to.
fn send(carrier: &mut Carrier<'_>, number: u32, unit: &Unit) -> Result<Tally, CopyError> {
    match send_once(carrier, number, unit) {
        // What the receiver said before it hung up is the better reason.
        Err(CopyError::Lost { peer, detail }) => match carrier.link.answer(kind::DONE) {
            Err(CopyError::Lost { .. }) | Ok(_) => Err(CopyError::Lost { peer, detail }),
            Err(said) => Err(said),
        },
        other => other,
    }
}

fn send_once(carrier: &mut Carrier<'_>, number: u32, unit: &Unit) -> Result<Tally, CopyError> {
    carrier
        .link
        .send(kind::BEGIN, number.to_le_bytes().to_vec())?;
    // The receiver puts what is large on disk at the end: nobody sends more meanwhile.
    let (tally, _permit) = match unit {
        Unit::Range(range) => range::send(carrier, range)?,
        Unit::Part(part) => (part::send(carrier, part)?, None),
    };
    carrier
        .link
        .send(kind::END, message::encode_tally(&tally))?;
    carrier.link.answer(kind::DONE)?;
    Ok(tally)
}
