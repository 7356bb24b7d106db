//! Older versions go, in compactions: those that a newer one of the same key, itself older than what is kept,
//! stands above. A delete that is the newest of its key goes where a compaction sees all there is: else an older
//! version in another file would come back.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use crate::get::decode;
use crate::key;

const NAME: &CStr = c"dunlin-versions";

/// Of each place, from when on versions are kept, in milliseconds; of others all are.
pub(crate) type KeepFrom = Arc<Mutex<BTreeMap<u32, u64>>>;

/// Makes a filter for each compaction.
pub(crate) struct Collector(pub KeepFrom);

impl CompactionFilterFactory for Collector {
    type Filter = Filter;

    fn create(&mut self, context: CompactionFilterContext) -> Filter {
        Filter {
            keep_from_ms: self
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            is_full: context.is_full_compaction,
            last: Vec::new(),
            is_below: false,
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

/// Passes over rows in their order: of each key the newest version first.
pub(crate) struct Filter {
    keep_from_ms: BTreeMap<u32, u64>,
    is_full: bool,
    /// The key of the row before.
    last: Vec<u8>,
    /// Whether a version of it was met that is older than what is kept: all below it go.
    is_below: bool,
}

impl Filter {
    fn goes(&mut self, row: &[u8], value: &[u8]) -> bool {
        let Some((head, version)) = key::split(row) else {
            return false;
        };
        let is_same = self.last == head;
        if !is_same {
            self.last.clear();
            self.last.extend_from_slice(head);
            self.is_below = false;
        }
        if self.is_below {
            return true;
        }
        let keep_from_ms = key::place_of(head).and_then(|place| self.keep_from_ms.get(&place));
        self.is_below = keep_from_ms.is_some_and(|keep_from_ms| version.millis() < *keep_from_ms);
        self.is_below && self.is_full && decode(value) == Some(None)
    }
}

impl CompactionFilter for Filter {
    fn filter(&mut self, _: u32, row: &[u8], value: &[u8]) -> CompactionDecision {
        if self.goes(row, value) {
            CompactionDecision::Remove
        } else {
            CompactionDecision::Keep
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

impl crate::Store {
    /// From now on versions of these places that are older than this go, but for the newest of each key.
    pub fn keep_from_ms(&self, places: BTreeMap<u32, u64>) {
        *self
            .keep_from_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = places;
    }
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
