//! Why a receiver refuses a batch, or a whole link.

use dunlin_node::http::{Answer, json};
use hyper::StatusCode;
use serde_json::json;

/// Why a batch is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is of this very cluster.
    SameCluster,
    /// The other cluster has the number of this one.
    SameNumber,
    /// Its keyspace has another number.
    Keyspace,
    /// The sender's clock is so many milliseconds ahead.
    Clock(u64),
    /// It comes too late.
    Late,
    /// Its link is broken.
    Broken,
    /// Its link is dropped.
    Dropped,
    /// It has entries of a cluster that the sender has not reported yet.
    Home,
    /// It is to repair this cluster, with entries older than deletes are remembered.
    OldRepair,
}

impl Refused {
    /// As the sender gets it.
    pub fn answer(&self) -> Answer {
        let (status, reason, error) = match self {
            Refused::SameCluster => (
                409,
                "same_cluster",
                "the entries are of this very cluster: a link leads to another one".to_owned(),
            ),
            Refused::SameNumber => (
                409,
                "same_number",
                "two of the clusters that are linked have the same number, the first bits of their ids: they cannot be linked".to_owned(),
            ),
            Refused::Keyspace => (
                409,
                "keyspace",
                "the keyspace was dropped and made anew since the link was made: drop the link, and make it anew".to_owned(),
            ),
            Refused::Clock(ahead_ms) => (
                409,
                "clock",
                format!(
                    "the sender's clock is {ahead_ms} ms ahead of the one here, more than --clock-bound: set one of them right"
                ),
            ),
            Refused::Broken => (
                409,
                "broken",
                "the link has not delivered all for most of the tombstone grace here, and deletes may be forgotten: drop it and this keyspace, and make both anew".to_owned(),
            ),
            Refused::Dropped => (
                409,
                "dropped",
                "the link was dropped, at this end or the other: drop it at the other, and make a new one".to_owned(),
            ),
            Refused::Home => (
                409,
                "home",
                "the sender has to report first from which clusters its entries are".to_owned(),
            ),
            Refused::OldRepair => (
                409,
                "old_repair",
                "the repair has entries older than deletes are remembered here, which may have been deleted: it needs a link from here to the sender that has delivered all lately".to_owned(),
            ),
            Refused::Late => (
                408,
                "late",
                "the batch comes after its deadline: nothing was written".to_owned(),
            ),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::CONFLICT);
        json(status, &json!({ "error": error, "reason": reason }))
    }
}
