//! Sends a range: pairs in order, many in one request, the next request read while one is under way.

use std::collections::VecDeque;
use std::time::Instant;

use dunlin_client::{ClientError, Keyspace, Pairs, PairsBody, Quorum, Stored};
use tokio::task::JoinHandle;

use super::gathered::Gathered;
use super::shared::Shared;
use crate::CopyError;
use crate::gate::{LARGE_BYTES, Permit};
use crate::patience::{Patience, rest};
use crate::plan::{Onto, Range};
use crate::source::checkpoint::elsewhere;
use crate::source::database::{handle, read};
use crate::wire::pair::{Pairs as Encoded, Tally};

/// Pairs are gathered up to this many bytes, unless the nodes make files of larger bodies.
const BODY_BYTES: usize = 1 << 20;
/// Larger bodies of all connections have no more together.
const BODIES_BYTES: usize = 96 << 20;
/// So much of a range is gathered by partition, where it goes in more than one body.
const WINDOW_BYTES: usize = 128 << 20;
/// So many connections do so at a time.
pub(super) const WINDOWS: usize = 2;
/// Bodies of those that are under way at a time.
const BODIES_AT_ONCE: usize = 2;
/// So many small ones are sent before a large one is tried again that did not go as files.
const SMALL_BODIES: u32 = 16;
/// The longest key that a keyspace takes, in bytes.
const KEY_BYTES_MAX: usize = 64 << 10;
/// Bytes of a key that an error shows.
const SHOWN_BYTES: usize = 64;
/// The status of a body that is larger than the node takes.
const TOO_LARGE: u16 = 413;

/// A connection and the requests under way on it.
pub(crate) struct Carrier<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    /// Each begins with another server.
    keyspaces: [Keyspace; BODIES_AT_ONCE],
    under_way: VecDeque<(PairsBody, Answer)>,
    /// How many bodies were sent.
    bodies: usize,
    /// The right to gather a window.
    window: Option<Permit>,
    /// What the nodes take, as far as that is known.
    most_bytes: usize,
    /// Of how many bytes they make good files; 0 where they do not.
    load_bytes: usize,
    /// So many bodies are small, for the last large one went the slow way.
    small: u32,
}

type Answer = JoinHandle<Result<Stored, ClientError>>;

