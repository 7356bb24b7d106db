//! Reading an index as it was at one moment, a page at a time.

use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes};
use dunlin_proto::Token;
use rocksdb::{DB, ReadOptions, ReadTier};
use self_cell::self_cell;

use crate::blocks::{Block, Blocks, is_edge, set_of};
use crate::collate;
use crate::fold::{Fold, Rows};
use crate::index::{Counts, IndexError, rows_of};
use crate::page::{Page, Piece, What};
use crate::reduce::{Aggregate, Reduce};
use crate::row::{AGGREGATE, BUILDING, COUNTS, ROW, TOKEN, after, row_of};
use crate::total::Unfit;
use crate::wanted::{Group, Wanted};

/// A page has no more bytes than this, but for its last piece.
const PAGE_BYTES: usize = 48 << 10;
/// No more rows than these are looked at for one page.
const LOOKED_AT: usize = 16_384;
/// The same where an event loop waits.
const LOOKED_AT_HERE: usize = 256;
/// Parts of a group that a function has made are made one from so many on.
pub(crate) const PARTS_AT_ONCE: usize = 16;

type Frozen<'a> = rocksdb::Snapshot<'a>;

self_cell!(
    struct Cell {
        owner: Arc<DB>,
        #[covariant]
        dependent: Frozen,
    }
);

/// An index as it was.
pub(crate) struct Snapshot {
    cell: Cell,
    blocks: Option<Arc<Blocks>>,
    counted: OnceLock<Vec<u8>>,
    pub reduce: Option<Reduce>,
}

/// Where a scan goes on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    range: usize,
    /// Behind this database key, in the direction of the scan; empty at the beginning of the range.
    behind: Vec<u8>,
    /// Rows that were given.
    given: u64,
}

impl Position {
    /// Before the first of other ranges.
    pub fn at_others(self) -> Position {
        Position {
            given: self.given,
            ..Position::default()
        }
    }
}

impl Snapshot {
    pub fn new(db: Arc<DB>, reduce: Option<Reduce>) -> Snapshot {
        Snapshot {
            cell: Cell::new(db, |db| db.snapshot()),
            blocks: None,
            counted: OnceLock::new(),
            reduce,
        }
    }

    /// What it reflects.
    pub fn token(&self) -> Result<Option<Token>, IndexError> {
        let bytes = self.cell.borrow_dependent().get(TOKEN)?;
        let token = bytes.map(|bytes| Token::decode(bytes.into())).transpose();
        token.map_err(|error| IndexError::Damaged(error.to_string()))
    }

    /// The partitions that are not whole.
    pub fn building(&self) -> Result<Vec<u16>, IndexError> {
        let mut building = Vec::new();
        let mut iter = self.iterate(vec![BUILDING], after(&[BUILDING]));
        iter.seek_to_first();
        while let Some(key) = iter.key() {
            if let [BUILDING, a, b] = *key {
                building.push(u16::from_be_bytes([a, b]));
            }
            iter.next();
        }
        iter.status()?;
        Ok(building)
    }

