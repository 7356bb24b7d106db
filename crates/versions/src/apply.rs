//! Entries of a range's log, in one batch with their position.

use std::collections::HashMap;

use bytes::Bytes;
use dunlin_entry::{Kind, Version};
use dunlin_proto::Condition;
use rocksdb::WriteBatch;

use crate::command::Command;
use crate::get::{Lookup, Tier, encode};
use crate::judge::{Verdict, judge};
use crate::key;
use crate::meta::Meta;
use crate::store::{Store, StoreError, write_options};

/// What was applied.
#[derive(Debug)]
pub struct Applied {
    /// What is known of the range now.
    pub meta: Meta,
    /// What became of each command.
    pub verdicts: Vec<Verdict>,
}

impl Store {
    /// Applies the entries of a range's log up to `index` of `term`, their commands in order.
    ///
    /// # Errors
    /// See [`StoreError`]; nothing was applied.
    pub fn apply(
        &self,
        group: u32,
        meta: &Meta,
        commands: &[Command],
        (index, term): (u64, u64),
    ) -> Result<Applied, StoreError> {
        let mut meta = Meta {
            applied: index,
            term,
            ..*meta
        };
        let mut batch = WriteBatch::default();
        // What the batch itself has written: none is a delete.
        let mut written: HashMap<&Bytes, Option<Version>> = HashMap::new();
        let mut verdicts = Vec::with_capacity(commands.len());
        for command in commands {
            let current = match (command.condition, written.get(&command.key)) {
                (Condition::None, _) => None,
                (_, Some(version)) => *version,
                (_, None) => self.current(meta.place, &command.key)?,
            };
            let verdict = judge(command, meta.greatest, current);
            if let Verdict::Done(version) = verdict {
                meta.greatest = version;
                let value = (command.kind == Kind::Put).then_some(&command.value[..]);
                let row = key::of_version(meta.place, &command.key, version);
                batch.put(row, encode(value));
                written.insert(&command.key, value.map(|_| version));
            }
            verdicts.push(verdict);
        }
        batch.put(key::of_group(group), meta.encode());
        self.db.write_opt(batch, &write_options())?;
        Ok(Applied { meta, verdicts })
    }

    /// The version of a key that has a value.
    fn current(&self, place: u32, key: &[u8]) -> Result<Option<Version>, StoreError> {
        Ok(match self.get(place, key, Tier::Disk)? {
            Lookup::Found(found) => found.value.map(|_| found.version),
            Lookup::Absent | Lookup::NeedsDisk => None,
        })
    }
}
