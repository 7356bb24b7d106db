//! What the connections of a copy share, and one of them.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::dial::Dialer;
use crate::CopyError;
use crate::gate::Gate;
use crate::limit::Limit;
use crate::patience::rest;
use crate::plan::Plan;
use crate::queue::Queue;
use crate::source::database::Source;
use crate::watch::Watch;
use crate::wire::codec::{self, Compression};
use crate::wire::link::Link;
use crate::wire::message::kind;
use crate::wire::pair::Tally;

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
    pub retry_for: Duration,
    pub queue: Queue<u32>,
    pub total: Mutex<Tally>,
}

/// A connection of a copy.
pub(crate) struct Carrier<'a> {
    pub shared: &'a Shared<'a>,
    pub link: Link,
    number: usize,
}

impl<'a> Carrier<'a> {
    /// Connection `number` of the copy.
    pub fn attach(shared: &'a Shared<'a>, number: usize) -> Result<Carrier<'a>, CopyError> {
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
