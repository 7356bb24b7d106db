//! The links that run at a shard.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dunlin_metadata::LinkRecord;
use dunlin_node::Services;
use dunlin_proto::api::{LinkAtShard, LinkState};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::gauge::Gauge;
use crate::times::Times;
use crate::transport::Transport;

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 4;
/// Requests of other shards: the state of a link, whether there is any record of a keyspace.
pub(crate) const STATUS: u8 = 1;
pub(crate) const HAS_RECORD: u8 = 2;
/// And the sum of a range of keys.
pub(crate) const DIGEST: u8 = 3;

/// A link from another cluster: the keyspace here, the cluster that sends, the number of the link there.
pub(crate) type Inlet = (u32, u128, u32);

/// When a link from another cluster was checked, and the numbers of the clusters whose entries it may bring.
pub(crate) type Good = (Instant, Rc<BTreeSet<u16>>);

/// Links at one shard.
pub(crate) struct LinksAtShard {
    pub transport: Rc<dyn Transport>,
    pub times: Times,
    /// Links from other clusters that were good when they were checked last: the numbers of the clusters whose entries
    /// they may bring.
    pub inlets: RefCell<BTreeMap<Inlet, Good>>,
    /// By number of the keyspace and of the link.
    pub links: RefCell<BTreeMap<(u32, u32), Running>>,
}

/// The times of links at a shard.
pub(crate) fn times(services: &Services) -> Times {
    LinksAtShard::of(services).map_or_else(Times::default, |own| own.times)
}

pub(crate) struct Running {
    /// The record that it started with.
    pub record: LinkRecord,
    pub gauge: Rc<Gauge>,
    /// None where nothing is sent.
    pub task: Option<AbortHandle>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl LinksAtShard {
    /// Those of a shard, where they are plugged in.
    pub fn of(services: &Services) -> Option<Rc<LinksAtShard>> {
        services.find()
    }

    /// How a link is doing here.
    pub fn status(&self, services: &Services, keyspace: u32, link: u32) -> LinkAtShard {
        let at = services.label_of(services.shard().address());
        let links = self.links.borrow();
        let running = links.get(&(keyspace, link));
        running.map_or_else(LinkAtShard::default, |running| running.status(at))
    }
}

impl Running {
    /// As it is shown.
    pub fn status(&self, at: String) -> LinkAtShard {
        let mut status = self.gauge.status(at);
        if let Some((state, why)) = by_record(&self.record) {
            status.state = state;
            status.why = Some(why);
        }
        status
    }
}

/// The state of a link that sends nothing, and why.
pub(crate) fn by_record(link: &LinkRecord) -> Option<(LinkState, String)> {
    if let Some(broken_ms) = link.broken_ms {
        let why = format!(
            "not all was acknowledged for most of the tombstone grace at {broken_ms} ms since 1970: deletes may be forgotten, so nothing more is sent; drop it and the keyspace there, and make both anew"
        );
        return Some((LinkState::Broken, why));
    }
    let why = || "it is paused: dunlin link resume goes on".to_owned();
    link.paused.then(|| (LinkState::Paused, why()))
}