impl<'a> Carrier<'a> {
    /// Connection `number`.
    pub fn new(shared: &'a Shared<'a>, number: usize) -> Result<Carrier<'a>, CopyError> {
        Ok(Carrier {
            shared,
            number,
            keyspaces: [
                shared.cluster.keyspace(number)?,
                shared.cluster.keyspace(number + 1)?,
            ],
            under_way: VecDeque::new(),
            bodies: 0,
            window: None,
            most_bytes: usize::MAX,
            load_bytes: match shared.settings.onto {
                Onto::Empty => usize::try_from(shared.keyspace.load_bytes).unwrap_or(0),
                _ => 0,
            },
            small: 0,
        })
    }

    /// Sends all pairs of `range`; answers what they come to once the cluster has them.
    pub fn send(&mut self, range: &Range) -> Result<Tally, CopyError> {
        let source = self.shared.source;
        let family = handle(&source.db, &range.column_family)?;
        let (start, end) = (range.start.as_ref(), range.end.as_ref());
        let is_large = source.is_large(range);
        let mut permit: Option<Permit> = is_large.then(|| self.shared.gate.wait());
        let mut tally = Tally::default();
        let mut gathered = self.gather(range, is_large);
        let mut pairs = source
            .db
            .raw_iterator_cf_opt(family, read(start, end, is_large));
        pairs.seek_to_first();
        while let Some((key, value)) = pairs.item() {
            if key.is_empty() || key.len() > KEY_BYTES_MAX {
                let reason = format!(
                    "has {} bytes, and a keyspace takes keys of 1 to {KEY_BYTES_MAX}",
                    key.len()
                );
                return Err(unfit(range, key, reason));
            }
            if value.len() > LARGE_BYTES && permit.is_none() {
                permit = self.shared.gate.try_take();
                if permit.is_none() {
                    // Others hold large values: this one is read again when they are through.
                    let key = key.to_vec();
                    drop(pairs);
                    permit = Some(self.shared.gate.wait());
                    pairs = source
                        .db
                        .raw_iterator_cf_opt(family, read(start, end, true));
                    pairs.seek(&key);
                    continue;
                }
            }
            if value.len() > LARGE_BYTES
                && (gathered.len() > 1 || gathered.bytes_max() > BODY_BYTES)
            {
                self.begin_all(&mut gathered, range)?;
                self.settle(range)?;
                gathered = self.gather(range, true);
            }
            let encoded = gathered.push(key, value);
            tally.add(encoded.map_err(|error| CopyError::Cluster(error.into()))?);
            let body_bytes = self.body_bytes(range, permit.is_some(), gathered.len());
            if let Some(full) = gathered.take_full(key, body_bytes) {
                self.begin(full, range)?;
                // The next one would take as much memory again.
                if permit.is_some() || (body_bytes > BODY_BYTES && self.window.is_none()) {
                    self.settle(range)?;
                }
                if gathered.len() > 1 && self.load_bytes == 0 {
                    self.begin_all(&mut gathered, range)?;
                }
                if gathered.is_empty() {
                    gathered = self.gather(range, permit.is_some());
                }
            }
            pairs.next();
        }
        pairs.status().map_err(|error| {
            let error = CopyError::database(source.db.path(), &error);
            elsewhere(error, self.shared.source_path)
        })?;
        self.begin_all(&mut gathered, range)?;
        self.settle(range)?;
        self.window = None;
        Ok(tally)
    }

    /// Begins to gather: in several bodies where that makes better files, once it is this connection's turn.
    fn gather(&mut self, range: &Range, is_large: bool) -> Gathered {
        let best = self.load_bytes as u64;
        let bodies = match is_large || best <= BODY_BYTES as u64 || best > self.most_bytes as u64 {
            true => 1,
            false => range
                .size_bytes
                .div_ceil(best)
                .min(WINDOW_BYTES as u64 / best),
        };
        let partitions = self.shared.keyspace.settings.partitions;
        let gathered = Gathered::new(bodies as usize, partitions);
        self.window = match gathered.len() > 1 {
            true => self
                .window
                .take()
                .or_else(|| Some(self.shared.windows.wait())),
            false => None,
        };
        gathered
    }

    /// Of how many bytes to make each of so many bodies.
    fn body_bytes(&self, range: &Range, is_large: bool, bodies: usize) -> usize {
        let connections = self.shared.settings.connections.max(1);
        let best = match is_large {
            true => 0,
            false if bodies > 1 => self.load_bytes,
            false => self.load_bytes.min(BODIES_BYTES / connections),
        };
        let bytes = match best > BODY_BYTES {
            true if bodies > 1 => best,
            true => even(range.size_bytes, best),
            false => BODY_BYTES,
        };
        bytes.min(self.most_bytes)
    }

    /// Takes note of what the nodes made of a body.
    fn heard(&mut self, stored: &Stored, body: &PairsBody) {
        self.shared.watch.loaded(stored.loaded);
        self.small = match stored.loaded == 0 && body.body().len() > 2 * BODY_BYTES {
            true => SMALL_BODIES,
            false => self.small.saturating_sub(1),
        };
        // What is written over does not go as files.
        self.load_bytes = match self.shared.settings.onto {
            Onto::Empty if self.small == 0 => usize::try_from(stored.load_bytes).unwrap_or(0),
            _ => 0,
        };
    }

    /// Sends all that is gathered.
    fn begin_all(&mut self, gathered: &mut Gathered, range: &Range) -> Result<(), CopyError> {
        let mut bodies = gathered.take_all().into_iter();
        bodies.try_for_each(|body| self.begin(body, range))
    }

    /// Sends a body as soon as one before is answered.
    fn begin(&mut self, body: PairsBody, range: &Range) -> Result<(), CopyError> {
        let at_once = match self.window {
            Some(_) => BODIES_AT_ONCE,
            None => 1,
        };
        while self.under_way.len() >= at_once {
            self.settle_first(range)?;
        }
        if let Some(limit) = &self.shared.limit {
            let pause = limit.take(body.body().len(), Instant::now());
            rest(pause, self.shared.watch)?;
        }
        self.shared.check()?;
        let answer = self.post(body.clone());
        self.under_way.push_back((body, answer));
        Ok(())
    }

    fn post(&mut self, body: PairsBody) -> Answer {
        // Nodes make one body's files at a time.
        let turn = match self.window {
            Some(_) => self.bodies % BODIES_AT_ONCE,
            None => 0,
        };
        self.bodies += 1;
        let keyspace = self.keyspaces[turn].clone();
        let post = async move { keyspace.bulk(&body, Quorum::default()).await };
        self.shared.cluster.handle().spawn(post)
    }

    /// Waits until the cluster has all that is under way.
    fn settle(&mut self, range: &Range) -> Result<(), CopyError> {
        while !self.under_way.is_empty() {
            self.settle_first(range)?;
        }
        Ok(())
    }

    /// Waits until the cluster has the first that is under way; sends it again when that may help.
    fn settle_first(&mut self, range: &Range) -> Result<(), CopyError> {
        let Some((body, answer)) = self.under_way.pop_front() else {
            return Ok(());
        };
        let shared = self.shared;
        let mut patience = Patience::new(shared.settings.retry_for);
        let mut left = vec![body];
        let mut answer = Some(answer);
        while let Some(body) = left.pop() {
            let waiting = match answer.take() {
                Some(waiting) => waiting,
                None => self.post(body.clone()),
            };
            match shared.cluster.answered(waiting) {
                Ok(stored) => {
                    self.heard(&stored, &body);
                    let wire_bytes = body.body().len() as u64;
                    let watch = shared.watch;
                    watch.sent(self.number, body.pairs(), body.bytes(), wire_bytes);
                    patience = Patience::new(shared.settings.retry_for);
                }
                Err(ClientError::Refused {
                    status: TOO_LARGE, ..
                }) => {
                    let halves = halves(&body, range)?;
                    self.most_bytes = self.most_bytes.min(body.body().len() / 2);
                    left.extend(halves.into_iter().rev());
                }
                Err(error) => {
                    patience.bear(shared.cluster.failed(error), shared.watch)?;
                    shared.check()?;
                    // What does not go as files may take longer than an attempt lasts.
                    match body.body().len() > 2 * BODY_BYTES && body.pairs() > 1 {
                        true => left.extend(halves(&body, range)?.into_iter().rev()),
                        false => left.push(body),
                    }
                }
            }
        }
        Ok(())
    }
}

