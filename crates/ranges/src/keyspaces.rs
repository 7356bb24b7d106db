//! The keyspaces of a transaction, and the ranges of its keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin_metadata::Keyspace;
use dunlin_node::{Failure, Services};

use crate::body::Place;
use crate::group::range_id;

/// The keyspaces of a transaction, by name.
pub(crate) type Keyspaces = BTreeMap<String, Arc<Keyspace>>;

/// Keyspaces by their names.
///
/// # Errors
/// When one is not there, or not transactional.
pub(crate) fn keyspaces_of<'a>(
    services: &Services,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Keyspaces, Failure> {
    let of = |name: &str| {
        let keyspace = services.transactional_named(name);
        Ok((name.to_owned(), keyspace.ok_or(Failure::UnknownKeyspace)?))
    };
    names.into_iter().map(of).collect()
}

/// The place of a key: its keyspace and the index of its range.
pub(crate) type Where = (u32, usize);

/// The place of a key.
///
/// # Errors
/// When its keyspace is not among these.
pub(crate) fn whereabouts(keyspaces: &Keyspaces, place: &Place) -> Result<Where, Failure> {
    let keyspace = keyspaces.get(&*place.keyspace);
    let keyspace = keyspace.ok_or(Failure::UnknownKeyspace)?;
    Ok((keyspace.id, keyspace.range_of(&place.key)))
}

/// Finds the ranges of keys, most of which are in the keyspace of the key before.
pub(crate) struct Finder<'a> {
    keyspaces: &'a Keyspaces,
    last: Option<(Arc<str>, &'a Keyspace)>,
}

impl<'a> Finder<'a> {
    /// One that has found nothing.
    pub fn new(keyspaces: &'a Keyspaces) -> Finder<'a> {
        let last = None;
        Finder { keyspaces, last }
    }

    /// As [`whereabouts`].
    pub fn find(&mut self, place: &Place) -> Result<Where, Failure> {
        let last = self.last.as_ref();
        let keyspace = match last.filter(|(name, _)| Arc::ptr_eq(name, &place.keyspace)) {
            Some((_, keyspace)) => *keyspace,
            None => {
                let keyspace = self.keyspaces.get(&*place.keyspace);
                let keyspace = keyspace.ok_or(Failure::UnknownKeyspace)?;
                self.last = Some((place.keyspace.clone(), keyspace));
                keyspace
            }
        };
        Ok((keyspace.id, keyspace.range_of(&place.key)))
    }

    /// As [`range_in`].
    pub fn range(&mut self, place: &Place) -> Result<u64, Failure> {
        let (keyspace, index) = self.find(place)?;
        Ok(range_id(keyspace, index))
    }
}

/// Places by range, in order, each once.
///
/// # Errors
/// When the keyspace of one is not among these.
pub(crate) fn by_range<'a>(
    keyspaces: &Keyspaces,
    places: impl IntoIterator<Item = &'a Place>,
) -> Result<BTreeMap<Where, Vec<Place>>, Failure> {
    let mut ranges: BTreeMap<Where, Vec<Place>> = BTreeMap::new();
    for place in places.into_iter().collect::<BTreeSet<_>>() {
        let range = ranges.entry(whereabouts(keyspaces, place)?);
        range.or_default().push(place.clone());
    }
    Ok(ranges)
}

/// The range of a key.
///
/// # Errors
/// When its keyspace is not among these.
pub(crate) fn range_in(keyspaces: &Keyspaces, place: &Place) -> Result<u64, Failure> {
    let (keyspace, index) = whereabouts(keyspaces, place)?;
    Ok(range_id(keyspace, index))
}
