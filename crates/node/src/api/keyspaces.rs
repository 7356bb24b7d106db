//! Keyspaces: create, list, describe, drop, undrop.

use std::rc::Rc;

use dunlin_metadata::{
    Keyspace, KeyspaceSettings, MetadataError, Mode, Retention, Role, new_ranges,
};
use dunlin_proto::ShardAddress;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout_at};

use super::access::Asker;
use super::access::audit::Done;
use super::attempt::in_time;
use super::body::read_body;
use super::error::Rejected;
use super::keys::not_of_ranges;
use super::reply::{self, Reply};
use super::upload::Upload;
use crate::limits::{KEYSPACE_PAUSE, KEYSPACE_WAIT, UNDROP_PAUSE, UNDROP_WAIT};
use crate::plug::{ORACLE_KEYSPACE, SYSTEM_KEYSPACE};
use crate::quorum::Failure;
use crate::services::Services;
use crate::shard::{Arrivals, Shard, ShardStatus};

/// Largest description of a keyspace, in bytes.
const BODY_BYTES: usize = 64 << 10;
/// Of the keyspace of capabilities, which is small.
const SYSTEM_PARTITIONS: u16 = 8;

/// What a client sends to create one; settings left out take their defaults.
#[derive(Deserialize)]
struct Create {
    name: String,
    #[serde(default)]
    retention: Retention,
    #[serde(flatten)]
    settings: serde_json::Map<String, serde_json::Value>,
}

/// What of it a client may change; what is left out stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alter {
    retention: Option<Retention>,
    /// Of a transactional keyspace.
    replicas: Option<u8>,
}

/// `/v1/keyspaces`.
pub(super) async fn collection(
    services: &Services,
    arrivals: &Arrivals,
    asker: &Asker,
    request: Request<Upload>,
) -> Result<Reply, Rejected> {
    let shard = services.shard.clone();
    match *request.method() {
        Method::GET | Method::HEAD => {
            let topology = shard.metadata().topology().borrow().clone();
            let all = topology.keyspaces.iter();
            let shown: Vec<&Keyspace> = all.filter(|k| asker.may(Role::Read, &k.name)).collect();
            Ok(reply::json(StatusCode::OK, &shown))
        }
        Method::POST => {
            let received = read_body(&shard.front().doors, request.into_body(), BODY_BYTES).await?;
            let body = received.bytes;
            in_time(arrivals)?;
            create(services, &body).await
        }
        _ => Err(Rejected::method()),
    }
}

async fn create(services: &Services, body: &[u8]) -> Result<Reply, Rejected> {
    let shard = services.shard.clone();
    let malformed = |error: serde_json::Error| {
        Rejected::bad(format!("the body does not describe a keyspace: {error}"))
    };
    let create: Create = serde_json::from_slice(body).map_err(malformed)?;
    let given: Vec<String> = create.settings.keys().cloned().collect();
    let settings: KeyspaceSettings =
        serde_json::from_value(create.settings.into()).map_err(malformed)?;
    create.retention.check()?;
    check_reserved(&create.name)?;
    let is_transactional = settings.mode == Mode::Transactional;
    if is_transactional {
        check_transactional(&shard, &create.name, create.retention, &settings, &given)?;
        make_oracle(services).await?;
    }
    let met = greatest_met(&shard).await;
    let mut created = shard
        .metadata()
        .create_keyspace_above(&create.name, settings, met)
        .await?;
    if !create.retention.is_empty() {
        let (name, retention) = (&create.name, create.retention);
        created = shard.metadata().alter_keyspace(name, retention).await?;
    }
    settle(&shard, &created.name).await;
    known_elsewhere(&shard, &created).await;
    if is_transactional {
        created = made(services, &created).await?;
    }
    let mut reply = reply::json(StatusCode::CREATED, &created);
    let what = format!("create keyspace {}", created.name);
    reply.extensions_mut().insert(Done(what));
    Ok(reply)
}