/// How many bytes to gather so that a range makes bodies of about one size, of `most` at most: a small last
/// one would not go as files.
fn even(range_bytes: u64, most: usize) -> usize {
    let bodies = range_bytes.div_ceil(most as u64).max(1);
    // Lengths come on top, and what a range holds is an estimate.
    let each = range_bytes / bodies;
    ((each + each / 8) as usize).clamp(BODY_BYTES, most)
}

/// The pairs of a body that was too large in two; fails when there is only one.
fn halves(body: &PairsBody, range: &Range) -> Result<[PairsBody; 2], CopyError> {
    let half = body.pairs() / 2;
    let (mut first, mut second) = (Pairs::default(), Pairs::default());
    for (number, pair) in Encoded(body.encoded()).flatten().enumerate() {
        if body.pairs() == 1 {
            let reason = format!(
                "has a value of {} bytes, larger than the nodes take; start them with --max-body",
                pair.value.len()
            );
            return Err(unfit(range, pair.key, reason));
        }
        let into = match (number as u64) < half {
            true => &mut first,
            false => &mut second,
        };
        into.push(pair.key, pair.value)
            .map_err(|error| CopyError::Cluster(error.into()))?;
    }
    Ok([first.seal(), second.seal()])
}

/// A pair that no keyspace takes.
pub(crate) fn unfit(range: &Range, key: &[u8], reason: String) -> CopyError {
    let shown = key.get(..SHOWN_BYTES).unwrap_or(key);
    let more = if shown.len() < key.len() { ".." } else { "" };
    CopyError::Unfit {
        column_family: range.column_family.clone(),
        key: format!("{}{more}", shown.escape_ascii()),
        reason,
    }
}
