//! What a stream that ends must have told: all that a majority of each partition's replicas had when it began.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Vector;
use dunlin_node::Services;
use dunlin_proto::{ShardAddress, Token};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::item::get_vector;
use crate::plug::NUMBER;

const ASK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it takes at most to find out whether logs have what a token says.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// How often they are asked.
const PAUSE: Duration = Duration::from_millis(200);

/// The same, again and again until a majority of each partition has answered: those of all, or the first partition of
/// which none did.
///
/// # Errors
/// That partition.
pub async fn all_targets(
    services: &Rc<Services>,
    keyspace: u32,
    partitions: &[u16],
    within: Duration,
) -> Result<BTreeMap<u16, Vector>, u16> {
    let begun = Instant::now();
    loop {
        let targets = targets(services, keyspace, partitions).await;
        match partitions.iter().find(|p| !targets.contains_key(p)) {
            None => return Ok(targets),
            Some(lacking) if begun.elapsed() > within => return Err(*lacking),
            Some(_) => sleep(PAUSE).await,
        }
    }
}

/// Asks who holds the partitions what they have. Those of which no majority answered are in no list.
async fn targets(
    services: &Rc<Services>,
    keyspace: u32,
    partitions: &[u16],
) -> BTreeMap<u16, Vector> {
    let of = |partition: &u16| (*partition, services.replicas(keyspace, *partition));
    let replicas: BTreeMap<u16, Vec<ShardAddress>> = partitions.iter().map(of).collect();
    let mut shards: Vec<ShardAddress> = replicas.values().flatten().copied().collect();
    shards.sort_unstable();
    shards.dedup();
    let asked = shards.iter().map(|shard| vector_at(services, *shard));
    let answers = join_all(asked).await;
    let told: BTreeMap<ShardAddress, Vector> = shards
        .into_iter()
        .zip(answers)
        .filter_map(|(shard, vector)| Some((shard, vector?)))
        .collect();
    let mut targets = BTreeMap::new();
    for (partition, replicas) in replicas {
        let vectors: Vec<&Vector> = replicas.iter().filter_map(|r| told.get(r)).collect();
        if vectors.len() * 2 > replicas.len() {
            let mut all = Vector::new();
            for vector in vectors {
                let of_partition = |origin| services.may_write(keyspace, partition, origin);
                let named = vector.iter().filter(|(origin, _)| of_partition(*origin));
                all.merge(&named.collect());
            }
            targets.insert(partition, all);
        }
    }
    targets
}

async fn vector_at(services: &Rc<Services>, shard: ShardAddress) -> Option<Vector> {
    if shard == services.shard().address() {
        return Some(services.shard().vector());
    }
    let answer = services.ask(shard, NUMBER, Bytes::new(), ASK_TIMEOUT).await;
    get_vector(&mut answer.ok()?).ok()
}

/// Which of the shards that a token names had its directory put back to before the token. Shards that do not answer
/// delay this a second at most.
pub(crate) async fn put_back(services: &Rc<Services>, token: &Token) -> Option<ShardAddress> {
    let encoded = token.encode();
    let checks = token.hinted_shards().into_iter().map(|shard| {
        let encoded = encoded.clone();
        async move {
            let is_put_back = if shard == services.shard().address() {
                services.followers().is_put_back(token)
            } else if services.is_reachable(shard) {
                let answer = services.ask(shard, NUMBER, encoded, LOOK_TIMEOUT).await;
                answer.is_ok_and(|answer| *answer == [1])
            } else {
                false
            };
            is_put_back.then_some(shard)
        }
    });
    join_all(checks).await.into_iter().flatten().next()
}

/// The answer to another shard: whether the log was put back to before a token, or else the vector.
pub(crate) fn answer(services: &Services, body: Bytes) -> Bytes {
    if !body.is_empty() {
        let is_put_back = match Token::decode(body) {
            Ok(token) => services.followers().is_put_back(&token),
            Err(_) => false,
        };
        return Bytes::copy_from_slice(&[is_put_back.into()]);
    }
    let vector = services.shard().vector().encode();
    let mut out = BytesMut::with_capacity(vector.len() + 4);
    out.put_u32_le(vector.len() as u32);
    out.put_slice(&vector);
    out.freeze()
}
