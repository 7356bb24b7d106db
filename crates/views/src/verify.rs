//! Whether an index is what its keyspace's records make of it: all is computed anew beside it, and compared at the
//! position that the index had, while writes go on.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use dunlin_changes::{Merged, Told};
use dunlin_entry::{Entry, Position};
use dunlin_log::Runner;
use dunlin_node::Services;
use dunlin_proto::api::{PartitionSum, ViewDifference, ViewVerified};
use dunlin_proto::{CANNOT, Response, Token};
use dunlin_rpc::Sink;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Duration, Instant, timeout_at};

use crate::build::{follow_here, path_of};
use crate::collate;
use crate::hash::hash_of;
use crate::index::{Index, IndexError, Place};
use crate::plug::AtShard;
use crate::reduce::{Aggregate, Reduce, counts_for};
use crate::row::{
    AGGREGATE, DOCUMENT, Known, ROW, after, document_of, of_document, of_row, place_of,
};
use crate::scan::Snapshot;
use crate::view::is_past;

/// Differences are named up to so many.
const SHOWN: usize = 10;
/// Documents, or rows, that are compared in one go.
const COMPARED: usize = 2_000;
/// How often it is said how far it is.
const SAY: Duration = Duration::from_millis(500);

/// The first report of a shard.
fn started(at: String) -> ViewVerified {
    ViewVerified {
        at,
        ..ViewVerified::default()
    }
}

/// The report of a shard without a result.
pub(crate) fn failed(at: String, error: String) -> ViewVerified {
    ViewVerified {
        is_done: true,
        error: Some(error),
        ..started(at)
    }
}

/// Verifies for another shard, and says each time how far it is.
pub(crate) async fn serve(services: Rc<Services>, mut body: Bytes, mut sink: Sink<Response>) {
    let asked = body.try_get_u32_le().ok().zip(body.try_get_u32_le().ok());
    let Some((keyspace, view)) = asked else {
        return sink.refuse(CANNOT, "malformed bytes from another shard");
    };
    let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
    let verify = here(&services, keyspace, view, say);
    let send = async {
        while let Some(verified) = said.recv().await {
            let line = serde_json::to_vec(&verified).unwrap_or_default();
            if sink.send(Response::Plug(line.into())).await.is_err() {
                return;
            }
        }
        sink.end();
    };
    tokio::join!(verify, send);
}

/// Verifies this shard's index.
pub(crate) async fn here(
    services: &Rc<Services>,
    keyspace: u32,
    view: u32,
    say: UnboundedSender<ViewVerified>,
) {
    let mut verified = started(services.label_of(services.shard().address()));
    if let Err(error) = verify(services, keyspace, view, &mut verified, &say).await {
        verified.error = Some(error.to_string());
    }
    verified.is_done = true;
    // Who asked may be gone.
    let _ = say.send(verified);
}

async fn verify(
    services: &Rc<Services>,
    keyspace: u32,
    id: u32,
    verified: &mut ViewVerified,
    say: &UnboundedSender<ViewVerified>,
) -> Result<(), IndexError> {
    let absent = || IndexError::Io("this shard has no index of the view to compare yet".to_owned());
    let own = AtShard::of(services).ok_or_else(absent)?;
    let view = own.view(keyspace, id).ok_or_else(absent)?;
    let runner = view.runner.clone();
    let live = Arc::new(Snapshot::new(
        view.database().ok_or_else(absent)?,
        view.reduce,
    ));
    let token = live.token()?.ok_or_else(absent)?;
    let building = live.building()?;
    let named = token.vectors().map(|(partition, _)| partition);
    let is_whole = |p: &u16| token.within(*p).is_none() && !building.contains(p);
    let whole: BTreeSet<u16> = named.filter(is_whole).collect();
    if whole.is_empty() {
        return Err(absent());
    }
    let kept: Vec<u16> = whole.iter().copied().collect();
    let token = token.narrow(&kept);
    verified.token = Some(token.to_string());
    let path = path_of(services, keyspace, id).with_extension("verify");
    let _guard = own.verifying(&path).ok_or_else(|| {
        IndexError::Io(
            "the view is being verified already: try again when that has ended".to_owned(),
        )
    })?;
    // A function that keeps something from one document for the next is seen to do so.
    let place = Place {
        is_backwards: true,
        ..Place::of(services, &view, path.clone())
    };
    let mut anew = run(&runner, move || {
        Index::remove(&place.path)?;
        Index::open(&place)
    })
    .await?;
    anew = read_again(services, keyspace, &runner, anew, &kept, verified, say).await?;
    let other = Arc::new(Snapshot::new(anew.db.clone(), view.reduce));
    drop(anew);
    let positions = positions_of(services, keyspace, &token);
    let comparison = Comparison {
        live,
        other,
        whole,
        token,
    };
    let compared = compare(&runner, Arc::new(comparison), positions, verified, say).await;
    let removed = run(&runner, move || Index::remove(&path)).await;
    compared.and(removed)
}

