//! Named cursors where they are kept: in the keyspace `_system`, like data, each change a conditional write.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_node::http::Rejected;
use dunlin_node::{Failure, Quorum, Scan, Services};
use dunlin_proto::{Condition, Item, WriteRequest};
use hyper::StatusCode;

use crate::cursor::{Cursor, CursorError};

/// What others have changed meanwhile is read again so often.
const TRIES: u32 = 8;

/// The cursors of a keyspace.
pub(crate) struct Cursors<'a> {
    services: &'a Rc<Services>,
    keyspace: u32,
}

impl<'a> Cursors<'a> {
    pub fn of(services: &'a Rc<Services>, keyspace: u32) -> Cursors<'a> {
        Cursors { services, keyspace }
    }

    /// The cursor of this name, and its version.
    pub async fn get(&self, name: &str) -> Result<Option<(Cursor, Stamp)>, Rejected> {
        let found = self.item(name).await?.filter(|item| !item.tombstone);
        Ok(match found {
            Some(item) => Some((read(&item.value).map_err(damaged)?, item.stamp)),
            None => None,
        })
    }

    /// The record of this name, or its delete.
    async fn item(&self, name: &str) -> Result<Option<Item>, Rejected> {
        let Some(system) = self.services.system() else {
            return Ok(None);
        };
        let key = key(self.keyspace, name);
        let coordinator = self.services.coordinator();
        Ok(coordinator.read(system, &key, self.quorum(system)).await?)
    }

    /// When the cursor of this name was dropped, in milliseconds since 1970, where that is still known.
    pub async fn dropped_ms(&self, name: &str) -> Result<Option<u64>, Rejected> {
        let found = self.item(name).await?;
        let dropped = found.filter(|item| item.tombstone);
        Ok(dropped.map(|item| item.stamp.version.millis()))
    }

    /// The same, where it is to be there.
    pub async fn named(&self, name: &str) -> Result<(Cursor, Stamp), Rejected> {
        self.get(name).await?.ok_or_else(|| missing(name))
    }

    /// All of them, by name, and damaged ones.
    pub async fn all(&self) -> Result<(Vec<Cursor>, Vec<Damaged>), Rejected> {
        let prefix = key(self.keyspace, "");
        let (cursors, damaged) = list(self.services, prefix).await?;
        let cursors = cursors.into_iter().map(|(cursor, _)| cursor);
        Ok((cursors.collect(), damaged))
    }

    /// Makes one, unless there is one of its name.
    pub async fn create(&self, cursor: &Cursor) -> Result<(), Failure> {
        let system = self.services.system().ok_or(Failure::UnknownKeyspace)?;
        self.put(system, cursor, Condition::Absent).await
    }

    /// Changes one as it is now. What others change meanwhile is seen.
    pub async fn change(
        &self,
        name: &str,
        change: impl Fn(Cursor) -> Result<Cursor, CursorError>,
    ) -> Result<Cursor, Rejected> {
        let mut failure = None;
        for _ in 0..TRIES {
            let (cursor, stamp) = self.named(name).await?;
            let changed = change(cursor)
                .map_err(|error| Rejected::new(StatusCode::CONFLICT, error.to_string()))?;
            let system = self.services.system().ok_or(Failure::UnknownKeyspace)?;
            match self.put(system, &changed, Condition::Is(stamp)).await {
                Ok(()) => return Ok(changed),
                Err(Failure::ConditionFailed(_)) => failure = Some(Failure::Busy),
                Err(error) => return Err(error.into()),
            }
        }
        Err(failure.unwrap_or(Failure::Busy).into())
    }

    pub async fn delete(&self, name: &str) -> Result<(), Rejected> {
        let system = self.services.system().ok_or_else(|| missing(name))?;
        // Its record may be damaged: it is not read.
        let deleted = self.write(system, name, None, Condition::Present).await;
        deleted.map_err(|failure| match failure {
            Failure::ConditionFailed(_) => missing(name),
            failure => failure.into(),
        })
    }

    async fn put(&self, system: u32, cursor: &Cursor, on: Condition) -> Result<(), Failure> {
        let value = serde_json::to_vec(cursor).unwrap_or_default();
        self.write(system, &cursor.name, Some(value.into()), on)
            .await
    }

    async fn write(
        &self,
        system: u32,
        name: &str,
        value: Option<Bytes>,
        condition: Condition,
    ) -> Result<(), Failure> {
        let quorum = self.quorum(system);
        let request = WriteRequest {
            keyspace: system,
            kind: match value {
                Some(_) => Kind::Put,
                None => Kind::Delete,
            },
            ack: quorum.ack,
            from: quorum.from,
            condition,
            expiry_ms: None,
            key: key(self.keyspace, name),
            value: value.unwrap_or_default(),
            deadline: Version::MAX,
            floor: Version(0),
            replaces: None,
            given: None,
        };
        self.services.coordinator().write(request).await.map(drop)
    }

    fn quorum(&self, system: u32) -> Quorum {
        quorum(self.services, system)
    }
}

/// A majority.
fn quorum(services: &Services, system: u32) -> Quorum {
    let from = services.replicas(system, 0).len().clamp(1, 255) as u8;
    Quorum {
        ack: from / 2 + 1,
        from,
    }
}

fn missing(name: &str) -> Rejected {
    let line = format!(
        "there is no cursor {name} of this keyspace: make it with PUT, or dunlin cursor create"
    );
    Rejected::new(StatusCode::NOT_FOUND, line)
}

/// A cursor whose record cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damaged {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// All cursors whose keys begin so with their versions, and those that cannot be read.
pub(crate) async fn list(
    services: &Rc<Services>,
    prefix: Bytes,
) -> Result<(Vec<(Cursor, Stamp)>, Vec<Damaged>), Rejected> {
    let (mut cursors, mut damaged) = (Vec::new(), Vec::new());
    let Some(system) = services.system() else {
        return Ok((cursors, damaged));
    };
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    let quorum = quorum(services, system);
    let coordinator = services.coordinator();
    let mut scan = Scan::begin(coordinator, system, prefix, Some(end.into()), quorum)?;
    loop {
        let page = scan.next_page().await?;
        if page.is_empty() {
            return Ok((cursors, damaged));
        }
        for item in page {
            match read_record(&item.key, &item.value) {
                Ok(cursor) => cursors.push((cursor, item.stamp)),
                Err(error) => damaged.push(error),
            }
        }
    }
}

/// What the keys of all cursors begin with.
pub(crate) const PREFIX: &str = "cursor/";

fn key(keyspace: u32, name: &str) -> Bytes {
    format!("{PREFIX}{keyspace:08x}/{name}").into()
}

fn read(value: &[u8]) -> Result<Cursor, String> {
    serde_json::from_slice(value).map_err(|error| error.to_string())
}

/// A cursor, or which one cannot be read.
fn read_record(key: &[u8], value: &[u8]) -> Result<Cursor, Damaged> {
    read(value).map_err(|why| {
        let name = String::from_utf8_lossy(key);
        let name = name.splitn(3, '/').last().unwrap_or_default().to_owned();
        Damaged { name, why }
    })
}

fn damaged(why: String) -> Rejected {
    let line = format!(
        "the record of this cursor cannot be read ({why}): drop it with DELETE, or dunlin cursor drop, and make it again"
    );
    Rejected::new(StatusCode::INTERNAL_SERVER_ERROR, line)
}

#[cfg(test)]
#[path = "cursors_tests.rs"]
mod tests;
