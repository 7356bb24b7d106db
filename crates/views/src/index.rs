//! The index of one view at one shard: a database of rows, and the token that they reflect in the same batch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes};
use dunlin_entry::{Entry, Kind, Version};
use dunlin_log::Gone;
use dunlin_node::{Sabotage, Services};
use dunlin_proto::Token;
use dunlin_store::SharedResources;
use rocksdb::{DB, Direction, ErrorKind, IteratorMode, Options, WriteBatch, WriteOptions};

use crate::blocks::Blocks;
use crate::engine::{EngineError, ScriptError};
use crate::engines::{Engines, Mapper};
use crate::map::{Document, Emitted};
use crate::reduce::{Aggregate, NO_NUMBER, Reduce, counts_for};
use crate::row::{AGGREGATE, ROW};
use crate::row::{
    BUILDING, COUNTS, DOCUMENT, Known, MADE_BY, TOKEN, delete_of, document_of, of_aggregate,
    of_delete, of_document, of_row, place_of,
};
use crate::row::{DELETE, FAILURE};
use crate::view::View;

/// One that was made in another way is made anew.
const FORMAT: u32 = 2;
/// Characters of many scripts, whose order changes when Unicode's does.
const PROBE: &str =
    "\"aA\u{e4}\u{3b1}\u{431}\u{5d0}\u{628}\u{915}\u{4e2d}\u{ac00}\u{1f600} -_1\u{fff0}\"";
/// Rows are kept in memory up to here.
const MEMTABLE_BYTES: usize = 16 << 20;
/// Files that are kept open: there may be many views.
const OPEN_FILES: i32 = 32;
/// Documents that are removed at once.
const REMOVED_AT_ONCE: usize = 500;

/// Why an index is not what it should be.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IndexError {
    /// It is to be made anew.
    #[error("the index is damaged and is built anew: {0}")]
    Damaged(String),
    /// It is to be tried again.
    #[error("the index cannot be written or read: {0}")]
    Io(String),
    /// The function is to be corrected.
    #[error("the reduce function fails: {0}")]
    Reduce(String),
}

impl From<rocksdb::Error> for IndexError {
    fn from(error: rocksdb::Error) -> IndexError {
        match error.kind() {
            ErrorKind::Corruption | ErrorKind::InvalidArgument | ErrorKind::NotFound => {
                IndexError::Damaged(error.into_string())
            }
            _ => IndexError::Io(error.into_string()),
        }
    }
}

impl From<EngineError> for IndexError {
    fn from(error: EngineError) -> IndexError {
        match error {
            EngineError::Script(error) => IndexError::Reduce(error.to_string()),
            EngineError::Lost(_) => IndexError::Io(error.to_string()),
        }
    }
}

impl From<Gone> for IndexError {
    fn from(gone: Gone) -> IndexError {
        IndexError::Io(gone.to_string())
    }
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Documents that have rows.
    pub documents: u64,
    /// Their rows.
    pub rows: u64,
    /// Documents that were skipped, for their map function failed.
    pub failed: u64,
    /// Rows whose values are no numbers, where sums are kept of them.
    pub others: u64,
    /// Writes of the index.
    pub writes: u64,
}

/// A document that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Its key.
    pub id: Bytes,
    /// Version of what it was.
    pub version: Version,
    /// Why.
    pub reason: String,
}

/// Where an index is, and of what.
#[derive(Clone)]
pub struct Place {
    /// Its directory.
    pub path: PathBuf,
    /// Source of its map function.
    pub map: String,
    /// How its rows are reduced.
    pub reduce: Option<Reduce>,
    /// Where that runs.
    pub engines: Engines,
    /// Whether documents that come at once are mapped from the last to the first.
    pub is_backwards: bool,
    /// What it shares with other databases.
    pub resources: SharedResources,
    /// Whether the database may work on threads of its own.
    pub has_background: bool,
    /// Deliberate bug, for the simulation only.
    pub sabotage: Sabotage,
}

