//! Records in the keyspace `_system`.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_node::{Failure, Quorum, Services};
use dunlin_proto::{Condition, WriteRequest};

/// A majority of the replicas of a record.
pub(crate) fn quorum(services: &Services, system: u32) -> Quorum {
    let from = services.replicas(system, 0).len().clamp(1, 255) as u8;
    Quorum {
        ack: from / 2 + 1,
        from,
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
