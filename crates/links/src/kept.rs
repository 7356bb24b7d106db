//! The records of a link's progress where they are kept: in the keyspace `_system`, one for each shard that sends.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Stamp;
use dunlin_node::{Failure, Services};
use dunlin_proto::{Condition, Item, ShardAddress};

use crate::progress::{Progress, Record};
use crate::system::{list, write};

/// The shard's own record.
pub(crate) struct Kept {
    services: Rc<Services>,
    key: Bytes,
    /// Its version; none while there is none.
    version: Option<Stamp>,
}

/// The prefix of the keys of a link's records.
fn prefix(keyspace: u32, link: u32) -> String {
    format!("link/{keyspace:08x}/{link}/")
}

fn key(keyspace: u32, link: u32, shard: ShardAddress) -> Bytes {
    let prefix = prefix(keyspace, link);
    format!("{prefix}{}.{}", shard.node, shard.shard).into()
}

/// All records of a link.
async fn items(services: &Rc<Services>, keyspace: u32, link: u32) -> Result<Vec<Item>, Failure> {
    list(services, prefix(keyspace, link)).await
}

fn progress_of(items: &[Item]) -> Progress {
    let mut records = Vec::with_capacity(items.len());
    for item in items {
        match serde_json::from_slice::<Record>(&item.value) {
            Ok(record) => records.push(record),
            Err(error) => {
                let key = String::from_utf8_lossy(&item.key);
                tracing::warn!(%key, %error, "a record of a link's progress cannot be read");
            }
        }
    }
    let (progress, damaged) = Progress::of(&records);
    for why in damaged {
        tracing::warn!(why, "a token of a link's progress cannot be read");
    }
    progress
}

/// The progress of a link, out of the records of all shards.
pub(crate) async fn progress(
    services: &Rc<Services>,
    keyspace: u32,
    link: u32,
) -> Result<Progress, Failure> {
    Ok(progress_of(&items(services, keyspace, link).await?))
}

/// Removes the records of a link that is dropped.
pub(crate) async fn remove(
    services: &Rc<Services>,
    keyspace: u32,
    link: u32,
) -> Result<(), Failure> {
    let Some(system) = services.system() else {
        return Ok(());
    };
    for item in items(services, keyspace, link).await? {
        write(services, system, item.key, None, Condition::None).await?;
    }
    Ok(())
}

impl Kept {
    /// The progress of a link, and this shard's own record of it.
    pub async fn load(
        services: &Rc<Services>,
        keyspace: u32,
        link: u32,
    ) -> Result<(Progress, Kept), Failure> {
        let items = items(services, keyspace, link).await?;
        let key = key(keyspace, link, services.shard().address());
        let own = items.iter().find(|item| item.key == key);
        let kept = Kept {
            services: services.clone(),
            version: own.map(|item| item.stamp),
            key,
        };
        Ok((progress_of(&items), kept))
    }

    /// Writes the own record. It fails where another process of this node has written it meanwhile.
    pub async fn commit(&mut self, record: &Record) -> Result<(), Failure> {
        let system = self.services.system().ok_or(Failure::UnknownKeyspace)?;
        let value = serde_json::to_vec(record).unwrap_or_default();
        let condition = self.version.map_or(Condition::Absent, Condition::Is);
        let (services, key) = (&self.services, self.key.clone());
        let version = write(services, system, key, Some(value.into()), condition).await?;
        self.version = Some(version);
        Ok(())
    }
}
