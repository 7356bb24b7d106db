//! What those who let clients in need of a shard: nothing of it touches data.

use std::sync::Arc;

use crate::doors::Doors;
use crate::logins::Logins;
use crate::meters::{Meters, Requests};

use super::guard::Guard;
use super::{Shard, ShardParts};

/// Who is let in, and how it went.
pub(crate) struct Front {
    /// What the process lets in.
    pub doors: Arc<Doors>,
    /// Where the process checks passwords.
    pub logins: Arc<Logins>,
    /// Who is to be asked who he is.
    pub guard: Guard,
    /// How clients' requests of all shards of the process went.
    pub meters: Meters,
    /// The same of its own.
    pub requests: Requests,
}

impl Front {
    pub(super) fn of(parts: &ShardParts) -> Front {
        let (name, shard) = (&parts.config.name, parts.address.shard);
        Front {
            doors: parts.process.doors.clone(),
            logins: parts.process.logins.clone(),
            guard: Guard::new(&format!("{name}/{shard}")),
            meters: parts.process.meters.clone(),
            requests: parts.process.meters.of_shard(name, shard),
        }
    }
}

impl Shard {
    /// For those who let clients in.
    #[inline]
    pub(crate) fn front(&self) -> &Front {
        &self.front
    }
}
