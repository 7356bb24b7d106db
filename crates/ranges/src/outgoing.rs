//! Messages of all replicas of a shard, until they are sent.

use std::collections::BTreeMap;

use bytes::BytesMut;
use dunlin_proto::ShardAddress;

/// Messages that are to be sent, by shard.
#[derive(Default)]
pub(crate) struct Outgoing(pub BTreeMap<ShardAddress, Parcel>);

/// Those of one shard.
#[derive(Default)]
pub(crate) struct Parcel {
    pub bytes: BytesMut,
    /// Groups and replicas that hear when it cannot be sent.
    pub to: Vec<(u64, u64)>,
}
