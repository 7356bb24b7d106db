//! Replicas at a shard: they are made, begin to speak, and go.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dunlin_entry::Version;
use dunlin_metadata::{Keyspace, RangeRecord, RangeReplica, Recovery};
use dunlin_node::plug::ORACLE_KEYSPACE;
use dunlin_node::{Sabotage, Services};
use dunlin_proto::ShardAddress;
use dunlin_raftlog::{Position, Record, Vote};
use dunlin_versions::Meta;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::births::{Births, first_record};
use crate::descriptor::{Descriptor, FIRST};
use crate::group::{Group, address_of, applied, keyspace_of, number_of};
use crate::place::{OwnPlace, least_after, stays};
use crate::ranges::{AtShard, Silent};
use crate::start::{Own, Recorded, Start, start};

/// The position behind which the log of a new range begins.
const BEGIN: Position = Position {
    index: FIRST,
    term: FIRST,
};

/// A range of which a replica is here, or is to be.
struct Wanted<'a> {
    id: u64,
    keyspace: &'a Keyspace,
    record: &'a RangeRecord,
    /// The replica here, by the record.
    replica: Option<RangeReplica>,
    /// What the store knows.
    meta: Option<Meta>,
    /// The number of the configuration of its descriptor, and whether that names it; none where it has none.
    known: Option<(u64, bool)>,
}

fn of_own(known: &Descriptor, own: u64) -> (u64, bool) {
    (known.config, known.member(own).is_some())
}

impl Wanted<'_> {
    /// Whether the replica at this shard stays, by the published replicas.
    fn stays(&self, at: ShardAddress, meta: &Meta) -> bool {
        let (config, is_named) = self.known.unwrap_or((meta.config, true));
        let replicas = self.record.replicas.iter();
        let replicas = replicas.map(|replica| (replica.id, address_of(replica)));
        let own = OwnPlace {
            id: meta.own,
            at,
            config,
            is_named,
        };
        stays(own, self.record.config, replicas)
    }

    /// How the range was recovered, where the replica here was kept and does not know of it yet.
    fn begins_again(&self) -> Option<(Meta, Recovery)> {
        let (meta, recovery) = (self.meta?, self.record.recovered?);
        let (known, _) = self.known?;
        let is_kept = self.replica.is_some_and(|replica| {
            (replica.id, replica.directory) == (meta.own, Some(meta.directory))
        });
        // Once it has published that it began again, it does not do so once more.
        (is_kept && self.record.is_beginning() && known < recovery.config)
            .then_some((meta, recovery))
    }

    /// The first descriptor of the range.
    fn first_descriptor(&self) -> Descriptor {
        let replicas = self.record.replicas.iter();
        let replicas = replicas.map(|r| (r.id, address_of(r), r.directory.unwrap_or(0)));
        beginning(self.record, replicas)
    }

    /// The replica of the record with a directory number.
    fn made(&self, directory: Option<u64>) -> Option<RangeReplica> {
        let replica = self.replica?;
        Some(RangeReplica {
            directory,
            ..replica
        })
    }
}

impl AtShard {
    /// The greatest timestamp that entries here had, leases among them.
    pub fn greatest(&self) -> Version {
        let groups = self.groups.borrow();
        let known = groups.values().map(|group| group.meta.get().greatest);
        known.max().unwrap_or_default()
    }

    /// Takes each replica one step further.
    pub async fn advance_all(
        self: &Rc<Self>,
        services: &Rc<Services>,
        wanted: &BTreeMap<u64, RangeReplica>,
        held: &BTreeMap<u64, Meta>,
    ) -> Result<(), String> {
        let ids: BTreeSet<u64> = wanted.keys().chain(held.keys()).copied().collect();
        let (mut births, mut failed) = (Births::default(), None);
        for id in ids {
            if !self.busy.borrow_mut().insert(id) {
                continue;
            }
            let replica = wanted.get(&id).copied();
            let advanced = self.look_after(services, id, replica, &mut births).await;
            if !births.ids().contains(&id) {
                self.busy.borrow_mut().remove(&id);
            }
            if let Err(why) = advanced {
                failed = Some(why);
                break;
            }
        }
        let ids = births.ids().clone();
        let carried_out = self.carry_out(services, births).await;
        self.busy.borrow_mut().retain(|id| !ids.contains(id));
        failed.map_or(carried_out, Err)
    }

