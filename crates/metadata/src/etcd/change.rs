//! Changes in etcd, each a compare-and-swap: read, decide, write if nothing has changed, or again.
use super::Etcd;
use super::members::Contents;
use super::record::{
    KEYSPACE_COUNTER, MEMBERS, NODE_COUNTER, decode, encode, keyspace_key, node_key,
};
use super::session::{Failure, client, limited};
use crate::document::{next_keyspace_id, next_node_id};
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings, check_keyspace};
use crate::members::join;
use crate::node::{NodeRecord, Registration};
use etcd_client::{Client, Compare, CompareOp, KeyValue, Txn, TxnOp, TxnOpResponse, TxnResponse};

/// A change that has been made, and the revision at which it is seen.
pub(super) struct Done<T> {
    pub value: T,
    pub revision: u64,
}

impl Etcd {
    /// A new incarnation of a node; a name not seen before gets an id.
    pub async fn register(&self, node: Registration<'_>) -> Result<NodeRecord, MetadataError> {
        node.check()?;
        self.change(async || {
            let mut client = client(&self.address).await?;
            loop {
                if let Some(done) = try_register(&mut client, node).await? {
                    return Ok(done);
                }
            }
        })
        .await
    }

    /// A new keyspace, if none has its name.
    pub async fn create_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        match self.find_or_create(name, settings).await? {
            Found::Created(keyspace) => Ok(keyspace),
            Found::Existing(_) => Err(MetadataError::Exists {
                name: name.to_owned(),
            }),
        }
    }

    /// The keyspace of this name, made if there is none.
    pub async fn ensure_keyspace(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        match self.find_or_create(name, settings).await? {
            Found::Created(keyspace) | Found::Existing(keyspace) => Ok(keyspace),
        }
    }

    /// Forgets a keyspace.
    pub async fn drop_keyspace(&self, name: &str) -> Result<(), MetadataError> {
        self.change(async || {
            let mut client = client(&self.address).await?;
            let dropped = client.delete(keyspace_key(name), None).await?;
            if dropped.deleted() == 0 {
                return Err(MetadataError::NotFound {
                    name: name.to_owned(),
                }
                .into());
            }
            Ok(Done {
                value: (),
                revision: revision(dropped.header()),
            })
        })
        .await
    }

    async fn find_or_create(
        &self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Found, MetadataError> {
        check_keyspace(name, &settings)?;
        self.change(async || {
            let mut client = client(&self.address).await?;
            loop {
                if let Some(done) = try_create(&mut client, name, &settings).await? {
                    return Ok(done);
                }
            }
        })
        .await
    }

    /// Makes a change and waits, while etcd answers at all, until readers here see it.
    pub(super) async fn change<T>(
        &self,
        steps: impl AsyncFnOnce() -> Result<Done<T>, Failure>,
    ) -> Result<T, MetadataError> {
        let done = limited(steps())
            .await
            .map_err(|failure| failure.at(&self.address))?;
        self.seen(done.revision).await;
        Ok(done.value)
    }
}

enum Found {
    Created(Keyspace),
    Existing(Keyspace),
}

async fn try_register(
    client: &mut Client,
    node: Registration<'_>,
) -> Result<Option<Done<NodeRecord>>, Failure> {
    let key = node_key(node.name);
    let now = Contents::read(client).await?;
    let (last, counter) = (now.pair(&key), now.pair(NODE_COUNTER));
    let known: Option<NodeRecord> = last.map(decode).transpose()?;
    let id = match &known {
        Some(known) => known.id,
        None => next_node_id(counter.map(decode).transpose()?.unwrap_or(0))?,
    };
    let record = node.record(id, known.as_ref())?;
    let mut when = vec![unchanged(&key, last)];
    let mut then = vec![TxnOp::put(key, encode(&record)?, None)];
    if known.is_none() {
        let members = join(&now.topology()?, id);
        when.push(unchanged(NODE_COUNTER, counter));
        then.push(TxnOp::put(NODE_COUNTER, encode(&id)?, None));
        when.push(unchanged(MEMBERS, now.pair(MEMBERS)));
        then.push(TxnOp::put(MEMBERS, encode(&members)?, None));
    }
    commit(client, when, then, record).await
}

async fn try_create(
    client: &mut Client,
    name: &str,
    settings: &KeyspaceSettings,
) -> Result<Option<Done<Found>>, Failure> {
    let key = keyspace_key(name);
    let (existing, counter, read_at) = read(client, &key, KEYSPACE_COUNTER).await?;
    if let Some(existing) = &existing {
        let value = Found::Existing(decode(existing)?);
        return Ok(Some(Done {
            value,
            revision: read_at,
        }));
    }
    let id = next_keyspace_id(counter.as_ref().map(decode).transpose()?.unwrap_or(0))?;
    let keyspace = Keyspace {
        id,
        name: name.to_owned(),
        settings: settings.clone(),
    };
    let when = vec![
        unchanged(&key, None),
        unchanged(KEYSPACE_COUNTER, counter.as_ref()),
    ];
    let then = vec![
        TxnOp::put(key, encode(&keyspace)?, None),
        TxnOp::put(KEYSPACE_COUNTER, encode(&id)?, None),
    ];
    commit(client, when, then, Found::Created(keyspace)).await
}

/// Reads a record and a counter at one revision. The revision given is the record's own last
/// change, for that is what a watcher is sure to see.
async fn read(
    client: &mut Client,
    record: &str,
    counter: &str,
) -> Result<(Option<KeyValue>, Option<KeyValue>, u64), Failure> {
    let gets = [TxnOp::get(record, None), TxnOp::get(counter, None)];
    let response = client.txn(Txn::new().and_then(gets)).await?;
    let mut pairs = response
        .op_responses()
        .into_iter()
        .map(|response| match response {
            TxnOpResponse::Get(mut get) => get.take_kvs().into_iter().next(),
            _ => None,
        });
    let record = pairs.next().flatten();
    let counter = pairs.next().flatten();
    let changed_at = record
        .as_ref()
        .map_or(0, |pair| unsigned(pair.mod_revision()));
    Ok((record, counter, changed_at))
}

/// True as long as the key is what it was when it was read.
pub(super) fn unchanged(key: &str, read: Option<&KeyValue>) -> Compare {
    let at = read.map_or(0, KeyValue::mod_revision);
    Compare::mod_revision(key, CompareOp::Equal, at)
}

pub(super) async fn commit<T>(
    client: &mut Client,
    when: Vec<Compare>,
    then: Vec<TxnOp>,
    value: T,
) -> Result<Option<Done<T>>, Failure> {
    let response: TxnResponse = client.txn(Txn::new().when(when).and_then(then)).await?;
    let revision = revision(response.header());
    Ok(response.succeeded().then_some(Done { value, revision }))
}

fn revision(header: Option<&etcd_client::ResponseHeader>) -> u64 {
    unsigned(header.map_or(0, etcd_client::ResponseHeader::revision))
}

/// etcd's revisions are signed on the wire and never negative.
pub(super) fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}