    /// The value of a database key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, IndexError> {
        Ok(self.cell.borrow_dependent().get(key)?)
    }

    /// What there is between two database keys.
    pub fn iterate(&self, lower: Vec<u8>, upper: Vec<u8>) -> rocksdb::DBRawIterator<'_> {
        self.iterate_in(ReadTier::All, lower, upper)
    }

    fn iterate_in(
        &self,
        tier: ReadTier,
        lower: Vec<u8>,
        upper: Vec<u8>,
    ) -> rocksdb::DBRawIterator<'_> {
        let mut read = ReadOptions::default();
        read.set_iterate_lower_bound(lower);
        read.set_iterate_upper_bound(upper);
        read.set_read_tier(tier);
        self.cell.borrow_dependent().raw_iterator_opt(read)
    }

    /// What comes next of what is wanted.
    pub fn page(
        &self,
        wanted: &Wanted,
        fold: Option<&mut Fold>,
        position: &mut Position,
    ) -> Result<Page, IndexError> {
        let page = Filling::new(wanted, self.reduce, fold, LOOKED_AT);
        self.fill(page, ReadTier::All, wanted, position)
    }

    /// The beginning, where it is little and in memory; none else.
    pub fn page_here(&self, wanted: &Wanted) -> Option<(Page, Position)> {
        let is_long = wanted.group.is_none() && wanted.rows_max > LOOKED_AT_HERE as u64;
        let is_custom = wanted.group.is_some() && self.reduce == Some(Reduce::Custom);
        if is_long || is_custom {
            return None;
        }
        let page = Filling::new(wanted, self.reduce, None, LOOKED_AT_HERE);
        let mut position = Position::default();
        // What is wrong with it is seen by who reads it from the disk.
        let page = self.fill(page, ReadTier::BlockCache, wanted, &mut position);
        Some((page.ok()?, position))
    }

    fn fill(
        &self,
        mut page: Filling<'_>,
        tier: ReadTier,
        wanted: &Wanted,
        position: &mut Position,
    ) -> Result<Page, IndexError> {
        let by_keys = self.is_by_keys(wanted)?;
        page.by_keys = by_keys;
        // An event loop uses sums, and makes none.
        let stores = matches!(tier, ReadTier::All);
        page.stretches = self.stretches(wanted, by_keys, stores)?;
        while let Some(range) = wanted.ranges.get(position.range) {
            // Ranges of no rows take their time, too.
            if page.is_full() {
                return page.end(false);
            }
            page.looked_at += 1;
            page.abandon();
            let number = wanted.first_range + position.range as u32;
            let kind = if by_keys { AGGREGATE } else { ROW };
            let bound = |place: &[u8]| [&[kind][..], place].concat();
            let mut lower = bound(&range.lower);
            let mut upper = if range.upper.is_empty() {
                after(&[kind])
            } else {
                bound(&range.upper)
            };
            if !position.behind.is_empty() {
                if wanted.descending {
                    upper = position.behind.clone()
                } else {
                    lower = [&position.behind[..], &[0]].concat()
                }
            }
            let mut iter = self.iterate_in(tier, lower, upper.clone());
            if wanted.descending {
                iter.seek_to_last()
            } else {
                iter.seek_to_first()
            }
            while let Some((key, value)) = iter.item() {
                let is_edge = page.is_edge(key);
                if is_edge {
                    page.close(&position.behind, key)?;
                }
                if page.may_end(is_edge) || position.given >= wanted.rows_max {
                    break;
                }
                if is_edge {
                    if let Some(block) = page.stretch(key, &upper) {
                        page.add_stretch(number, key, &block.sum)?;
                        position.behind.clone_from(&block.last);
                        iter.seek(&block.end);
                        continue;
                    }
                    page.open(key);
                }
                position.behind.clear();
                position.behind.extend_from_slice(key);
                let is_given = if by_keys {
                    page.aggregate(number, key, value)?
                } else {
                    page.row(number, key, value)?
                };
                position.given += u64::from(is_given);
                if wanted.descending {
                    iter.prev()
                } else {
                    iter.next()
                }
            }
            iter.status()?;
            if position.given >= wanted.rows_max {
                return page.end(true);
            }
            if iter.valid() {
                return page.end(false);
            }
            position.range += 1;
            position.behind.clear();
        }
        page.end(true)
    }

    /// Whether what is kept of keys will do.
    fn is_by_keys(&self, wanted: &Wanted) -> Result<bool, IndexError> {
        let is_kept = self.reduce.is_some_and(Reduce::is_kept);
        if wanted.group.is_none() || !wanted.by_keys || !is_kept {
            return Ok(false);
        }
        // Of values that are no numbers nothing is kept.
        Ok(self.counts()?.others == 0)
    }

    fn counts(&self) -> Result<Counts, IndexError> {
        Ok(Counts::decode(&mut self.counted()?).unwrap_or_default())
    }

    /// The bytes of the counts; read once, for they stay as they were.
    fn counted(&self) -> Result<&[u8], IndexError> {
        if self.counted.get().is_none() {
            // Another thread may have been first, with the same.
            let _ = self.counted.set(self.get(COUNTS)?.unwrap_or_default());
        }
        Ok(self.counted.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// The same with sums of stretches, which the writer of the index keeps.
    pub fn with_blocks(mut self, blocks: Arc<Blocks>) -> Snapshot {
        self.blocks = Some(blocks);
        self
    }

    fn stretches(
        &self,
        wanted: &Wanted,
        by_keys: bool,
        stores: bool,
    ) -> Result<Option<Stretches>, IndexError> {
        let Some(blocks) = &self.blocks else {
            return Ok(None);
        };
        // A key has as many sums as partitions: no stretch of them is of one key.
        let is_of_one = by_keys && wanted.group == Some(Group::Exact);
        if wanted.group.is_none() || wanted.descending || is_of_one {
            return Ok(None);
        }
        blocks.begin();
        Ok(Some(Stretches {
            blocks: blocks.clone(),
            set: set_of(&wanted.partitions),
            write: self.counts()?.writes,
            stores,
            open: None,
        }))
    }

    /// How many rows there are of partitions.
    pub fn rows_of(&self, partitions: &[u16]) -> Result<u64, IndexError> {
        let mut bytes = self.counted()?;
        let counts = Counts::decode(&mut bytes);
        let all = rows_of(bytes).filter(|(partition, _)| partitions.contains(partition));
        let rows = counts.map_or(0, |_| all.map(|(_, rows)| rows).sum());
        Ok(rows)
    }
}

/// Sums of stretches that a page uses, and the one that it makes.
struct Stretches {
    blocks: Arc<Blocks>,
    set: u64,
    write: u64,
    stores: bool,
    /// Where the one begins, and its sum so far.
    open: Option<(Vec<u8>, Aggregate)>,
}

/// A page that is being made.
struct Filling<'w> {
    wanted: &'w Wanted,
    reduce: Option<Reduce>,
    /// Which partitions are wanted.
    wants: Vec<bool>,
    pieces: Vec<Piece>,
    bytes: usize,
    looked_at: usize,
    looked_at_max: usize,
    /// What reduces rows, where a function of the user does, and those of the last group that it has not had.
    fold: Option<&'w mut Fold>,
    rows: Rows,
    by_keys: bool,
    stretches: Option<Stretches>,
}