    async fn look_after(
        self: &Rc<Self>,
        services: &Rc<Services>,
        id: u64,
        replica: Option<RangeReplica>,
        births: &mut Births,
    ) -> Result<(), String> {
        // A keyspace that is not known here yet: nothing is known of its replicas.
        let Some(keyspace) = services.transactional_keyspace(keyspace_of(id)) else {
            return Ok(());
        };
        let Some(record) = keyspace.range(number_of(id)) else {
            return Ok(());
        };
        let (meta, known) = match self.group(id) {
            Some(group) => {
                let meta = group.meta.get();
                let descriptor = group.others.descriptor.borrow();
                let known = descriptor.as_ref().map(|known| of_own(known, meta.own));
                (Some(meta), known)
            }
            None => {
                let meta = self.store.meta(id).map_err(|error| error.to_string())?;
                let own = meta.map_or(0, |meta| meta.own);
                (meta, self.descriptor(id)?.map(|known| of_own(&known, own)))
            }
        };
        let wanted = Wanted {
            id,
            keyspace: &keyspace,
            record,
            replica,
            meta,
            known,
        };
        self.advance(services, &wanted, births).await
    }

    async fn advance(
        self: &Rc<Self>,
        services: &Rc<Services>,
        wanted: &Wanted<'_>,
        births: &mut Births,
    ) -> Result<(), String> {
        let id = wanted.id;
        if let Some(meta) = &wanted.meta
            && !wanted.stays(services.shard().address(), meta)
        {
            return self.remove(id, meta, wanted.known.is_some()).await;
        }
        if let Some((meta, recovery)) = wanted.begins_again() {
            return self.begin_again(wanted, meta, recovery).await;
        }
        if let Some(group) = self.group(id) {
            self.note_drop(services, group);
            return Ok(());
        }
        let start = match (self.look_at(wanted), self.sabotage) {
            (Start::Mute(_), Sabotage::PutBackVotes) if self.log.group(id).is_none() => Start::Make,
            (Start::Mute(_), Sabotage::PutBackVotes) if wanted.meta.is_none() => Start::Make,
            (Start::Mute(_), Sabotage::PutBackVotes) => Start::Speak,
            (start, _) => start,
        };
        match start {
            Start::Nothing => drop(self.silent.borrow_mut().remove(&id)),
            Start::Make => self.make_first(services, wanted, births)?,
            Start::Note => {
                let made = wanted.made(wanted.meta.map(|meta| meta.directory));
                births.note(id, made);
            }
            Start::Describe => {
                let meta = wanted.meta.ok_or("its store has nothing of it")?;
                births.describe(id, meta, wanted.first_descriptor());
            }
            Start::Ready => births.note(id, None),
            Start::Wait => drop(self.silent.borrow_mut().insert(id, Silent::Preparing)),
            Start::Mute(why) => {
                let before = self.silent.borrow_mut().insert(id, Silent::Mute(why));
                if before != Some(Silent::Mute(why)) {
                    let keyspace = &wanted.keyspace.name;
                    tracing::warn!(
                        keyspace,
                        why,
                        "a replica of a range keeps silent until its leader replaces it"
                    );
                }
            }
            Start::Speak => self.speak(services, id).await?,
            Start::SpeakFrom(position) => {
                let log = self.log.group(id);
                let vote = log.map_or(Vote::default(), |log| log.borrow().vote());
                let vote = if vote.term < position.term {
                    Vote {
                        term: position.term,
                        vote: 0,
                    }
                } else {
                    vote
                };
                self.begin(id, position, vote).await?;
                self.speak(services, id).await?;
            }
        }
        Ok(())
    }

