//! The newest version of a key up to a timestamp.

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_store::{Noted, Versioned};
use dunlin_txn::ORIGIN;
use rocksdb::DBRawIterator;
use xxhash_rust::xxh3::xxh3_64;

use crate::key;
use crate::store::{Store, StoreError, is_incomplete, of_one_key};

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
        self.reader(tier).get(place, key, at)
    }

    /// Reads keys one after the other, cheaper than [`Store::get`] for each. Nothing may be applied meanwhile: it is for the
    /// thread that applies, in one step.
    pub fn reader(&self, tier: Tier) -> Reader<'_> {
        Reader {
            store: self,
            tier,
            versions: None,
        }
    }

    /// Reads keys one after the other, from the disk when need be, until `take` returns false. Others may apply entries
    /// meanwhile.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn get_each(
        &self,
        place: u32,
        keys: &[Bytes],
        at: Version,
        mut take: impl FnMut(Lookup) -> bool,
    ) -> Result<(), StoreError> {
        // Noted before the moment that is read: a value that is older than a write since then is not kept.
        let noted: Vec<_> = (keys.iter())
            .map(|key| {
                let head = key::of_key(place, key);
                let hash = xxh3_64(&head);
                (head, hash, self.cached.note(hash))
            })
            .collect();
        let mut versions = self.versions(Tier::Disk);
        for (key, (head, hash, noted)) in keys.iter().zip(noted) {
            let mut lookup = versions.get(place, key, Version::MAX)?;
            match &lookup {
                Lookup::Found(found) if found.version > at => {
                    lookup = versions.get(place, key, at)?;
                }
                Lookup::Found(found) => self.keep(hash, &head, noted, found),
                _ => {}
            }
            if !take(lookup) {
                break;
            }
        }
        Ok(())
    }

    /// Keeps the newest value of a key, for those that read it again.
    fn keep(&self, hash: u64, head: &[u8], noted: Noted, found: &Found) {
        let Some(value) = &found.value else { return };
        let row = Versioned {
            stamp: Stamp::new(found.version, ORIGIN),
            from: 0,
            tombstone: false,
            is_expiry: false,
            expiry_ms: None,
            replaces: None,
            logged: None,
            value: value.clone(),
        };
        self.cached.keep(hash, head, noted, &row);
    }

    /// The version of a key's newest value, where that was read lately.
    pub(crate) fn cached_version(&self, place: u32, key: &[u8]) -> Option<Version> {
        let head = key::of_key(place, key);
        let row = self.cached.get(xxh3_64(&head), &head)?;
        Some(row.stamp.version)
    }

    /// A key was written; its newest version is kept, where that is known.
    pub(crate) fn written(&self, place: u32, key: &[u8], newest: Option<Found>) {
        if self.keeps_cached {
            return;
        }
        let head = key::of_key(place, key);
        let hash = xxh3_64(&head);
        self.cached.forget(hash);
        if let Some(newest) = newest {
            self.keep(hash, &head, self.cached.note(hash), &newest);
        }
    }

    /// What is stored now, for as many keys as are asked for: cheaper than one by one.
    pub(crate) fn versions(&self, tier: Tier) -> Versions<'_> {
        let options = of_one_key(tier == Tier::CacheOnly);
        Versions {
            rows: self.db.raw_iterator_opt(options),
            tier,
        }
    }
}

/// Reads several keys: see [`Store::reader`].
pub struct Reader<'a> {
    store: &'a Store,
    tier: Tier,
    /// Made for the first key that is not in the cache.
    versions: Option<Versions<'a>>,
}

impl Reader<'_> {
    /// As [`Store::get`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn get(&mut self, place: u32, key: &[u8], at: Version) -> Result<Lookup, StoreError> {
        let (store, tier) = (self.store, self.tier);
        let head = key::of_key(place, key);
        let hash = xxh3_64(&head);
        if let Some(row) = store.cached.get(hash, &head)
            && row.stamp.version <= at
        {
            return Ok(Lookup::Found(Found {
                version: row.stamp.version,
                value: Some(row.value),
            }));
        }
        let noted = store.cached.note(hash);
        let versions = self.versions.get_or_insert_with(|| store.versions(tier));
        let newest = versions.get(place, key, Version::MAX)?;
        match &newest {
            Lookup::Found(found) if found.version > at => versions.get(place, key, at),
            Lookup::Found(found) => {
                store.keep(hash, &head, noted, found);
                Ok(newest)
            }
            _ => Ok(newest),
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
            Err(error) if self.tier == Tier::CacheOnly && is_incomplete(&error) => Ok(None),
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
