//! The newest version of a key up to a timestamp.

use bytes::Bytes;
use dunlin_entry::Version;
use rocksdb::{DBRawIterator, ErrorKind};

use crate::key;
use crate::store::{Store, StoreError, of_one_key};

const PUT: u8 = 1;
const DELETE: u8 = 0;

/// How far a read may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Memory only; never waits. For event loops.
    CacheOnly,
    /// To the disk when need be. For threads that may wait.
    Disk,
}

/// A version of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its version.
    pub version: Version,
    /// The value; none where the key was deleted.
    pub value: Option<Bytes>,
}

/// What a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The newest version, which may be a delete.
    Found(Found),
    /// There was never one.
    Absent,
    /// Memory does not tell; ask again with [`Tier::Disk`]. Never the answer to that.
    NeedsDisk,
}

impl Store {
    /// The newest version of a key that is not above a timestamp.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn get(
        &self,
        place: u32,
        key: &[u8],
        at: Version,
        tier: Tier,
    ) -> Result<Lookup, StoreError> {
        self.versions(tier).get(place, key, at)
    }

    /// What is stored now, for as many keys as are asked for: cheaper than one by one.
    pub fn versions(&self, tier: Tier) -> Versions<'_> {
        let options = of_one_key(tier == Tier::CacheOnly);
        Versions {
            rows: self.db.raw_iterator_opt(options),
            tier,
        }
    }
}

/// All versions as they were at one moment.
pub struct Versions<'a> {
    rows: DBRawIterator<'a>,
    tier: Tier,
}

impl Versions<'_> {
    /// As [`Store::get`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn get(&mut self, place: u32, key: &[u8], at: Version) -> Result<Lookup, StoreError> {
        match self.seek(place, key, at, found)? {
            Some(found) => Ok(found.map_or(Lookup::Absent, Lookup::Found)),
            None => Ok(Lookup::NeedsDisk),
        }
    }

    /// The newest version of a key, and whether it is a value. May wait for the disk.
    pub(crate) fn newest(
        &mut self,
        place: u32,
        key: &[u8],
    ) -> Result<Option<(Version, bool)>, StoreError> {
        let of_row = |row: &[u8], value: &[u8]| {
            let (_, version) = key::split(row)?;
            Some((version, decode(value)?.is_some()))
        };
        let found = self.seek(place, key, Version::MAX, of_row)?;
        Ok(found.flatten())
    }

    /// What is made of the newest row of a key that is not above a timestamp, if there is one; none where memory does not
    /// tell.
    fn seek<T>(
        &mut self,
        place: u32,
        key: &[u8],
        at: Version,
        make: impl Fn(&[u8], &[u8]) -> Option<T>,
    ) -> Result<Option<Option<T>>, StoreError> {
        let first = key::of_version(place, key, at);
        self.rows.seek(&first);
        let found = match self.rows.item() {
            Some((row, value)) if key::head(row) == key::head(&first) => {
                Some(make(row, value).ok_or_else(|| damaged("a row"))?)
            }
            _ => None,
        };
        match self.rows.status() {
            Ok(()) => Ok(Some(found)),
            Err(error) if self.tier == Tier::CacheOnly && error.kind() == ErrorKind::Incomplete => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("{what} cannot be read"))
}

fn found(row: &[u8], value: &[u8]) -> Option<Found> {
    let (_, version) = key::split(row)?;
    Some(Found {
        version,
        value: decode(value)?.map(Bytes::copy_from_slice),
    })
}

/// A value as it is stored; none is a delete.
pub(crate) fn encode(value: Option<&[u8]>) -> Vec<u8> {
    let Some(value) = value else {
        return vec![DELETE];
    };
    let mut out = Vec::with_capacity(1 + value.len());
    out.push(PUT);
    out.extend_from_slice(value);
    out
}

/// The same back.
pub(crate) fn decode(stored: &[u8]) -> Option<Option<&[u8]>> {
    match stored.split_first()? {
        (&PUT, value) => Some(Some(value)),
        (&DELETE, []) => Some(None),
        _ => None,
    }
}