    fn look_at(&self, wanted: &Wanted<'_>) -> Start {
        let (record, meta) = (wanted.record, wanted.meta.as_ref());
        let of_own = |replica: &RangeReplica| meta.is_none_or(|meta| meta.own == replica.id);
        let recorded = wanted.replica.filter(of_own).map(|replica| Recorded {
            directory: replica.directory,
            is_beginning: record.is_beginning(),
            are_all: record.replicas.iter().all(|r| r.directory.is_some()),
            ready: record.ready,
        });
        let log = self.log.group(wanted.id);
        let log = log.as_ref().map(|log| log.borrow());
        start(
            recorded,
            Own {
                meta,
                has_descriptor: wanted.known.is_some(),
                log: log.as_deref(),
            },
        )
    }

    /// The replicas of a range, by the store.
    pub fn descriptor(&self, id: u64) -> Result<Option<Descriptor>, String> {
        let bytes = self.store.descriptor(id).map_err(|e| e.to_string())?;
        let descriptor = bytes.map(|bytes| Descriptor::decode(bytes.into()));
        let descriptor = descriptor.transpose();
        descriptor.map_err(|error| error.to_string())
    }

    /// Makes one of the first replicas of a range.
    fn make_first(
        &self,
        services: &Services,
        wanted: &Wanted<'_>,
        births: &mut Births,
    ) -> Result<(), String> {
        let replica = wanted.replica.ok_or("its record does not name it")?;
        let directory = replica.directory;
        let directory = directory.unwrap_or_else(|| new_directory(services, wanted.id));
        let recovered = wanted.record.recovered;
        let meta = Meta {
            own: replica.id,
            directory,
            place: self.take_place(),
            applied: BEGIN.index,
            term: BEGIN.term,
            greatest: recovered.map_or(Version(0), floor),
            ..Meta::default()
        };
        births.make(wanted.id, meta);
        births.note(wanted.id, wanted.made(Some(directory)));
        Ok(())
    }

    /// Has the replica here go on alone, durably, as an operator has decided: with all that it has. It speaks at the next look.
    async fn begin_again(
        &self,
        wanted: &Wanted<'_>,
        meta: Meta,
        recovery: Recovery,
    ) -> Result<(), String> {
        let (id, keyspace) = (wanted.id, &wanted.keyspace.name);
        let at = wanted.replica.map(|replica| address_of(&replica));
        let at = at.ok_or("its record does not name it")?;
        tracing::warn!(
            range = id,
            keyspace,
            "a range begins again with this replica alone"
        );
        if let Some(group) = self.groups.borrow_mut().remove(&id) {
            group.fail("the range is recovered");
        }
        self.silent.borrow_mut().insert(id, Silent::Preparing);
        let log = self.log.group(id);
        let vote = log.map_or(Vote::default(), |log| log.borrow().vote());
        if self.sound_log(id, &meta).is_some() {
            // Alone it counts all that it has as agreed on: that must be durable.
            let record = Record {
                group: id,
                vote: Some(vote),
                ..Record::default()
            };
            self.append(vec![record]).await?;
        } else {
            let term = vote.term.max(meta.term);
            self.begin(id, applied(&meta), Vote { term, vote: 0 })
                .await?;
        }
        let known = self.descriptor(id)?;
        let known = known.ok_or("its store has no replicas of it")?;
        let alone = Descriptor {
            target: known.target,
            ..beginning(wanted.record, [(meta.own, at, meta.directory)])
        };
        let meta = Meta {
            greatest: meta.greatest.max(floor(recovery)),
            is_mute: false,
            ..meta
        };
        self.describe(vec![(id, meta, alone)]).await
    }