/// Refuses what a transactional keyspace does not have, and one whose replicas are not all up.
fn check_transactional(
    shard: &Shard,
    name: &str,
    retention: Retention,
    settings: &KeyspaceSettings,
    given: &[String],
) -> Result<(), Rejected> {
    settings.check()?;
    let foreign = given
        .iter()
        .find(|name| matches!(name.as_str(), "partitions" | "tombstone_grace_s"));
    let foreign = foreign.map(String::as_str);
    let retention = (!retention.is_empty()).then_some("retention");
    if let Some(setting) = foreign.or(retention) {
        return Err(Rejected::bad(format!(
            "a transactional keyspace has no {setting}: leave it out"
        )));
    }
    let topology = shard.metadata().topology().borrow().clone();
    let ranges = new_ranges(&topology, name, settings)?;
    let mut replicas = ranges.iter().flat_map(|range| &range.replicas);
    let away = replicas.find(|replica| {
        let (node, shard_of) = (replica.node, replica.shard);
        !shard.is_reachable(ShardAddress {
            node,
            shard: shard_of,
        })
    });
    match away.and_then(|replica| topology.node(replica.node)) {
        None => Ok(()),
        Some(node) => Err(Rejected::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "node {} cannot be reached, and a transactional keyspace is made when all its replicas are up: try again when it is",
                node.name
            ),
        )),
    }
}

/// Waits until the replicas of a new keyspace serve it. One that they do not is taken away again.
async fn made(services: &Services, created: &Keyspace) -> Result<Keyspace, Rejected> {
    let shard = &services.shard;
    let served = match services.coordinator.ranges() {
        Some(ranges) => ranges.made(created.clone()).await,
        None => Err(Rejected::bad("this node serves no transactional keyspaces")),
    };
    if let Err(rejected) = served {
        let (name, id, now_ms) = (&created.name, created.id, shard.env().clock.now_ms());
        if let Err(error) = shard.metadata().abandon_keyspace(name, id, now_ms).await {
            tracing::warn!(%error, name, "a keyspace that was not made to its end stays");
        }
        return Err(rejected);
    }
    let topology = shard.metadata().topology().borrow().clone();
    Ok(topology.keyspace(created.id).unwrap_or(created).clone())
}

/// Number of the keyspace of capabilities, made if there is none.
pub(crate) async fn make_system(shard: &Rc<Shard>) -> Result<u32, Rejected> {
    let members = shard.placement().member_count().clamp(1, 3) as u8;
    let settings = KeyspaceSettings {
        replicas: members,
        partitions: SYSTEM_PARTITIONS,
        ..KeyspaceSettings::default()
    };
    make_own(shard, SYSTEM_KEYSPACE, settings).await?;
    let placement = shard.placement();
    let placed = placement.named(SYSTEM_KEYSPACE).ok_or(Failure::Busy)?;
    Ok(placed.keyspace.id)
}

/// Makes the keyspace that timestamps come from, if there is none, and waits until it serves.
async fn make_oracle(services: &Services) -> Result<(), Rejected> {
    let shard = &services.shard;
    let settings = KeyspaceSettings {
        mode: Mode::Transactional,
        replicas: match shard.placement().member_count() {
            0..3 => 1,
            _ => 3,
        },
        ..KeyspaceSettings::default()
    };
    if shard
        .placement()
        .transactional_named(ORACLE_KEYSPACE)
        .is_some()
    {
        return Ok(());
    }
    match make_own(shard, ORACLE_KEYSPACE, settings).await? {
        Some(created) => made(services, &created).await.map(drop),
        None => Ok(()),
    }
}