/// Makes an index of all there is.
async fn read_again(
    services: &Rc<Services>,
    keyspace: u32,
    runner: &Runner,
    mut anew: Index,
    partitions: &[u16],
    verified: &mut ViewVerified,
    say: &UnboundedSender<ViewVerified>,
) -> Result<Index, IndexError> {
    let end = services.log_last();
    let who = "verification of a view".to_owned();
    let from = Merged::beginning(services, keyspace);
    let mut merged = follow_here(services, keyspace, partitions.to_vec(), from, who);
    let mut filled = 0_usize;
    let mut say_at = Instant::now();
    loop {
        if Instant::now() >= say_at {
            say_at = Instant::now() + SAY;
            verified.read = filled as f64 / partitions.len().max(1) as f64;
            let _ = say.send(verified.clone());
        }
        if say.is_closed() {
            return Err(IndexError::Io("nobody waits for the result".to_owned()));
        }
        let Ok(told) = timeout_at(say_at, merged.next()).await else {
            continue;
        };
        let entries: Vec<Entry> = match told {
            Told::Entries(changes) => changes.iter().map(|change| Entry::clone(change)).collect(),
            Told::Records { records, ends, .. } => {
                filled += usize::from(ends);
                records
            }
            Told::Done | Told::Dropped => {
                return Err(IndexError::Io("the keyspace is gone".to_owned()));
            }
            Told::PutBack => return Err(IndexError::Io("the log was put back".to_owned())),
            Told::Beat | Told::Moved { .. } => Vec::new(),
        };
        let Some(token) = merged.token() else {
            continue;
        };
        let is_within = |partition: &u16| token.within(*partition).is_some();
        let is_done =
            !partitions.iter().any(is_within) && is_past(services, &token, partitions, end);
        anew = run(runner, move || {
            anew.apply(&entries, &token)?;
            Ok(anew)
        })
        .await?;
        if is_done {
            verified.read = 1.0;
            return Ok(anew);
        }
    }
}

/// Two indexes, one of which is at a position, the other at or behind it.
pub(crate) struct Comparison {
    pub live: Arc<Snapshot>,
    pub other: Arc<Snapshot>,
    pub whole: BTreeSet<u16>,
    pub token: Token,
}

/// What was found in one go.
#[derive(Default)]
pub(crate) struct Found {
    documents: u64,
    rows: u64,
    changed: u64,
    pub differences: Vec<ViewDifference>,
    /// Sums over the documents of partitions.
    sums: BTreeMap<u16, u64>,
    /// Where it goes on.
    next: Option<Vec<u8>>,
}

/// A sum over the position of each partition: what those who write it have written.
fn positions_of(services: &Services, keyspace: u32, token: &Token) -> BTreeMap<u16, u64> {
    let positions = token.vectors().map(|(partition, vector)| {
        let mut named: Vec<u8> = Vec::new();
        let writers = vector.iter();
        for (origin, version) in
            writers.filter(|(origin, _)| services.may_write(keyspace, partition, *origin))
        {
            named.extend_from_slice(&origin.0.to_le_bytes());
            named.extend_from_slice(&version.0.to_le_bytes());
        }
        (partition, hash_of(&[&named]))
    });
    positions.collect()
}

async fn compare(
    runner: &Runner,
    comparison: Arc<Comparison>,
    positions: BTreeMap<u16, u64>,
    verified: &mut ViewVerified,
    say: &UnboundedSender<ViewVerified>,
) -> Result<(), IndexError> {
    type Go = fn(&Comparison, Vec<u8>) -> Result<Found, IndexError>;
    let goes: [(u8, Go); 2] = [(DOCUMENT, Comparison::documents), (ROW, Comparison::rows)];
    let mut say_at = Instant::now() + SAY;
    let mut sums: BTreeMap<u16, u64> = positions.keys().map(|p| (*p, 0)).collect();
    for (kind, go) in goes {
        let mut next = Some(vec![kind]);
        while let Some(from) = next {
            let comparison = comparison.clone();
            let found = run(runner, move || go(&comparison, from)).await?;
            verified.documents += found.documents;
            verified.rows += found.rows;
            verified.changed += found.changed;
            for (partition, more) in found.sums {
                let sum = sums.entry(partition).or_default();
                *sum = sum.wrapping_add(more);
            }
            verified.differences += found.differences.len() as u64;
            let room = SHOWN.saturating_sub(verified.examples.len());
            verified
                .examples
                .extend(found.differences.into_iter().take(room));
            if say.is_closed() {
                return Err(IndexError::Io("nobody waits for the result".to_owned()));
            }
            if Instant::now() >= say_at {
                say_at = Instant::now() + SAY;
                let _ = say.send(verified.clone());
            }
            next = found.next;
        }
    }
    let sums = positions
        .into_iter()
        .map(|(partition, position)| PartitionSum {
            partition,
            position,
            rows: sums.get(&partition).copied().unwrap_or(0),
        });
    verified.partitions = sums.collect();
    Ok(())
}

