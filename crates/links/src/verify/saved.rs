//! The state of a comparison in `_system`, from which it goes on.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_node::{Failure, Services};
use dunlin_proto::Condition;
use dunlin_proto::api::LinkVerified;
use serde::{Deserialize, Serialize};

use crate::system::write;

/// Where a comparison goes on, and its counts up to there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The next partition, of so many.
    pub partition: u16,
    pub of: u16,
    /// The next key, in base64.
    pub start_base64: String,
    pub verified: LinkVerified,
}

fn key(keyspace: u32, link: u32) -> Bytes {
    format!("link-verify/{keyspace:08x}/{link}").into()
}

/// That of a link; none where there is none.
pub(crate) async fn load(
    services: &Rc<Services>,
    keyspace: u32,
    link: u32,
) -> Result<Option<Saved>, Failure> {
    let Some(system) = services.system() else {
        return Ok(None);
    };
    let item = services.read(system, &key(keyspace, link)).await?;
    Ok(item.and_then(|item| serde_json::from_slice(&item.value).ok()))
}

/// Writes it; `None` removes it.
pub(crate) async fn save(
    services: &Rc<Services>,
    (keyspace, link): (u32, u32),
    saved: Option<&Saved>,
) -> Result<(), Failure> {
    let system = services.system().ok_or(Failure::UnknownKeyspace)?;
    let value = saved.map(|saved| serde_json::to_vec(saved).unwrap_or_default().into());
    let key = key(keyspace, link);
    write(services, system, key, value, Condition::None).await?;
    Ok(())
}
