//! Records in the keyspace `_system`.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_node::{Failure, Quorum, Scan, Services};
use dunlin_proto::{Condition, Item, WriteRequest};

/// A majority of the replicas of a record.
pub(crate) fn quorum(services: &Services, system: u32) -> Quorum {
    let from = services.replicas(system, 0).len().clamp(1, 255) as u8;
    Quorum {
        ack: from / 2 + 1,
        from,
    }
}

/// All records whose keys begin with a prefix.
pub(crate) async fn list(services: &Rc<Services>, prefix: String) -> Result<Vec<Item>, Failure> {
    let Some(system) = services.system() else {
        return Ok(Vec::new());
    };
    let start = Bytes::from(prefix);
    let mut end = start.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    let coordinator = services.coordinator();
    let quorum = quorum(services, system);
    let mut scan = Scan::begin(coordinator, system, start, Some(end.into()), quorum)?;
    let mut items = Vec::new();
    loop {
        let page = scan.next_page().await?;
        if page.is_empty() {
            return Ok(items);
        }
        items.extend(page);
    }
}

/// Writes a record, or deletes it.
pub(crate) async fn write(
    services: &Rc<Services>,
    system: u32,
    key: Bytes,
    value: Option<Bytes>,
    condition: Condition,
) -> Result<Stamp, Failure> {
    let quorum = quorum(services, system);
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
        key,
        value: value.unwrap_or_default(),
        deadline: Version::MAX,
        floor: Version(0),
        replaces: None,
        given: None,
    };
    services.coordinator().write(request).await
}
