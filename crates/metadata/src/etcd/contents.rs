//! Everything under the prefix in etcd, and writing to it.
use super::session::Failure;
use crate::objects::{CLUSTER, Objects, Put};
use etcd_client::{Client, Compare, CompareOp, EventType, GetOptions, KeyValue, Txn, TxnOp};

/// What all keys begin with.
pub(crate) const PREFIX: &str = "/dunlin/v1/";

/// Reads all of it at one revision.
pub(super) async fn read(client: &mut Client) -> Result<Objects, Failure> {
    let response = client
        .get(PREFIX, Some(GetOptions::new().with_prefix()))
        .await?;
    let mut objects = Objects::default();
    for pair in response.kvs() {
        take(&mut objects, EventType::Put, pair);
    }
    // What others write to etcd counts as well.
    objects.revision = revision(response.header());
    Ok(objects)
}

/// Asks for next to nothing, but as a read of everything is asked for.
pub(super) async fn look(mut client: Client) -> Result<(), Failure> {
    let options = GetOptions::new().with_keys_only();
    client.get(full(CLUSTER), Some(options)).await?;
    Ok(())
}

/// Takes one change that a watch brings.
pub(super) fn take(objects: &mut Objects, event: EventType, pair: &KeyValue) {
    let key = pair.key_str().ok().and_then(|key| key.strip_prefix(PREFIX));
    let Some(key) = key else { return };
    let written = unsigned(pair.mod_revision());
    match event {
        EventType::Put => objects.insert(key, pair.value().to_vec(), written),
        EventType::Delete => objects.remove(key, written),
    }
}

/// Writes if the guarded objects are what was read; answers the revision of the write, or `None`
/// when they are not.
pub(super) async fn commit(
    client: &mut Client,
    read: &Objects,
    guards: &[String],
    puts: &[Put],
) -> Result<Option<u64>, Failure> {
    let unchanged = |key: &String| {
        let written = i64::try_from(read.written(key)).unwrap_or(i64::MAX);
        Compare::mod_revision(full(key), CompareOp::Equal, written)
    };
    let when: Vec<_> = guards.iter().map(unchanged).collect();
    let write = |(key, value): &Put| match value {
        Some(value) => TxnOp::put(full(key), value.clone(), None),
        None => TxnOp::delete(full(key), None),
    };
    let then: Vec<_> = puts.iter().map(write).collect();
    let response = client.txn(Txn::new().when(when).and_then(then)).await?;
    let revision = revision(response.header());
    Ok(response.succeeded().then_some(revision))
}

fn full(key: &str) -> String {
    format!("{PREFIX}{key}")
}

fn revision(header: Option<&etcd_client::ResponseHeader>) -> u64 {
    unsigned(header.map_or(0, etcd_client::ResponseHeader::revision))
}

/// etcd's revisions are signed on the wire and never negative.
fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}