impl Place {
    /// Of a view at a shard.
    pub(crate) fn of(services: &Services, view: &View, path: PathBuf) -> Place {
        Place {
            path,
            map: view.record.map.clone(),
            engines: view.engines,
            is_backwards: false,
            reduce: view.reduce,
            resources: services.resources().clone(),
            has_background: services.has_background(),
            sabotage: services.sabotage(),
        }
    }
}

/// An index.
pub struct Index {
    pub(crate) db: Arc<DB>,
    /// Sums of stretches, for readers.
    pub(crate) blocks: Arc<Blocks>,
    reduce: Option<Reduce>,
    map: Mapper,
    is_backwards: bool,
    counts: Counts,
    /// Rows of each partition.
    rows: BTreeMap<u16, u64>,
    /// Partitions that are not whole yet.
    building: BTreeSet<u16>,
    token: Option<Token>,
    sabotage: Sabotage,
}

impl Index {
    /// Opens the index there is, or begins one: also where there is one that was made in another way, or is damaged.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn open(place: &Place) -> Result<Index, IndexError> {
        match Self::open_as_is(place) {
            Err(IndexError::Damaged(why)) => {
                tracing::warn!(index = %place.path.display(), why, "an index is built anew");
                Self::remove(&place.path)?;
                Self::open_as_is(place)
            }
            opened => opened,
        }
    }

    /// Removes all of one that is not open.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn remove(path: &Path) -> Result<(), IndexError> {
        if path.exists() {
            Ok(DB::destroy(&Options::default(), path)?)
        } else {
            Ok(())
        }
    }

    fn open_as_is(place: &Place) -> Result<Index, IndexError> {
        let map = Mapper::new(place.engines, &place.map);
        let map = map.map_err(|error| IndexError::Io(error.to_string()))?;
        let mut options = place.resources.database_beside(MEMTABLE_BYTES);
        options.set_max_open_files(OPEN_FILES);
        // Most documents that come are not there yet.
        options.set_memtable_whole_key_filtering(true);
        options.set_memtable_prefix_bloom_ratio(0.05);
        if !place.has_background {
            options.set_disable_auto_compactions(true);
            // What ends there ends as in a crash.
            options = options.get_options_from_string("avoid_flush_during_shutdown=true")?;
        }
        let db = DB::open(&options, &place.path)?;
        let damaged = |what: &str| IndexError::Damaged(format!("{what} cannot be read"));
        let made_by = made_by(place);
        match db.get(MADE_BY)? {
            Some(found) if found == made_by => {}
            Some(_) => return Err(IndexError::Damaged("it was made in another way".into())),
            None => db.put_opt(MADE_BY, &made_by, &write_options())?,
        }
        let mut index = Index {
            db: Arc::new(db),
            blocks: Arc::default(),
            reduce: place.reduce,
            map,
            is_backwards: place.is_backwards,
            counts: Counts::default(),
            rows: BTreeMap::new(),
            building: BTreeSet::new(),
            token: None,
            sabotage: place.sabotage,
        };
        if let Some(bytes) = index.db.get(COUNTS)? {
            let mut bytes = &bytes[..];
            index.counts = Counts::decode(&mut bytes).ok_or_else(|| damaged("its counts"))?;
            index.rows = rows_of(bytes).collect();
        }
        if let Some(bytes) = index.db.get(TOKEN)? {
            let token = Token::decode(bytes.into()).map_err(|_| damaged("its token"))?;
            index.token = Some(token);
        }
        for item in index
            .db
            .iterator(IteratorMode::From(&[BUILDING], Direction::Forward))
        {
            let (key, _) = item?;
            match *key {
                [BUILDING, a, b] => drop(index.building.insert(u16::from_be_bytes([a, b]))),
                _ => break,
            }
        }
        Ok(index)
    }

    /// What its rows reflect.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// How much there is.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The partitions that are not whole yet.
    pub fn building(&self) -> &BTreeSet<u16> {
        &self.building
    }

    /// Notes how far it is, and which partitions are not whole.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn note(&mut self, token: &Token, building: BTreeSet<u16>) -> Result<(), IndexError> {
        let mut batch = WriteBatch::default();
        for partition in self.building.difference(&building) {
            batch.delete(of_building(*partition));
        }
        for partition in building.difference(&self.building) {
            batch.put(of_building(*partition), b"");
        }
        batch.put(TOKEN, token.encode());
        self.db.write_opt(batch, &write_options())?;
        self.building = building;
        self.token = Some(token.clone());
        Ok(())
    }

    /// Takes changes in: with them, the rows reflect the token.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn apply(&mut self, entries: &[Entry], token: &Token) -> Result<(), IndexError> {
        let mut newest: BTreeMap<(u16, &Bytes), &Entry> = BTreeMap::new();
        for entry in entries {
            if !matches!(entry.kind, Kind::Put | Kind::Delete) {
                continue;
            }
            let at = newest.entry((entry.partition, &entry.key)).or_insert(entry);
            if at.rank() < entry.rank() {
                *at = entry;
            }
        }
        let keys = newest
            .keys()
            .map(|(partition, id)| of_document(DOCUMENT, *partition, id));
        let found = self.db.multi_get(keys);
        let mut taken = Vec::with_capacity(newest.len());
        for (entry, found) in newest.into_values().zip(found) {
            let known = match found? {
                None => None,
                Some(bytes) => Some(self.known(&bytes)?),
            };
            let is_beaten = known
                .as_ref()
                .is_some_and(|known| known.rank >= entry.rank());
            if is_beaten && self.sabotage != Sabotage::IndexAnyOrder {
                continue;
            }
            taken.push((entry, known));
        }
        let mut step = Step::default();
        let emitted = self.map_all(&taken)?;
        for ((entry, before), emitted) in taken.into_iter().zip(emitted) {
            step.replace(self.reduce, before, entry, emitted);
        }
        self.add_up(&mut step)?;
        step.put(TOKEN.to_vec(), token.encode().to_vec());
        self.write(step)?;
        self.token = Some(token.clone());
        Ok(())
    }

    /// Writes what a step does, with the counts that come of it.
    fn write(&mut self, mut step: Step) -> Result<(), IndexError> {
        let counts = step.counted(self.counts);
        for (partition, more) in std::mem::take(&mut step.rows) {
            let rows = self.rows.entry(partition).or_default();
            *rows = rows.saturating_add_signed(more);
        }
        step.put(COUNTS.to_vec(), counts.encode(&self.rows));
        let batch = step.sorted();
        let touched = self.blocks.is_used().then(|| step.touched());
        self.blocks.change(counts.writes, touched.as_deref());
        self.db.write_opt(batch, &write_options())?;
        self.counts = counts;
        Ok(())
    }

    /// Removes what there is of a partition, some at a time; whether anything is left.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn remove_some(&mut self, partition: u16) -> Result<bool, IndexError> {
        let mut step = Step::default();
        let begin = of_document(DOCUMENT, partition, b"");
        let mut count = 0;
        for item in self
            .db
            .iterator(IteratorMode::From(&begin, Direction::Forward))
        {
            let (key, value) = item?;
            let at = document_of(&key).filter(|(at, _)| *at == partition && key[0] == DOCUMENT);
            let Some((_, id)) = at else { break };
            let known = self.known(&value)?;
            step.take_away(self.reduce, partition, id, &known);
            step.delete(key.to_vec());
            count += 1;
            if count == REMOVED_AT_ONCE {
                break;
            }
        }
        self.add_up(&mut step)?;
        self.write(step)?;
        Ok(count == REMOVED_AT_ONCE)
    }

    /// The partitions that there is anything of.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn partitions(&self) -> Result<BTreeSet<u16>, IndexError> {
        let mut found = BTreeSet::new();
        let mut iter = self.db.raw_iterator();
        iter.seek([DOCUMENT]);
        while let Some(key) = iter.key().filter(|key| key[0] == DOCUMENT) {
            let (partition, _) = document_of(key)
                .ok_or_else(|| IndexError::Damaged("a document's key".to_owned()))?;
            found.insert(partition);
            match partition.checked_add(1) {
                Some(next) => iter.seek(of_document(DOCUMENT, next, b"")),
                None => break,
            }
        }
        iter.status()?;
        Ok(found)
    }

    /// Forgets deletes up to a version, some at a time; whether any are left. Nothing older of their documents may
    /// come any more.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn forget_some(&mut self, version: Version) -> Result<bool, IndexError> {
        let mut batch = WriteBatch::default();
        let mut count = 0;
        for item in self
            .db
            .iterator(IteratorMode::From(&[DELETE], Direction::Forward))
        {
            let (key, _) = item?;
            let Some((at, partition, id)) = delete_of(&key).filter(|_| key[0] == DELETE) else {
                break;
            };
            if at > version || count == REMOVED_AT_ONCE {
                break;
            }
            let document = of_document(DOCUMENT, partition, id);
            if let Some(bytes) = self.db.get(&document)? {
                let known = self.known(&bytes)?;
                if known.is_delete && known.rank.height() == at {
                    batch.delete(document);
                }
            }
            batch.delete(&key);
            count += 1;
        }
        self.db.write_opt(batch, &write_options())?;
        Ok(count == REMOVED_AT_ONCE)
    }

    /// Puts all on disk: behind a crash it goes on from here.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn flush(&self) -> Result<(), IndexError> {
        Ok(self.db.flush()?)
    }

    /// Documents that were skipped, the latest first.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub fn failed(db: &DB, count_max: usize) -> Result<Vec<Failed>, IndexError> {
        const LOOKED_AT: usize = 1_000;
        let mut all = Vec::new();
        for item in db
            .iterator(IteratorMode::From(&[FAILURE], Direction::Forward))
            .take(LOOKED_AT)
        {
            let (key, value) = item?;
            let Some((_, id)) = document_of(&key).filter(|_| key[0] == FAILURE) else {
                break;
            };
            let mut reason = &value[..];
            all.push(Failed {
                id: Bytes::copy_from_slice(id),
                version: Version(reason.try_get_u64_le().unwrap_or(0)),
                reason: String::from_utf8_lossy(reason).into_owned(),
            });
        }
        all.sort_by_key(|failed| std::cmp::Reverse(failed.version));
        all.truncate(count_max);
        Ok(all)
    }

    fn known(&self, bytes: &[u8]) -> Result<Known, IndexError> {
        let known = Known::decode(self.reduce, bytes);
        known.ok_or_else(|| IndexError::Damaged("a document cannot be read".to_owned()))
    }

    /// What the map function makes of each change; nothing of deletes.
    fn map_all(
        &mut self,
        taken: &[(&Entry, Option<Known>)],
    ) -> Result<Vec<Result<Rows, ScriptError>>, IndexError> {
        let is_put = |entry: &&Entry| entry.kind == Kind::Put;
        let puts = taken.iter().map(|(entry, _)| *entry).filter(is_put);
        let mut documents: Vec<Document<'_>> = puts.map(document_in).collect();
        if self.is_backwards {
            documents.reverse();
        }
        let mut emitted = self.map.call(&documents)?;
        if self.is_backwards {
            emitted.reverse();
        }
        let mut emitted = emitted.into_iter();
        let all = taken.iter().map(|(entry, _)| match entry.kind {
            Kind::Put => match emitted.next() {
                Some(rows) => rows.map(|rows| counted(self.reduce, rows)),
                None => Err(ScriptError::new("the engine gave too few results")),
            },
            _ => Ok(Vec::new()),
        });
        Ok(all.collect())
    }

    /// What comes and goes in a step, added to what keys' rows were reduced to.
    fn add_up(&self, step: &mut Step) -> Result<(), IndexError> {
        let Some(reduce) = self.reduce else {
            return Ok(());
        };
        let changed = std::mem::take(&mut step.aggregates);
        let found = self.db.multi_get(changed.keys());
        for ((key, mut aggregate), found) in changed.into_iter().zip(found) {
            if let Some(bytes) = found? {
                let before = Aggregate::decode(reduce, &mut &bytes[..]);
                let before = before.ok_or_else(|| IndexError::Damaged("a sum".to_owned()))?;
                let merged = aggregate.merge(reduce, &before);
                merged.map_err(|error| IndexError::Damaged(error.to_string()))?;
            }
            match aggregate.count {
                0 => step.delete(key),
                _ => {
                    let mut bytes = Vec::new();
                    aggregate.encode(reduce, &mut bytes);
                    step.put(key, bytes);
                }
            }
        }
        Ok(())
    }
}

