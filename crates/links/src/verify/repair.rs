//! Repairs keys that differ: sends the record here to the other cluster, or takes the one there. No delete is invented.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_entry::{Entry, Version};
use dunlin_node::http::Rejected;
use dunlin_proto::api::Difference;
use tokio::time::Instant;

use super::confirm::{Confirm, Confirmed};
use super::digest::plain;
use super::outcome::Outcome;
use super::serve::KEYS_MAX;
use crate::age::{self, Age};
use crate::batch::Builder;
use crate::gauge::Gauge;
use crate::place::cluster_id;
use crate::post::{Outgoing, Sender};
use crate::receive::write;
use crate::repairs::is_old;
use crate::report::{grace_ms, read_table};
use crate::times::Times;

/// Bytes of values after which a batch is sent.
const BATCH_BYTES: usize = 256 << 10;

/// The keys that a repair has made equal, and why others are not repaired.
#[derive(Default)]
pub(crate) struct Repaired {
    pub equal: u64,
    pub why: Option<String>,
}

impl Confirm {
    /// Repairs keys; reads them again then.
    pub async fn repair(&self, keys: &[Confirmed], times: Times) -> Result<Repaired, String> {
        let of = |what: Difference| {
            let of_kind = move |key: &&Confirmed| key.outcome == Some(Outcome::Different(what));
            let keys = keys.iter().filter(of_kind);
            keys.map(|key| key.key.clone()).collect::<Vec<Bytes>>()
        };
        let (there, here) = (of(Difference::MissingThere), of(Difference::MissingHere));
        let mut repaired = Repaired::default();
        if let Err(line) = self.send(&there, times).await {
            repaired.why = Some(line);
        }
        if let Err(line) = self.fetch(&here, times).await {
            repaired.why = Some(line);
        }
        let tried: Vec<Bytes> = there.into_iter().chain(here).collect();
        for keys in tried.chunks(KEYS_MAX) {
            let again = self.all(keys.to_vec()).await?;
            let equal = again.iter().filter(|k| k.outcome == Some(Outcome::Equal));
            repaired.equal += equal.count() as u64;
        }
        Ok(repaired)
    }

    fn sender(&self, times: Times) -> Sender {
        Sender {
            services: self.services.clone(),
            keyspace: self.keyspace,
            link: self.other.link.clone(),
            gauge: std::rc::Rc::<Gauge>::default(),
            transport: self.other.transport.clone(),
            times,
        }
    }

    /// Sends the records of keys to the other cluster.
    async fn send(&self, keys: &[Bytes], times: Times) -> Result<(), String> {
        let mut batch = Builder::default();
        for (number, key) in keys.iter().enumerate() {
            let read = self.services.read_record(self.keyspace, key).await;
            let read = read.map_err(|failure| format!("a key cannot be read here: {failure}"))?;
            if let Some(item) = read {
                batch.push(&plain(key.clone(), &item.by_ref(), item.value.clone()));
            }
            let is_last = number + 1 == keys.len();
            if batch.count > 0 && (is_last || batch.len() >= BATCH_BYTES) {
                let until_ms = self.services.now_ms() + times.life_ms();
                let outgoing = Outgoing {
                    number: 0,
                    entries: std::mem::take(&mut batch),
                    read: Instant::now(),
                    deadline: Version::new(until_ms, 0),
                    is_repair: true,
                };
                let posted = self.sender(times).post(outgoing).await;
                posted.map_err(|trouble| format!("a repair is refused: {}", trouble.line))?;
            }
        }
        Ok(())
    }

    /// Takes the records of keys from the other cluster, where a link leads from that keyspace to this one.
    async fn fetch(&self, keys: &[Bytes], times: Times) -> Result<(), String> {
        if keys.is_empty() {
            return Ok(());
        }
        let services = &self.services;
        let name = services.keyspace_name(self.keyspace);
        let target = services.linked_keyspace(&name);
        let target = target.ok_or("the keyspace here is dropped")?;
        let own = cluster_id(services);
        let links = self.other.links().await?;
        let mut back = links.iter();
        if !back.any(|link| link.cluster == own && link.keyspace == name) {
            return Err("records that are missing here are repaired only where a link leads back: verify the link that brings them, at its own cluster".to_owned());
        }
        let unread = |failure| format!("the link's progress cannot be read: {failure}");
        let table = read_table(services, self.keyspace, &self.other.link).await;
        let table = table.map_err(unread)?;
        let (now_ms, grace_ms) = (services.now_ms(), grace_ms(services, &self.other.link));
        let sender = (own.as_str(), self.other.link.created_ms);
        let knows_deletes = age::check(now_ms, grace_ms, sender, &table).age == Age::Good;
        let deadline = Version::new(now_ms + times.life_ms(), 0);
        let mut keys = keys.to_vec();
        while !keys.is_empty() {
            let wanted: Vec<Bytes> = keys.drain(..keys.len().min(KEYS_MAX)).collect();
            let there = self.other.records(&wanted, true).await?.entries;
            if let Some(last) = there.last()
                && there.len() < wanted.len()
            {
                // Those behind the last did not fit.
                let behind = wanted.iter().position(|key| *key == last.key);
                keys.extend(
                    wanted
                        .iter()
                        .skip(behind.unwrap_or(wanted.len()) + 1)
                        .cloned(),
                );
            }
            let bound_ms = services.clock_bound_ms();
            let may = |entry: &Entry| {
                knows_deletes || !is_old(entry.rank().height(), now_ms, grace_ms, bound_ms)
            };
            let (taken, old): (Vec<_>, Vec<_>) = there.into_iter().partition(may);
            if let Some(entry) = old.first() {
                let key = STANDARD.encode(&entry.key);
                return Err(format!(
                    "{key} (base64) is older than deletes are remembered here, and the link has not delivered all lately: it may have been deleted"
                ));
            }
            for entry in &taken {
                services.observe(entry.stamp.version);
            }
            let writes = taken
                .into_iter()
                .map(|entry| write(entry, &target, deadline));
            let written = services.write_given(self.keyspace, target.quorum, deadline, writes);
            let failed = |failure| Rejected::from(failure).line;
            written.await.map_err(failed)?;
        }
        Ok(())
    }
}
