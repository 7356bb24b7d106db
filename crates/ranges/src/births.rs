//! First replicas of ranges, those of a look together: one flush, one sync and one change of a keyspace's record for all.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_metadata::RangeReplica;
use dunlin_node::Services;
use dunlin_raftlog::{Position, Record, Vote};
use dunlin_versions::Meta;

use crate::descriptor::Descriptor;
use crate::group::{applied, keyspace_of, number_of};
use crate::ranges::{AtShard, Silent};

/// Steps of ranges that begin, by their numbers.
#[derive(Default)]
pub(crate) struct Births {
    made: Vec<(u64, Meta)>,
    described: Vec<(u64, Meta, Descriptor)>,
    noted: BTreeMap<u64, Option<RangeReplica>>,
    ids: BTreeSet<u64>,
}

impl Births {
    /// A replica is to be made.
    pub fn make(&mut self, id: u64, meta: Meta) {
        self.ids.insert(id);
        self.made.push((id, meta));
    }

    /// The first descriptor of a range is to be written, durably, before `ready` is noted.
    pub fn describe(&mut self, id: u64, meta: Meta, descriptor: Descriptor) {
        self.ids.insert(id);
        self.described.push((id, meta, descriptor));
    }

    /// The record is to note that a replica was made, or that all were.
    pub fn note(&mut self, id: u64, made: Option<RangeReplica>) {
        self.ids.insert(id);
        self.noted.insert(id, made);
    }

    /// The ranges that have a step.
    pub fn ids(&self) -> &BTreeSet<u64> {
        &self.ids
    }
}

impl AtShard {
    /// Takes all these steps.
    pub async fn carry_out(&self, services: &Services, births: Births) -> Result<(), String> {
        let Births {
            made,
            described,
            noted,
            ids: _,
        } = births;
        if !made.is_empty() {
            self.make(made).await?;
        }
        if !described.is_empty() {
            self.describe(described).await?;
        }
        let mut by_keyspace: BTreeMap<u32, BTreeMap<u16, _>> = BTreeMap::new();
        for (id, made) in noted {
            self.silent.borrow_mut().insert(id, Silent::Preparing);
            let of_keyspace = by_keyspace.entry(keyspace_of(id)).or_default();
            of_keyspace.insert(number_of(id), made);
        }
        for (keyspace, made) in by_keyspace {
            if services.is_dropped(keyspace) {
                continue;
            }
            // The store may not answer: then it is tried again at the next look.
            if let Err(error) = services.ranges_made(keyspace, &made).await {
                tracing::info!(%error, keyspace, "replicas of ranges are not noted yet");
            }
        }
        Ok(())
    }

    /// Makes replicas without rows, durably, in the stead of any that are here.
    pub async fn make(&self, made: Vec<(u64, Meta)>) -> Result<(), String> {
        let first = |(id, meta): &(u64, Meta)| {
            let (term, vote) = (meta.term, 0);
            first_record(*id, applied(meta), Vote { term, vote })
        };
        let logs: Vec<Record> = made.iter().map(first).collect();
        let written = self.behind(move |store| {
            for (id, meta) in &made {
                match store.meta(*id)? {
                    Some(before) => store.replace(*id, before.place, meta)?,
                    None => store.set(*id, meta)?,
                }
            }
            store.flush()
        });
        written.await?;
        self.append(logs).await
    }

    /// Writes rows and descriptors of replicas, durably.
    pub async fn describe(&self, described: Vec<(u64, Meta, Descriptor)>) -> Result<(), String> {
        let written = self.behind(move |store| {
            for (id, meta, descriptor) in described {
                store.set_with(id, &meta, &descriptor.encode())?;
            }
            store.flush()
        });
        written.await
    }

    /// Writes records, durably.
    pub async fn append(&self, records: Vec<Record>) -> Result<(), String> {
        let mut last = 0;
        for record in records {
            let index = self.log.append(&record);
            last = index.map_err(|error| error.to_string())?;
            self.log.take(record);
        }
        let synced = self.log.log().wait_synced(last).await;
        synced.map_err(|failure| failure.to_string())
    }
}

/// The record with which the log of a replica begins, or begins anew.
pub(crate) fn first_record(id: u64, position: Position, vote: Vote) -> Record {
    Record {
        group: id,
        begin: Some(position),
        vote: Some(vote),
        ..Record::default()
    }
}