/// Makes a keyspace that is not for users, and waits until nodes know it; none where another was faster.
async fn make_own(
    shard: &Rc<Shard>,
    name: &str,
    settings: KeyspaceSettings,
) -> Result<Option<Keyspace>, Rejected> {
    let met = greatest_met(shard).await;
    let metadata = shard.metadata();
    let created = match metadata.create_keyspace_above(name, settings, met).await {
        Ok(created) => Some(created),
        Err(MetadataError::Exists { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    settle(shard, name).await;
    if let Some(created) = &created {
        known_elsewhere(shard, created).await;
    }
    Ok(created)
}

/// Refuses names that are not for users.
fn check_reserved(name: &str) -> Result<(), Rejected> {
    if !name.starts_with('_') {
        Ok(())
    } else {
        Err(Rejected::bad(format!(
            "keyspace {name}: names that begin with _ are reserved"
        )))
    }
}

/// The greatest number of a keyspace that any shard within reach has met.
async fn greatest_met(shard: &Rc<Shard>) -> u32 {
    shard.has_looked().await;
    let placement = shard.placement();
    let within_reach = placement.shards().filter(|s| shard.is_reachable(*s));
    let statuses = shard.statuses(&within_reach.collect::<Vec<_>>()).await;
    let met = statuses.into_iter().filter_map(|(_, status)| status);
    met.map(|status| status.keyspace_max).max().unwrap_or(0)
}

/// Waits until this node serves the new keyspace, so that the client's next request finds it.
async fn settle(shard: &Shard, name: &str) {
    for _ in 0..200 {
        let placement = shard.placement();
        if placement.named(name).is_some() || placement.transactional_named(name).is_some() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Waits until all shards within reach have met the new keyspace, so that the client's next request,
/// to whatever node, finds it; but not for ever, for one may be cut off from the metadata store.
async fn known_elsewhere(shard: &Rc<Shard>, created: &Keyspace) {
    let deadline = Instant::now() + KEYSPACE_WAIT;
    let asked = async {
        loop {
            let placement = shard.placement();
            let within_reach = placement.shards().filter(|s| shard.is_reachable(*s));
            let told = shard.statuses(&within_reach.collect::<Vec<_>>()).await;
            let is_late = |(_, status): &(ShardAddress, Option<ShardStatus>)| {
                (status.as_ref()).is_none_or(|status| status.keyspace_max < created.id)
            };
            if !told.iter().any(is_late) {
                return;
            }
            sleep(KEYSPACE_PAUSE).await;
        }
    };
    drop(timeout_at(deadline, asked).await);
}

/// Gives the others a moment to see that the drop was taken back: until then they acknowledge nothing
/// of the keyspace, nor answer what is read.
async fn settle_elsewhere(shard: &Rc<Shard>, back: &Keyspace) {
    let deadline = Instant::now() + UNDROP_WAIT;
    let asked = async {
        loop {
            let placement = shard.placement();
            // Of a node's shards one says what is true of them all.
            let firsts = placement.shards().filter(|s| s.shard == 0);
            let within_reach: Vec<ShardAddress> =
                firsts.filter(|s| shard.is_reachable(*s)).collect();
            let told = shard.statuses(&within_reach).await;
            let mut statuses = told.into_iter().filter_map(|(_, status)| status);
            // Those that are cut off from the store may have heard of the drop from others.
            let is_dropped = |status: ShardStatus| {
                status.drops.iter().any(|(id, _)| *id == back.id)
                    || status.drops_heard.contains(&back.id)
            };
            if !statuses.any(is_dropped) {
                return;
            }
            sleep(UNDROP_PAUSE).await;
        }
    };
    // Who has not seen it by then hears of it from others.
    drop(timeout_at(deadline, asked).await);
}

/// `/v1/keyspaces/{name}`.
pub(super) async fn one(
    shard: Rc<Shard>,
    arrivals: &Arrivals,
    request: Request<Upload>,
    name: &str,
) -> Result<Reply, Rejected> {
    match *request.method() {
        Method::GET | Method::HEAD => {
            let topology = shard.metadata().topology().borrow().clone();
            topology
                .keyspaces
                .iter()
                .find(|k| k.name == name)
                .map(|keyspace| reply::json(StatusCode::OK, keyspace))
                .ok_or_else(|| {
                    Rejected::new(
                        StatusCode::NOT_FOUND,
                        format!("there is no keyspace {name}"),
                    )
                })
        }
        Method::PATCH => {
            let received = read_body(&shard.front().doors, request.into_body(), BODY_BYTES).await?;
            in_time(arrivals)?;
            let alter: Alter = serde_json::from_slice(&received.bytes).map_err(|error| {
                Rejected::bad(format!("the body does not say what to change: {error}"))
            })?;
            let is_cut = shard.placement().transactional_named(name).is_some();
            let metadata = shard.metadata();
            let altered = match (alter.retention, alter.replicas) {
                (Some(_), _) if is_cut => return Err(not_of_ranges(name, "retention")),
                (Some(retention), None) => metadata.alter_keyspace(name, retention).await?,
                (None, Some(replicas)) => {
                    check_reserved(name)?;
                    metadata.alter_replicas(name, replicas).await?
                }
                (Some(_), Some(_)) => {
                    let line = "the body has retention, which quorum keyspaces have, and replicas, which is of transactional ones";
                    return Err(Rejected::bad(line));
                }
                (None, None) => return Err(Rejected::bad("the body changes nothing")),
            };
            let mut reply = reply::json(StatusCode::OK, &altered);
            let what = format!("alter keyspace {name}");
            reply.extensions_mut().insert(Done(what));
            Ok(reply)
        }
        Method::DELETE => {
            in_time(arrivals)?;
            check_reserved(name)?;
            let now_ms = shard.env().clock.now_ms();
            shard.metadata().drop_keyspace(name, now_ms).await?;
            Ok(reply::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Rejected::method()),
    }
}

/// `/v1/dropped`: keyspaces that were dropped, those whose data is gone among them.
pub(super) fn dropped(shard: &Shard, method: &Method) -> Result<Reply, Rejected> {
    match *method {
        Method::GET | Method::HEAD => {
            let topology = shard.metadata().topology().borrow().clone();
            Ok(reply::json(StatusCode::OK, &topology.dropped))
        }
        _ => Err(Rejected::method()),
    }
}

/// `/v1/keyspaces/{name}/undrop`: POST takes the last drop of this name back.
pub(super) async fn undrop(
    shard: Rc<Shard>,
    arrivals: &Arrivals,
    method: &Method,
    name: &str,
) -> Result<Reply, Rejected> {
    match *method {
        Method::POST => {
            in_time(arrivals)?;
            let back = shard.metadata().undrop_keyspace(name).await?;
            settle(&shard, &back.name).await;
            settle_elsewhere(&shard, &back).await;
            Ok(reply::json(StatusCode::OK, &back))
        }
        _ => Err(Rejected::method()),
    }
}

impl From<MetadataError> for Rejected {
    fn from(error: MetadataError) -> Self {
        let status = match &error {
            MetadataError::Exists { .. }
            | MetadataError::ViewExists { .. }
            | MetadataError::LinkExists { .. } => StatusCode::CONFLICT,
            MetadataError::Purged { .. } | MetadataError::NameTaken { .. } => StatusCode::CONFLICT,
            MetadataError::NotFound { .. }
            | MetadataError::NotDropped { .. }
            | MetadataError::NoView { .. }
            | MetadataError::NoLink { .. } => StatusCode::NOT_FOUND,
            MetadataError::UserExists { .. } | MetadataError::LastAdmin { .. } => {
                StatusCode::CONFLICT
            }
            MetadataError::UnknownUser { .. } => StatusCode::NOT_FOUND,
            MetadataError::NoLongerAdmin { .. } => StatusCode::FORBIDDEN,
            MetadataError::FirstUser => StatusCode::BAD_REQUEST,
            MetadataError::Invalid { .. } => StatusCode::BAD_REQUEST,
            error => super::members::status_of(error).unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
        };
        Rejected::new(status, error.to_string())
    }
}