impl<'w> Filling<'w> {
    fn new(
        wanted: &'w Wanted,
        reduce: Option<Reduce>,
        fold: Option<&'w mut Fold>,
        looked_at_max: usize,
    ) -> Filling<'w> {
        let last = wanted.partitions.iter().max().copied().unwrap_or(0);
        let mut wants = vec![false; usize::from(last) + 1];
        let partitions = wanted.partitions.iter();
        partitions.for_each(|p| wants[usize::from(*p)] = true);
        Filling {
            wanted,
            reduce,
            wants,
            pieces: Vec::new(),
            bytes: 0,
            looked_at: 0,
            looked_at_max,
            fold,
            rows: Rows::default(),
            by_keys: false,
            stretches: None,
        }
    }

    fn is_full(&self) -> bool {
        self.bytes >= PAGE_BYTES || self.looked_at >= self.looked_at_max
    }

    fn end(mut self, is_last: bool) -> Result<Page, IndexError> {
        self.reduce_rows()?;
        Ok(Page {
            pieces: self.pieces,
            is_last,
        })
    }

    /// Has the function reduce the rows of the last group that it has not had.
    fn reduce_rows(&mut self) -> Result<(), IndexError> {
        let rows = std::mem::take(&mut self.rows);
        let last = self.pieces.last_mut().map(|piece| &mut piece.what);
        let (Some(fold), Some(What::Group(all))) = (&mut self.fold, last) else {
            return Ok(());
        };
        if !rows.is_empty() {
            let part = fold.reduce(&rows)?;
            let open = self.stretches.as_mut().and_then(|all| all.open.as_mut());
            if let Some((_, sum)) = open {
                sum.parts.push(part.clone());
            }
            all.parts.push(part);
        }
        if all.parts.len() >= PARTS_AT_ONCE {
            all.parts = vec![fold.reduce_again(&all.parts)?];
        }
        Ok(())
    }

    /// Whether a stretch begins at a database key.
    fn is_edge(&self, key: &[u8]) -> bool {
        self.stretches.is_some() && is_edge(key)
    }

    /// Whether the page may end before a row: at the edge of a stretch, where there are any, or soon.
    fn may_end(&self, is_edge: bool) -> bool {
        let is_over = self.bytes >= 2 * PAGE_BYTES || self.looked_at >= 2 * self.looked_at_max;
        self.is_full() && (is_edge || is_over || self.stretches.is_none())
    }

    /// The key that a database key is of.
    fn key_of<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], IndexError> {
        let damaged = || IndexError::Damaged("a row cannot be read".to_owned());
        let place = key.get(1..).ok_or_else(damaged)?;
        let length = if self.by_keys {
            place.len().checked_sub(2).ok_or_else(damaged)?
        } else {
            collate::length(place).map_err(|_| damaged())?
        };
        Ok(&place[..length])
    }

    /// Whether all between two database keys is of one group.
    fn is_one_group(&self, first: &[u8], last: &[u8]) -> Result<bool, IndexError> {
        let (first, last) = (self.key_of(first)?, self.key_of(last)?);
        let group = |key: &[u8], depth| {
            let group = collate::group(key, depth);
            group.map_err(|error| IndexError::Damaged(error.to_string()))
        };
        Ok(match self.wanted.group {
            None | Some(Group::All) => true,
            Some(Group::Exact) => first == last,
            Some(Group::Level(depth)) => group(first, depth.into())? == group(last, depth.into())?,
        })
    }

    /// The sum of the stretch that begins here, where there is one, it ends before `upper`, and is of one group.
    fn stretch(&self, key: &[u8], upper: &[u8]) -> Option<Arc<Block>> {
        let all = self.stretches.as_ref()?;
        let block = all.blocks.get(all.set, key, all.write)?;
        let fits = block.end[..] <= *upper && self.is_one_group(key, &block.last).ok()?;
        fits.then_some(block)
    }

    fn add_stretch(&mut self, range: u32, key: &[u8], sum: &Aggregate) -> Result<(), IndexError> {
        self.looked_at += 1;
        let group = self.wanted.group.unwrap_or(Group::All);
        let key = self.key_of(key)?.to_vec();
        if sum.count == 0 {
            return Ok(());
        }
        self.add(range, group, &key, sum)?;
        self.reduce_rows()
    }

    /// What follows does not follow the rows of the open stretch.
    fn abandon(&mut self) {
        if let Some(all) = &mut self.stretches {
            all.open = None;
        }
    }

    /// A stretch begins.
    fn open(&mut self, key: &[u8]) {
        if let Some(all) = self.stretches.as_mut().filter(|all| all.stores) {
            all.open = Some((key.to_vec(), Aggregate::default()));
        }
    }

    /// The open stretch ends behind `last`, before `end`.
    fn close(&mut self, last: &[u8], end: &[u8]) -> Result<(), IndexError> {
        self.reduce_rows()?;
        let open = self.stretches.as_mut().and_then(|all| all.open.take());
        let Some((begin, mut sum)) = open else {
            return Ok(());
        };
        if !self.is_one_group(&begin, last)? {
            return Ok(());
        }
        if let Some(fold) = self.fold.as_mut().filter(|_| sum.parts.len() > 1) {
            sum.parts = vec![fold.reduce_again(&sum.parts)?];
        }
        if let Some(all) = &self.stretches {
            let stretch = (last.to_vec(), end.to_vec());
            all.blocks.put(all.set, begin, stretch, sum, all.write);
        }
        Ok(())
    }

    fn is_wanted(&self, partition: u16) -> bool {
        self.wants.get(usize::from(partition)).is_some_and(|is| *is)
    }

    /// Takes a row in; whether it is given as one.
    fn row(&mut self, range: u32, key: &[u8], mut value: &[u8]) -> Result<bool, IndexError> {
        self.looked_at += 1;
        let damaged = || IndexError::Damaged("a row cannot be read".to_owned());
        let partition = value.try_get_u16_le().map_err(|_| damaged())?;
        if !self.is_wanted(partition) {
            return Ok(false);
        }
        let place = &key[1..];
        let Some(group) = self.wanted.group else {
            self.bytes += key.len() + value.len();
            self.pieces.push(Piece {
                range,
                at: Bytes::copy_from_slice(place),
                what: What::Row(Bytes::copy_from_slice(value)),
            });
            return Ok(true);
        };
        let reduce = self.reduce.ok_or_else(damaged)?;
        let length = collate::length(place).map_err(|_| damaged())?;
        let value = std::str::from_utf8(value).map_err(|_| damaged())?;
        let aggregate = Aggregate::of_row(reduce, place, value);
        let aggregate = aggregate.map_err(|unfit| unfit_at(place, &unfit))?;
        self.add(range, group, &place[..length], &aggregate)?;
        if reduce == Reduce::Custom {
            let (key, id) = row_of(place).ok_or_else(damaged)?;
            let key = collate::decode(key).map_err(|_| damaged())?;
            let id = String::from_utf8_lossy(&id);
            let id = serde_json::to_string(&id).map_err(|_| damaged())?;
            self.rows.add(&key, &id, value);
            if self.rows.is_full() {
                self.reduce_rows()?;
            }
        }
        Ok(false)
    }

    /// Takes in what is kept of a key and a partition.
    fn aggregate(&mut self, range: u32, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        self.looked_at += 1;
        let damaged = || IndexError::Damaged("a sum cannot be read".to_owned());
        let split = key.len().checked_sub(2).filter(|split| *split > 0);
        let (key, mut partition) = key.split_at(split.ok_or_else(damaged)?);
        let partition = partition.try_get_u16().map_err(|_| damaged())?;
        if !self.is_wanted(partition) {
            return Ok(false);
        }
        let group = self.wanted.group.ok_or_else(damaged)?;
        let reduce = self.reduce.ok_or_else(damaged)?;
        let aggregate = Aggregate::decode(reduce, &mut &value[..]).ok_or_else(damaged)?;
        self.add(range, group, &key[1..], &aggregate)?;
        Ok(false)
    }

    fn add(
        &mut self,
        range: u32,
        group: Group,
        key: &[u8],
        aggregate: &Aggregate,
    ) -> Result<(), IndexError> {
        let reduce = self.reduce.unwrap_or(Reduce::Count);
        let unfit = |unfit: Unfit| IndexError::Reduce(unfit.to_string());
        let open = self.stretches.as_mut().and_then(|all| all.open.as_mut());
        if let Some((_, sum)) = open {
            sum.merge(reduce, aggregate).map_err(unfit)?;
        }
        // Most rows go on with the group of the row before.
        let last = self.pieces.last_mut().filter(|last| last.range == range);
        let at = match group {
            Group::All => Vec::new(),
            Group::Exact => {
                if let Some(last) = last
                    && last.at == key
                    && let What::Group(all) = &mut last.what
                {
                    all.merge(reduce, aggregate).map_err(unfit)?;
                    return Ok(());
                }
                key.to_vec()
            }
            Group::Level(level) => collate::group(key, usize::from(level))
                .map_err(|error| IndexError::Damaged(error.to_string()))?,
        };
        let last = self.pieces.last_mut().filter(|last| last.range == range);
        if let Some(last) = last
            && last.at == at
            && let What::Group(all) = &mut last.what
        {
            all.merge(reduce, aggregate).map_err(unfit)?;
            return Ok(());
        }
        self.reduce_rows()?;
        self.bytes += at.len() + 64;
        self.pieces.push(Piece {
            range,
            at: at.into(),
            what: What::Group(Box::new(aggregate.clone())),
        });
        Ok(())
    }
}

/// What a row's value cannot be reduced for, with the row.
fn unfit_at(place: &[u8], unfit: &Unfit) -> IndexError {
    let row = row_of(place).and_then(|(key, id)| Some((collate::decode(key).ok()?, id)));
    IndexError::Reduce(match row {
        Some((key, id)) => {
            let id = String::from_utf8_lossy(&id).into_owned();
            format!("{unfit}, the value of key {key} of document {id}")
        }
        None => unfit.to_string(),
    })
}
