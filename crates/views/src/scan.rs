//! Reading an index as it was at one moment, a page at a time.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use dunlin_proto::Token;
use rocksdb::{DB, ReadOptions, ReadTier};
use self_cell::self_cell;

use crate::collate;
use crate::fold::{Fold, Rows};
use crate::index::{Counts, IndexError};
use crate::page::{Page, Piece, What};
use crate::reduce::{Aggregate, Reduce};
use crate::row::{AGGREGATE, BUILDING, COUNTS, ROW, TOKEN, after, of_count, row_of};
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
        if wanted.rows_max > LOOKED_AT_HERE as u64 {
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
        while let Some(range) = wanted.ranges.get(position.range) {
            // Ranges of no rows take their time, too.
            if page.is_full() {
                return page.end(false);
            }
            page.looked_at += 1;
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
            let mut iter = self.iterate_in(tier, lower, upper);
            if wanted.descending {
                iter.seek_to_last()
            } else {
                iter.seek_to_first()
            }
            while let Some((key, value)) = iter.item() {
                if page.is_full() || position.given >= wanted.rows_max {
                    break;
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
        let counts = self.get(COUNTS)?;
        let counts = counts.and_then(|bytes| Counts::decode(&bytes));
        Ok(counts.is_none_or(|counts| counts.others == 0))
    }

    /// How many rows there are of partitions.
    pub fn rows_of(&self, partitions: &[u16]) -> Result<u64, IndexError> {
        let mut rows = 0;
        for partition in partitions {
            let count = self.get(&of_count(*partition))?;
            let count = count.and_then(|bytes| bytes.try_into().ok());
            rows += count.map_or(0, u64::from_le_bytes);
        }
        Ok(rows)
    }
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
            all.parts.push(fold.reduce(&rows)?);
        }
        if all.parts.len() >= PARTS_AT_ONCE {
            all.parts = vec![fold.reduce_again(&all.parts)?];
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
