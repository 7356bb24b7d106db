//! One connection of a sender: takes unit after unit until none is left.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::dial::{Dialer, Patience, rest};
use super::{part, range};
use crate::CopyError;
use crate::gate::Gate;
use crate::limit::Limit;
use crate::plan::{Plan, Unit};
use crate::queue::Queue;
use crate::source::database::Source;
use crate::watch::Watch;
use crate::wire::codec::{self, Compression};
use crate::wire::link::Link;
use crate::wire::message::{self, kind};
use crate::wire::pair::Tally;

/// Times a unit may arrive otherwise than it was sent.
const MISMATCHES_MAX: u32 = 3;

/// What the connections of a copy share.
pub(crate) struct Shared<'a> {
    pub source: &'a Source,
    pub source_path: &'a Path,
    pub checkpoint_path: &'a Path,
    pub plan: &'a Plan,
    pub dialer: &'a Dialer,
    pub watch: &'a Watch,
    pub compression: Compression,
    pub limit: Option<Limit>,
    pub gate: Gate,
    pub retry_for: std::time::Duration,
    pub queue: Queue<u32>,
    pub total: Mutex<Tally>,
}

/// A connection and the unit it carries.
pub(crate) struct Carrier<'a> {
    pub shared: &'a Shared<'a>,
    link: Link,
    number: usize,
}

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
            attached.and_then(|attached| carrier.insert(attached).unit(unit_number, unit));
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

impl<'a> Carrier<'a> {
    fn attach(shared: &'a Shared<'a>, number: usize) -> Result<Carrier<'a>, CopyError> {
        let mut link = shared.dialer.dial()?;
        let id = shared.plan.copy_id.0.to_le_bytes().to_vec();
        link.send(kind::ATTACH, id)?;
        link.answer(kind::OPENED)?;
        Ok(Carrier {
            shared,
            link,
            number,
        })
    }

    fn unit(&mut self, number: u32, unit: &Unit) -> Result<Tally, CopyError> {
        match self.send_unit(number, unit) {
            // What the receiver said before it hung up is the better reason.
            Err(CopyError::Lost { peer, detail }) => match self.link.answer(kind::DONE) {
                Err(CopyError::Lost { .. }) | Ok(_) => Err(CopyError::Lost { peer, detail }),
                Err(said) => Err(said),
            },
            other => other,
        }
    }

    fn send_unit(&mut self, number: u32, unit: &Unit) -> Result<Tally, CopyError> {
        self.link.send(kind::BEGIN, number.to_le_bytes().to_vec())?;
        // The receiver puts what is large on disk at the end: nobody sends more meanwhile.
        let (tally, _permit) = match unit {
            Unit::Range(range) => range::send(self, range)?,
            Unit::Part(part) => (part::send(self, part)?, None),
        };
        self.link.send(kind::END, message::encode_tally(&tally))?;
        self.link.answer(kind::DONE)?;
        Ok(tally)
    }

    /// Sends a frame of data: `pairs` and `bytes` of it, behind room for the prefix.
    pub fn data(
        &mut self,
        kind: u8,
        buffer: Vec<u8>,
        pairs: u64,
        bytes: u64,
    ) -> Result<(), CopyError> {
        let body = codec::pack(buffer, self.shared.compression);
        if let Some(limit) = &self.shared.limit {
            rest(limit.take(body.len(), Instant::now()), self.shared.watch)?;
        }
        self.shared.queue.check(self.shared.watch)?;
        let sent = self.link.send(kind, body)?;
        self.shared
            .watch
            .sent(self.number, pairs, bytes, sent as u64);
        Ok(())
    }
}
