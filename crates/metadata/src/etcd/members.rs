//! Changes of the members in etcd, decided by everything under the prefix.
use super::Etcd;
use super::change::{Done, commit, unchanged, unsigned};
use super::record::{MEMBERS, PREFIX, Records, encode, node_key};
use super::session::{Failure, client};
use crate::error::MetadataError;
use crate::members::Decision;
use crate::topology::Topology;
use etcd_client::{Client, GetOptions, KeyValue, TxnOp};

/// Everything under the prefix at one revision.
pub(super) struct Contents(Vec<KeyValue>);

impl Contents {
    pub async fn read(client: &mut Client) -> Result<Self, Failure> {
        let get = client.get(PREFIX, Some(GetOptions::new().with_prefix()));
        Ok(Self(get.await?.take_kvs()))
    }

    pub fn pair(&self, key: &str) -> Option<&KeyValue> {
        self.0.iter().find(|pair| pair.key() == key.as_bytes())
    }

    /// What readers see of it.
    pub fn topology(&self) -> Result<Topology, MetadataError> {
        let revision = self.0.iter().map(KeyValue::mod_revision).max();
        let revision = unsigned(revision.unwrap_or(0));
        Ok(Records::of(&self.0)?.topology(revision))
    }
}

impl Etcd {
    /// A change of the members, or of what depends on who is one.
    pub async fn change_members<T: Send>(
        &self,
        decide: &(impl Fn(&Topology) -> Result<Decision<T>, MetadataError> + Send + Sync),
    ) -> Result<T, MetadataError> {
        self.change(async || {
            let mut client = client(&self.address).await?;
            loop {
                if let Some(done) = try_change(&mut client, decide).await? {
                    return Ok(done);
                }
            }
        })
        .await
    }
}

/// Writes the members even if only a node is forgotten: otherwise a change could begin at the same
/// moment that names this node.
async fn try_change<T>(
    client: &mut Client,
    decide: impl Fn(&Topology) -> Result<Decision<T>, MetadataError>,
) -> Result<Option<Done<T>>, Failure> {
    let contents = Contents::read(client).await?;
    let last = contents.pair(MEMBERS);
    let now = contents.topology()?;
    let decision = decide(&now)?;
    if !decision.changes(&now) {
        return Ok(Some(Done {
            value: decision.value,
            revision: last.map_or(0, |pair| unsigned(pair.mod_revision())),
        }));
    }
    let mut then = vec![TxnOp::put(MEMBERS, encode(&decision.members)?, None)];
    let forgotten = decision.forgotten.iter();
    then.extend(forgotten.map(|name| TxnOp::delete(node_key(name), None)));
    commit(client, vec![unchanged(MEMBERS, last)], then, decision.value).await
}