    /// Begins a group's log anew, durably.
    pub async fn begin(&self, id: u64, position: Position, vote: Vote) -> Result<(), String> {
        self.append(vec![first_record(id, position, vote)]).await
    }

    /// Has a replica speak, as its store and log are.
    pub async fn speak(&self, services: &Services, id: u64) -> Result<(), String> {
        let keyspace = services.transactional_keyspace(keyspace_of(id));
        let keyspace = keyspace.ok_or("its keyspace is not known")?;
        let meta = self.store.meta(id).map_err(|error| error.to_string())?;
        let meta = meta.ok_or("its store has nothing of it")?;
        let log = self.log.group(id).ok_or("its log has nothing of it")?;
        let state = self.behind(move |store| store.state(&meta)).await?;
        let (descriptor, seed) = (self.descriptor(id)?, services.seed());
        let range = (id, keyspace.name == ORACLE_KEYSPACE);
        let group = Group::new(range, descriptor, (meta, state), log, seed, self.sabotage);
        let group = group.map_err(|error| error.to_string())?;
        self.silent.borrow_mut().remove(&id);
        let group = Rc::new(group);
        self.groups.borrow_mut().insert(id, group.clone());
        self.touch(&group);
        Ok(())
    }

    /// Removes a replica that its range does not have any more.
    async fn remove(
        self: &Rc<Self>,
        id: u64,
        meta: &Meta,
        has_descriptor: bool,
    ) -> Result<(), String> {
        tracing::info!(range = id, replica = meta.own, "a replica of a range goes");
        let least = match self.sabotage {
            Sabotage::RemakeRemoved => 0,
            _ => least_after(meta.own, has_descriptor),
        };
        self.forget(id, least, "its range has others in its stead")
            .await
    }

    /// Removes replicas of keyspaces whose data is to go.
    pub async fn let_go(
        self: &Rc<Self>,
        services: &Services,
        held: &BTreeMap<u64, Meta>,
    ) -> Result<(), String> {
        let silent = self.silent.borrow().keys().copied().collect::<Vec<u64>>();
        let all = held.keys().copied().chain(silent).chain(self.log.groups());
        let gone: BTreeSet<u64> = all
            .filter(|id| services.is_purged(keyspace_of(*id)))
            .collect();
        for id in gone {
            self.forget(id, 0, "its keyspace is dropped").await?;
        }
        Ok(())
    }

    /// Removes all there is here of a range. No replica of it below the number `least` is made here again; 0 for any.
    async fn forget(self: &Rc<Self>, id: u64, least: u64, why: &str) -> Result<(), String> {
        if let Some(group) = self.groups.borrow_mut().remove(&id) {
            group.fail(why);
        }
        self.silent.borrow_mut().remove(&id);
        self.log.forget(id);
        let meta = self.store.meta(id).map_err(|error| error.to_string())?;
        if let Some(Meta { place, .. }) = meta {
            self.behind(move |store| store.remove(id, place, least).and_then(|()| store.flush()))
                .await?;
            self.clear_behind(place);
        }
        Ok(())
    }
}

/// The descriptor with which a range begins, or begins again: then behind the configuration of its record, so that it is
/// published.
fn beginning(
    record: &RangeRecord,
    replicas: impl IntoIterator<Item = (u64, ShardAddress, u64)>,
) -> Descriptor {
    let mut descriptor = Descriptor::first(replicas);
    if let Some(recovery) = record.recovered {
        (descriptor.config, descriptor.next) = (recovery.config + 1, recovery.next);
    }
    descriptor
}

/// No timestamp below is given by a range that was recovered.
fn floor(recovery: Recovery) -> Version {
    Version::new(recovery.floor_ms, 0)
}

/// A number that no other replica has given itself.
pub(crate) fn new_directory(services: &Services, id: u64) -> u64 {
    let seed = services.seed() ^ services.now_ms().rotate_left(20) ^ id << 8;
    StdRng::seed_from_u64(seed).random_range(1..u64::MAX)
}
