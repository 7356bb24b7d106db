//! Whether entries may repair this cluster: an entry older than a forgotten delete of its key would bring the key back.

use std::rc::Rc;

use dunlin_entry::{Entry, Version};
use dunlin_node::http::Rejected;
use dunlin_node::{LinkedKeyspace, Services};

use crate::age::{self, Age};
use crate::arrivals::{grace_ms, sender_keyspace};
use crate::batch::Preamble;
use crate::place::cluster_id;
use crate::refused::Refused;
use crate::report;

/// Whether a delete that is newer than an entry could have been forgotten here. Clocks are up to `bound_ms` apart. Pure.
pub(crate) fn is_old(version: Version, now_ms: u64, grace_ms: u64, bound_ms: u64) -> bool {
    version.millis() <= now_ms.saturating_sub(grace_ms) + bound_ms
}

/// Why a batch may not repair this cluster, if so: it has old entries, and its sender does not know all deletes of here.
pub(crate) async fn refusal(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    preamble: &Preamble,
    entries: &[Entry],
) -> Result<Option<Refused>, Rejected> {
    let (now_ms, bound_ms) = (services.now_ms(), services.clock_bound_ms());
    let grace_ms = grace_ms(services, keyspace);
    let oldest = entries.iter().map(|entry| entry.rank().height()).min();
    if oldest.is_none_or(|oldest| !is_old(oldest, now_ms, grace_ms, bound_ms)) {
        return Ok(None);
    }
    let id = keyspace.record.id;
    let inlet = (id, preamble.cluster, preamble.link);
    let theirs = sender_keyspace(services, inlet).await?;
    let sender = format!("{:032x}", preamble.cluster);
    let own = cluster_id(services);
    for (from, link) in services.links() {
        let is_back = from == id && link.cluster == sender && link.keyspace_id == theirs;
        if !is_back || !link.prefix.is_empty() {
            continue;
        }
        let table = report::read_table(services, id, &link).await?;
        let home = (own.as_str(), link.created_ms);
        let grace_ms = report::grace_ms(services, &link).min(grace_ms);
        if age::check(now_ms, grace_ms, home, &table).age == Age::Good {
            return Ok(None);
        }
    }
    Ok(Some(Refused::OldRepair))
}