/// Rows, and what they count for where they are added up.
type Rows = Vec<(Emitted, f64)>;

/// The document that a change brings.
fn document_in(entry: &Entry) -> Document<'_> {
    Document {
        id: &entry.key,
        value: &entry.value,
        version: entry.stamp.to_string(),
        expiry_ms: entry.expiry_ms,
    }
}

/// Rows with the numbers that they count for.
fn counted(reduce: Option<Reduce>, rows: Vec<Emitted>) -> Rows {
    let one = |row: Emitted| {
        let number = counts_for(reduce, &row.value);
        (row, number)
    };
    rows.into_iter().map(one).collect()
}

/// What one batch does.
#[derive(Default)]
struct Step {
    /// What becomes of keys, in any order; of a key the last counts.
    acts: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    aggregates: BTreeMap<Vec<u8>, Aggregate>,
    documents: i64,
    /// Of each partition.
    rows: BTreeMap<u16, i64>,
    failed: i64,
    others: i64,
}

impl Step {
    /// The rows of a change in the place of those there were.
    fn replace(
        &mut self,
        reduce: Option<Reduce>,
        before: Option<Known>,
        entry: &Entry,
        emitted: Result<Rows, ScriptError>,
    ) {
        let (partition, id) = (entry.partition, &entry.key);
        let is_delete = entry.kind == Kind::Delete;
        if let Some(before) = &before {
            self.take_away(reduce, partition, id, before);
        }
        let mut known = Known {
            rank: entry.rank(),
            logged: entry.logged.as_deref().copied(),
            is_delete,
            has_failed: emitted.is_err(),
            rows: Vec::new(),
        };
        match emitted {
            Ok(rows) => known.rows = self.add(reduce, partition, id, rows),
            Err(error) => {
                let mut reason = Vec::new();
                reason.put_u64_le(entry.stamp.version.0);
                reason.extend_from_slice(error.to_string().as_bytes());
                self.put(of_document(FAILURE, partition, id), reason);
                self.failed += 1;
            }
        }
        if is_delete {
            let version = known.rank.height();
            self.put(of_delete(version, partition, id), Vec::new());
        }
        let document = of_document(DOCUMENT, partition, id);
        self.put(document, known.encode(reduce));
    }

