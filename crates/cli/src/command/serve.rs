//! `dunlin serve`: one node of a cluster of processes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use dunlin_metadata::{KeyspaceSettings, Metadata, MetadataError};
use dunlin_node::{Node, NodeConfig, cluster_of, shards_of};
use dunlin_store::CacheSizes;
use dunlin_tls::{ServerTls, Watch};
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{Cluster, plugs};
use crate::config::file::File;
use crate::config::flags::Flags;
use crate::config::open_doors::{Doors, peer_warning, warnings};
use crate::config::room::Room;
use crate::config::settings::{MetadataPlace, Settings};
use crate::connect::DEFAULT_KEYSPACE;
use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::machine::Machine;
use crate::members;
use crate::output::Output;
use crate::runtime;
use crate::shortage::shortage;
use crate::signal::Stop;

/// How long a start waits for the metadata store.
const METADATA_WAIT: Duration = Duration::from_secs(60);
const METADATA_PAUSE: Duration = Duration::from_secs(1);
/// How long a node that runs elsewhere too takes to end at most.
const SUPERSEDED_WAIT: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Flags win over DUNLIN_* variables, those over the file of --config. See dunlin.toml for all settings.

Examples:
  dunlin serve --name n1 --data /var/lib/dunlin --metadata etcd://10.0.0.1:2379 \\
      --http 10.0.0.1:8080 --listen 10.0.0.1:7080
  dunlin serve --config dunlin.toml --print-config
  dunlin serve --name alone --data data/alone --metadata embedded --replicas 1";

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// TOML file with settings
    #[arg(long, env = "DUNLIN_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings the node would start with, and end
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    /// Runs until it is asked to stop.
    pub fn run(self) -> Result<(), Failure> {
        let file = self
            .config
            .as_deref()
            .map_or_else(|| Ok(File::default()), File::read)?;
        let mut settings = Settings::merge(self.flags, file)?;
        let room = settings.share_out(Machine::take(), shards_of(&settings.node.data))?;
        if self.print_config {
            let text = toml::to_string(&settings.to_file())
                .map_err(|error| Failure::Failed(error.to_string()))?;
            let mut output = Output::new();
            output.bytes(text.as_bytes())?;
            return output.flush();
        }
        runtime::log_to_stderr("info");
        runtime::block_on(serve(settings, room))
    }
}

async fn serve(settings: Settings, room: Room) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let Settings {
        mut node,
        metadata,
        http_tls,
        peer_secret,
        transactions,
        link_logins,
        ..
    } = settings;
    node.plugs = plugs(transactions, link_logins);
    // Before anything is touched: what is wrong with the files is wrong use.
    if let Some(files) = http_tls {
        let tls = ServerTls::server(files, &[b"http/1.1"]);
        node.http_tls = Some(tls.map_err(|error| Failure::Usage(error.to_string()))?);
    }
    let _watch = watch(&node)?;
    if let Some(line) = peer_warning(&node.listen, peer_secret.lets_in()) {
        tracing::warn!("{line}");
    }
    let guarded = peer_secret.open()?;
    node.guard = guarded.guard.clone();
    tokio::task::spawn_local(guarded.keep_up());
    let wanted = node.default_keyspace.clone();
    let is_alone = metadata == MetadataPlace::Embedded;
    // Before the metadata is touched: two processes must not register the same node.
    let lock = DirectoryLock::take(&node.data)?;
    let opened = tokio::select! {
        opened = open(metadata, &node.data) => opened,
        () = stop.asked() => return Ok(()),
    };
    let metadata = opened.map_err(|error| Failure::Failed(error.to_string()))?;
    let caches = CacheSizes {
        block_bytes: node.cache_bytes,
        row_bytes: node.row_cache_bytes,
    };
    let event_loops = usize::from(node.shards);
    let listen = node.listen.clone();
    let has_http_tls = node.http_tls.is_some();
    let http = node.http.clone();
    let start = Cluster::start(vec![(node, lock)], &metadata, caches, event_loops, room);
    let cluster = stop.finish(start).await?;
    let mut output = Output::new();
    let scheme = if has_http_tls { "https" } else { "http" };
    for node in cluster.nodes() {
        output.line(format!(
            "{} serves {scheme}://{}, other nodes at {listen}",
            node.name(),
            node.http_address()
        ))?;
    }
    let spare = spare(&metadata, cluster.nodes());
    if !spare.is_empty() {
        output.line(members::spare(&spare))?;
    }
    output.flush()?;
    drop(output);
    warn_of_keyspaces(&metadata, &wanted, is_alone);
    let open = Doors {
        http: &http,
        has_http_tls,
        has_users: metadata.topology().borrow().access.closed,
    };
    for line in warnings(open) {
        tracing::warn!("{line}");
    }
    let superseded = tokio::select! {
        by = cluster.superseded() => Some(by),
        () = stop.asked() => None,
    };
    let Some(by) = superseded else {
        return stop.finish(cluster.stop()).await;
    };
    // It acknowledges nothing any more; what it holds is brought to disk if that can be done soon.
    if let Ok(Err(failure)) = stop.finish(timeout(SUPERSEDED_WAIT, cluster.stop())).await {
        tracing::warn!(%failure, "not a clean stop");
    }
    Err(Failure::Superseded(by.to_string()))
}

