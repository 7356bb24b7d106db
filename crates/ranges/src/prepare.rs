//! What a shard answers the leader of a range: whether a replica is here, and whether one may be made.

use std::rc::Rc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_node::{Sabotage, Services};
use dunlin_versions::Meta;

use crate::begin::new_directory;
use crate::group::keyspace_of;
use crate::place::{Held, Offer, is_here, offer};
use crate::ranges::{AtShard, Silent};
use crate::wire::{Malformed, PROBE};

/// Asks for one replica of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaRequest {
    pub group: u64,
    /// The replica's number.
    pub id: u64,
    /// With a probe its directory number, with an offer the configuration that it is made for.
    pub number: u64,
}

/// A shard's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplicaReply {
    /// It is here, with this directory number.
    Yes(u64),
    /// It is not, and never will be; or it may not be made.
    No,
    /// It cannot be said now.
    Unknown,
}

impl ReplicaRequest {
    /// As it is sent, with its kind.
    pub fn encode(&self, kind: u8) -> Bytes {
        let mut out = BytesMut::with_capacity(25);
        out.put_u8(kind);
        out.put_u64_le(self.group);
        out.put_u64_le(self.id);
        out.put_u64_le(self.number);
        out.freeze()
    }

    /// The same back, without its kind.
    pub fn decode(mut from: Bytes) -> Result<ReplicaRequest, Malformed> {
        let from = &mut from;
        let request = ReplicaRequest {
            group: from.try_get_u64_le().map_err(|_| Malformed)?,
            id: from.try_get_u64_le().map_err(|_| Malformed)?,
            number: from.try_get_u64_le().map_err(|_| Malformed)?,
        };
        from.is_empty().then_some(request).ok_or(Malformed)
    }
}

impl ReplicaReply {
    /// As it is sent.
    pub fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(9);
        let (kind, directory) = match self {
            ReplicaReply::Unknown => (0, 0),
            ReplicaReply::No => (1, 0),
            ReplicaReply::Yes(directory) => (2, directory),
        };
        out.put_u8(kind);
        out.put_u64_le(directory);
        out.freeze()
    }

    /// The same back; what cannot be read says nothing.
    pub fn decode(mut from: Bytes) -> ReplicaReply {
        let (kind, directory) = (from.try_get_u8(), from.try_get_u64_le());
        match (kind, directory) {
            (Ok(1), Ok(_)) => ReplicaReply::No,
            (Ok(2), Ok(directory)) => ReplicaReply::Yes(directory),
            _ => ReplicaReply::Unknown,
        }
    }
}

impl AtShard {
    /// Answers a probe or an offer.
    pub async fn answer(
        self: &Rc<Self>,
        services: &Rc<Services>,
        kind: u8,
        request: ReplicaRequest,
    ) -> ReplicaReply {
        let answer = match kind {
            PROBE if self.sabotage == Sabotage::ReuseReplicaNumber => {
                self.reuse(services, request).await
            }
            PROBE => self.probe(request),
            _ => self.prepare(services, request).await,
        };
        answer.unwrap_or_else(|why| {
            tracing::warn!(
                range = request.group,
                why,
                "a replica of a range is not made"
            );
            ReplicaReply::Unknown
        })
    }

    /// The replica of a range here, by durable rows and log; none while it is being changed.
    fn held(&self, group: u64) -> Result<Option<Held>, String> {
        if self.busy.borrow().contains(&group) {
            return Ok(None);
        }
        if let Some(speaks) = self.group(group) {
            let (id, directory) = (speaks.others.own, speaks.meta.get().directory);
            return Ok(Some(match &*speaks.others.descriptor.borrow() {
                None => Held::Prepared { id, directory },
                Some(_) => Held::Speaks { id, directory },
            }));
        }
        let is_silent = matches!(self.silent.borrow().get(&group), Some(Silent::Mute(_)));
        let meta = self.store.meta(group).map_err(|error| error.to_string())?;
        let least = self.store.least(group).map_err(|error| error.to_string())?;
        Ok(Some(match meta {
            // The store is lost, and the log is not.
            None if least == 0 && self.log.group(group).is_some() => Held::Silent { id: 0 },
            None => Held::Nothing { least },
            Some(meta) if is_silent => Held::Silent { id: meta.own },
            Some(meta) => Held::Speaks {
                id: meta.own,
                directory: meta.directory,
            },
        }))
    }

    fn probe(&self, request: ReplicaRequest) -> Result<ReplicaReply, String> {
        Ok(match self.held(request.group)? {
            None => ReplicaReply::Unknown,
            Some(held) if is_here(request.id, request.number, held) => {
                ReplicaReply::Yes(request.number)
            }
            Some(_) => ReplicaReply::No,
        })
    }

    /// A deliberate bug, for the simulation to find: a replica that is not here is made, as if it always had been.
    async fn reuse(
        self: &Rc<Self>,
        services: &Rc<Services>,
        request: ReplicaRequest,
    ) -> Result<ReplicaReply, String> {
        if !matches!(self.held(request.group)?, Some(Held::Nothing { .. })) {
            return self.probe(request);
        }
        let meta = Meta {
            own: request.id,
            directory: request.number,
            ..Meta::default()
        };
        self.make_empty(services, request.group, meta).await?;
        Ok(ReplicaReply::Yes(meta.directory))
    }

    /// Makes an empty replica, durably, unless one is here that speaks.
    async fn prepare(
        self: &Rc<Self>,
        services: &Rc<Services>,
        request: ReplicaRequest,
    ) -> Result<ReplicaReply, String> {
        let Some(held) = self.held(request.group)? else {
            return Ok(ReplicaReply::Unknown);
        };
        let keyspace = keyspace_of(request.group);
        let is_known = services.transactional_keyspace(keyspace).is_some();
        if !is_known || services.is_dropped(keyspace) {
            return Ok(ReplicaReply::Unknown);
        }
        let discards = self.sabotage == Sabotage::PrepareDiscardsVoter;
        match offer(request.id, held) {
            Offer::Made(directory) => return Ok(ReplicaReply::Yes(directory)),
            Offer::Refuse if !discards => return Ok(ReplicaReply::No),
            Offer::Make | Offer::Replace | Offer::Refuse => {}
        }
        let meta = Meta {
            own: request.id,
            directory: new_directory(services, request.group),
            config: request.number,
            ..Meta::default()
        };
        self.make_empty(services, request.group, meta).await?;
        Ok(ReplicaReply::Yes(meta.directory))
    }

    /// Makes a replica without rows, in the stead of any that is here, and has it speak.
    async fn make_empty(
        self: &Rc<Self>,
        services: &Rc<Services>,
        group: u64,
        meta: Meta,
    ) -> Result<(), String> {
        self.busy.borrow_mut().insert(group);
        let made = self.replace(services, group, meta).await;
        self.busy.borrow_mut().remove(&group);
        made
    }

    async fn replace(
        self: &Rc<Self>,
        services: &Rc<Services>,
        group: u64,
        meta: Meta,
    ) -> Result<(), String> {
        if let Some(former) = self.groups.borrow_mut().remove(&group) {
            former.fail("a newer replica takes its place");
        }
        let place = self.take_place();
        self.make(vec![(group, Meta { place, ..meta })]).await?;
        self.speak(services, group).await
    }
}
