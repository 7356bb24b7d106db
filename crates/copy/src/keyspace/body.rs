//! Sends a range: pairs in order, many in one request, the next request read while one is under way.

use std::time::Instant;

use dunlin_client::{ClientError, Keyspace, Pairs, PairsBody, Quorum, Stored};
use tokio::task::JoinHandle;

use super::shared::Shared;
use crate::CopyError;
use crate::gate::{LARGE_BYTES, Permit};
use crate::patience::{Patience, rest};
use crate::plan::Range;
use crate::source::checkpoint::elsewhere;
use crate::source::database::{handle, read};
use crate::wire::pair::{Pairs as Encoded, Tally};

/// Pairs are gathered up to this many bytes.
const BODY_BYTES: usize = 1 << 20;
/// Room for the pair that fills a body.
const ROOM_BYTES: usize = 64 << 10;
/// The longest key that a keyspace takes, in bytes.
const KEY_BYTES_MAX: usize = 64 << 10;
/// Bytes of a key that an error shows.
const SHOWN_BYTES: usize = 64;
/// The status of a body that is larger than the node takes.
const TOO_LARGE: u16 = 413;

/// A connection and the request under way on it.
pub(crate) struct Carrier<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    keyspace: Keyspace,
    under_way: Option<(PairsBody, Answer)>,
    /// What the nodes take, as far as that is known.
    most_bytes: usize,
}

type Answer = JoinHandle<Result<Stored, ClientError>>;

impl<'a> Carrier<'a> {
    /// Connection `number`.
    pub fn new(shared: &'a Shared<'a>, number: usize) -> Result<Carrier<'a>, CopyError> {
        Ok(Carrier {
            shared,
            number,
            keyspace: shared.cluster.keyspace(number)?,
            under_way: None,
            most_bytes: BODY_BYTES,
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
        let mut gathered = room();
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
            let encoded = gathered.push(key, value);
            tally.add(encoded.map_err(|error| CopyError::Cluster(error.into()))?);
            if gathered.encoded_bytes() >= self.most_bytes {
                let full = std::mem::replace(&mut gathered, room()).seal();
                self.begin(full, range)?;
                if permit.is_some() {
                    // The next one would take as much memory again.
                    self.settle(range)?;
                }
            }
            pairs.next();
        }
        pairs.status().map_err(|error| {
            let error = CopyError::database(source.db.path(), &error);
            elsewhere(error, self.shared.source_path)
        })?;
        if !gathered.is_empty() {
            self.begin(gathered.seal(), range)?;
        }
        self.settle(range)?;
        Ok(tally)
    }

    /// Sends a body as soon as the one before is answered.
    fn begin(&mut self, body: PairsBody, range: &Range) -> Result<(), CopyError> {
        self.settle(range)?;
        if let Some(limit) = &self.shared.limit {
            let pause = limit.take(body.body().len(), Instant::now());
            rest(pause, self.shared.watch)?;
        }
        self.shared.check()?;
        let answer = self.post(body.clone());
        self.under_way = Some((body, answer));
        Ok(())
    }

    fn post(&self, body: PairsBody) -> Answer {
        let keyspace = self.keyspace.clone();
        let post = async move { keyspace.bulk(&body, Quorum::default()).await };
        self.shared.cluster.handle().spawn(post)
    }

    /// Waits until the cluster has what is under way; sends it again when that may help.
    fn settle(&mut self, range: &Range) -> Result<(), CopyError> {
        let Some((body, answer)) = self.under_way.take() else {
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
                Ok(_) => {
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
                    left.push(body);
                }
            }
        }
        Ok(())
    }
}

fn room() -> Pairs {
    Pairs::with_capacity(BODY_BYTES + ROOM_BYTES)
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
        let into = if (number as u64) < half {
            &mut first
        } else {
            &mut second
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