    fn take_away(&mut self, reduce: Option<Reduce>, partition: u16, id: &[u8], known: &Known) {
        let kept = reduce.filter(|reduce| reduce.is_kept());
        for (n, (key, number)) in known.rows.iter().enumerate() {
            let row = of_row(&place_of(key, id, n as u16));
            self.delete(row);
            if let Some(reduce) = kept {
                let aggregate = self.aggregates.entry(of_aggregate(key, partition));
                aggregate.or_default().subtract(reduce, *number);
            }
        }
        if known.has_failed {
            self.delete(of_document(FAILURE, partition, id));
            self.failed -= 1;
        }
        *self.rows.entry(partition).or_default() -= known.rows.len() as i64;
        self.others -= others(&known.rows);
        self.documents -= i64::from(!known.rows.is_empty());
    }

    fn add(
        &mut self,
        reduce: Option<Reduce>,
        partition: u16,
        id: &[u8],
        rows: Vec<(Emitted, f64)>,
    ) -> Vec<(Vec<u8>, f64)> {
        let kept = reduce.filter(|reduce| reduce.is_kept());
        *self.rows.entry(partition).or_default() += rows.len() as i64;
        self.documents += i64::from(!rows.is_empty());
        let mut keys = Vec::with_capacity(rows.len());
        for (n, (row, number)) in rows.into_iter().enumerate() {
            let mut value = Vec::with_capacity(2 + row.value.len());
            value.put_u16_le(partition);
            value.extend_from_slice(row.value.as_bytes());
            let at = of_row(&place_of(&row.key, id, n as u16));
            self.put(at, value);
            if let Some(reduce) = kept {
                let aggregate = self.aggregates.entry(of_aggregate(&row.key, partition));
                aggregate.or_default().add(reduce, number);
            }
            keys.push((row.key, number));
        }
        self.others += others(&keys);
        keys
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.acts.push((key, Some(value)));
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.acts.push((key, None));
    }