impl Comparison {
    /// Compares documents from a database key on.
    pub fn documents(&self, from: Vec<u8>) -> Result<Found, IndexError> {
        let mut found = Found::default();
        let upper = after(&[DOCUMENT]);
        let mut live = self.live.iterate(from.clone(), upper.clone());
        let mut other = self.other.iterate(from, upper);
        live.seek_to_first();
        other.seek_to_first();
        let mut count = 0;
        loop {
            let key = match (live.key(), other.key()) {
                (None, None) => break,
                (Some(key), None) | (None, Some(key)) => key.to_vec(),
                (Some(a), Some(b)) => a.min(b).to_vec(),
            };
            if count == COMPARED {
                found.next = Some(key);
                return Ok(found);
            }
            count += 1;
            let known = |iter: &rocksdb::DBRawIterator<'_>, reduce| {
                let value = iter.value().filter(|_| iter.key() == Some(&key[..]));
                value.map(|value| decode(reduce, value)).transpose()
            };
            let a = known(&live, self.live.reduce)?;
            let b = known(&other, self.other.reduce)?;
            let (partition, id) = document_of(&key).ok_or_else(|| damaged("a document's key"))?;
            if self.whole.contains(&partition) {
                found.documents += 1;
                if let Some(known) = a
                    .as_ref()
                    .filter(|known| !known.rows.is_empty() || known.has_failed)
                {
                    let sum = found.sums.entry(partition).or_default();
                    *sum = sum.wrapping_add(self.sum_of(id, known)?);
                }
                if let Some(what) =
                    self.document(partition, id, a.as_ref(), b.as_ref(), &mut found)?
                {
                    found.differences.push(ViewDifference {
                        of: String::from_utf8_lossy(id).into_owned(),
                        what,
                    });
                }
            }
            if a.is_some() {
                live.next();
            }
            if b.is_some() {
                other.next();
            }
        }
        live.status()?;
        other.status()?;
        Ok(found)
    }

    /// A sum over a document of the live index: its order among changes, its rows and their values.
    fn sum_of(&self, id: &[u8], known: &Known) -> Result<u64, IndexError> {
        let own = known.encode(self.live.reduce);
        let mut sum = hash_of(&[id, &own]);
        for (n, (key, _)) in known.rows.iter().enumerate() {
            let value = self.live.get(&of_row(&place_of(key, id, n as u16)))?;
            sum = sum.wrapping_add(hash_of(&[id, key, &value.unwrap_or_default()]));
        }
        Ok(sum)
    }

    /// What differs of one document.
    fn document(
        &self,
        partition: u16,
        id: &[u8],
        live: Option<&Known>,
        other: Option<&Known>,
        found: &mut Found,
    ) -> Result<Option<String>, IndexError> {
        // Whether the position that is compared at has seen it.
        let is_seen = |known: &Known| {
            let at = Position::of(known.rank.stamp(), known.logged.as_ref());
            let is_own =
                known.rank.replaces().is_none() && known.rank.with_expiry(false) == known.rank;
            let vector = self.token.vector(partition);
            is_own && vector.is_some_and(|vector| vector.get(at.origin) >= at.sequence)
        };
        let has_any = |known: &Known| !known.rows.is_empty() || known.has_failed;
        match (live, other) {
            (Some(live), Some(other)) if live.rank == other.rank => {
                found.rows += live.rows.len() as u64;
                self.rows_of(id, live, other)
            }
            (Some(live), Some(other)) if live.rank > other.rank => {
                Ok(Some("it is newer than what the log has".to_owned()))
            }
            (Some(_), Some(other)) if is_seen(other) => {
                Ok(Some("an older version of it is indexed".to_owned()))
            }
            (None, Some(other)) if has_any(other) && is_seen(other) => {
                Ok(Some("it is not indexed".to_owned()))
            }
            (None, Some(other)) if !has_any(other) => Ok(None),
            (Some(live), None) if has_any(live) => Ok(Some(
                "it is indexed, and there is no such document".to_owned(),
            )),
            (Some(_), None) => Ok(None),
            _ => {
                found.changed += 1;
                Ok(None)
            }
        }
    }

    fn rows_of(
        &self,
        id: &[u8],
        live: &Known,
        other: &Known,
    ) -> Result<Option<String>, IndexError> {
        if live != other {
            return Ok(Some(
                "its rows have other keys, or other numbers".to_owned(),
            ));
        }
        for (n, (key, _)) in live.rows.iter().enumerate() {
            let key = of_row(&place_of(key, id, n as u16));
            match (self.live.get(&key)?, self.other.get(&key)?) {
                (Some(a), Some(b)) if a == b => {}
                (None, _) => return Ok(Some("a row of it is missing".to_owned())),
                _ => return Ok(Some("a row of it has another value".to_owned())),
            }
        }
        Ok(None)
    }

    /// Compares rows with their documents, and what is kept of keys with their rows, from a database key on.
    pub fn rows(&self, from: Vec<u8>) -> Result<Found, IndexError> {
        let mut found = Found::default();
        let reduce = self.live.reduce.filter(|reduce| reduce.is_kept());
        let mut rows = self.live.iterate(from.clone(), after(&[ROW]));
        rows.seek_to_first();
        let mut kept = self
            .live
            .iterate([&[AGGREGATE], &from[1..]].concat(), after(&[AGGREGATE]));
        kept.seek_to_first();
        let mut count = 0;
        // All rows of the next key.
        while let Some(key) = rows.key().map(key_of) {
            let key = key?;
            if count >= COMPARED {
                found.next = Some([&[ROW], &key[..]].concat());
                return Ok(found);
            }
            let mut sums: BTreeMap<u16, Aggregate> = BTreeMap::new();
            while let Some((place, mut value)) = rows.item() {
                if key_of(place)? != key {
                    break;
                }
                count += 1;
                let partition = value.try_get_u16_le().map_err(|_| damaged("a row"))?;
                let (_, id) = crate::row::row_of(&place[1..]).ok_or_else(|| damaged("a row"))?;
                let document = self.live.get(&of_document(DOCUMENT, partition, &id))?;
                let document = document
                    .map(|value| decode(self.live.reduce, &value))
                    .transpose()?;
                if !document.is_some_and(|known| known.rows.iter().any(|(own, _)| *own == key)) {
                    found.differences.push(ViewDifference {
                        of: String::from_utf8_lossy(&id).into_owned(),
                        what: "there is a row too many of it".to_owned(),
                    });
                }
                if let Some(reduce) = reduce {
                    let value = std::str::from_utf8(value).map_err(|_| damaged("a row"))?;
                    let number = counts_for(Some(reduce), value);
                    sums.entry(partition).or_default().add(reduce, number);
                }
                rows.next();
            }
            let Some(reduce) = reduce else { continue };
            let mut have: BTreeMap<u16, Aggregate> = BTreeMap::new();
            while let Some((at, value)) = kept.item() {
                let (at, partition) = at.split_at(at.len().saturating_sub(2));
                let at = at.get(1..).unwrap_or_default();
                if *at > *key {
                    break;
                }
                if *at == *key {
                    let [a, b] = partition.try_into().map_err(|_| damaged("a sum"))?;
                    let sum = Aggregate::decode(reduce, &mut &value[..]);
                    let sum = sum.ok_or_else(|| damaged("a sum"))?;
                    have.insert(u16::from_be_bytes([a, b]), sum);
                } else {
                    found.differences.push(without_rows(at));
                }
                kept.next();
            }
            if have != sums {
                found.differences.push(ViewDifference {
                    of: collate::decode(&key).unwrap_or_default(),
                    what: "what its rows are reduced to is not what they are".to_owned(),
                });
            }
        }
        while let Some(at) = kept.key().filter(|_| reduce.is_some()) {
            let key = at.get(1..at.len().saturating_sub(2)).unwrap_or_default();
            found.differences.push(without_rows(key));
            kept.next();
        }
        rows.status()?;
        kept.status()?;
        Ok(found)
    }
}

fn without_rows(key: &[u8]) -> ViewDifference {
    ViewDifference {
        of: collate::decode(key).unwrap_or_default(),
        what: "there are no rows of this key, and a sum".to_owned(),
    }
}

fn key_of(row: &[u8]) -> Result<Vec<u8>, IndexError> {
    let place = row.get(1..).unwrap_or_default();
    let length = collate::length(place).map_err(|_| damaged("a row's key"))?;
    Ok(place[..length].to_vec())
}

fn decode(reduce: Option<Reduce>, value: &[u8]) -> Result<Known, IndexError> {
    Known::decode(reduce, value).ok_or_else(|| damaged("a document"))
}

fn damaged(what: &str) -> IndexError {
    IndexError::Damaged(format!("{what} cannot be read"))
}

async fn run<T: Send + 'static>(
    runner: &Runner,
    job: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, IndexError> {
    runner.run_behind(job).await?
}