/// Follows the files of TLS for as long as the node runs.
fn watch(node: &NodeConfig) -> Result<Option<Watch>, Failure> {
    let Some(tls) = node.http_tls.clone() else {
        return Ok(None);
    };
    match Watch::start(vec![("HTTP", tls)], now_s) {
        Ok(watch) => Ok(Some(watch)),
        Err(error) => Err(Failure::Failed(format!(
            "cannot follow the files of TLS: {error}"
        ))),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "certificates go by the time of day; the command line is outside the simulation"
)]
fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// What a start should know of the keyspaces there are: settings that came too late for `default`, and
/// copies for which a node that stays alone has no room.
fn warn_of_keyspaces(metadata: &Metadata, wanted: &KeyspaceSettings, is_alone: bool) {
    let topology = metadata.topology().borrow().clone();
    for keyspace in &topology.keyspaces {
        let settings = &keyspace.settings;
        if keyspace.name == DEFAULT_KEYSPACE
            && wanted != settings
            && *wanted != KeyspaceSettings::default()
        {
            tracing::warn!(
                "the keyspace default was there before, with other settings: --sync, --replicas and \
                 --partitions are for the start that makes it (dunlin keyspace describe default)"
            );
        }
        let members = topology.members.ids.len();
        if let Some(line) = shortage(&keyspace.name, settings.replicas.into(), members)
            && is_alone
        {
            tracing::warn!("{line}");
        }
    }
}

/// Names of those nodes that hold nothing, and will not after the change under way.
fn spare(metadata: &Metadata, nodes: &[Node]) -> Vec<String> {
    let topology = metadata.topology().borrow().clone();
    let members = &topology.members;
    let spare = topology.nodes.iter().filter(|node| {
        let joins = members
            .change
            .as_ref()
            .is_some_and(|c| c.to.contains(&node.id));
        !members.ids.contains(&node.id) && !joins
    });
    let spare = spare.filter(|node| nodes.iter().any(|own| own.name() == node.name));
    spare.map(|node| node.name.clone()).collect()
}

/// etcd may be starting together with the node, so it is waited for.
async fn open(place: MetadataPlace, data: &Path) -> Result<Metadata, MetadataError> {
    let etcd = match place {
        MetadataPlace::Embedded => return Metadata::embedded(data.join("metadata.json")),
        MetadataPlace::Etcd(etcd) => etcd,
    };
    let deadline = Instant::now() + METADATA_WAIT;
    loop {
        let cache = data.join("topology.json");
        match Metadata::etcd(etcd.clone(), Some(cache), cluster_of(data)).await {
            Err(error @ MetadataError::Unavailable { .. }) if Instant::now() < deadline => {
                tracing::warn!("{error}; trying again");
                sleep(METADATA_PAUSE).await;
            }
            opened => return opened,
        }
    }
}