    /// All of it, in the order of keys: so a memtable finds the place of each beside the one before.
    fn sorted(&mut self) -> WriteBatch {
        self.acts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut batch = WriteBatch::default();
        let mut acts = self.acts.iter().peekable();
        while let Some((key, value)) = acts.next() {
            if acts.peek().is_some_and(|(next, _)| next == key) {
                continue;
            }
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        batch
    }

    /// Keys of rows and sums that change.
    fn touched(self) -> Vec<Vec<u8>> {
        let keys = self.acts.into_iter().map(|(key, _)| key);
        keys.filter(|key| matches!(key.first(), Some(&ROW | &AGGREGATE)))
            .collect()
    }

    fn counted(&self, before: Counts) -> Counts {
        Counts {
            documents: before.documents.saturating_add_signed(self.documents),
            rows: before.rows.saturating_add_signed(self.rows.values().sum()),
            failed: before.failed.saturating_add_signed(self.failed),
            others: before.others.saturating_add_signed(self.others),
            writes: before.writes + 1,
        }
    }
}

impl Counts {
    fn encode(&self, rows: &BTreeMap<u16, u64>) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + 10 * rows.len());
        let all = [
            self.documents,
            self.rows,
            self.failed,
            self.others,
            self.writes,
        ];
        for count in all {
            out.put_u64_le(count);
        }
        for (partition, count) in rows {
            out.put_u16_le(*partition);
            out.put_u64_le(*count);
        }
        out
    }

    /// Of its bytes.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Counts> {
        Some(Counts {
            documents: bytes.try_get_u64_le().ok()?,
            rows: bytes.try_get_u64_le().ok()?,
            failed: bytes.try_get_u64_le().ok()?,
            others: bytes.try_get_u64_le().ok()?,
            writes: bytes.try_get_u64_le().ok()?,
        })
    }
}

/// How many of a document's rows count for no number.
fn others(rows: &[(Vec<u8>, f64)]) -> i64 {
    rows.iter()
        .filter(|(_, number)| *number == NO_NUMBER)
        .count() as i64
}

/// The rows of each partition, as they are written behind the counts.
pub(crate) fn rows_of(bytes: &[u8]) -> impl Iterator<Item = (u16, u64)> + '_ {
    let all = bytes.chunks_exact(10);
    all.map(|mut one| (one.get_u16_le(), one.get_u64_le()))
}

fn of_building(partition: u16) -> [u8; 3] {
    let [a, b] = partition.to_be_bytes();
    [BUILDING, a, b]
}

/// What an index is made by: another is not the same index.
fn made_by(place: &Place) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_u32_le(FORMAT);
    out.extend(crate::collate::encode(PROBE).unwrap_or_default());
    out.extend_from_slice(format!("{:?}", place.reduce).as_bytes());
    out.push(0);
    out.extend_from_slice(place.map.as_bytes());
    out
}

/// What a crash takes is taken in again from the token on.
fn write_options() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
