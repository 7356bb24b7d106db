//! `dunlin up`: a local cluster in this process.

mod grow;

use std::path::PathBuf;

use clap::Args;
use dunlin_metadata::{Metadata, Sync};
use dunlin_node::{NodeConfig, shards_of};
use dunlin_store::CacheSizes;

use crate::cluster::{Cluster, plugs};
use crate::config::file::LogTable;
use crate::config::flags::LogFlags;
use crate::config::open_doors::{Doors, warnings};
use crate::config::origins::check_origins;
use crate::config::room::{self, Asked, Room};
use crate::config::settings::with_log;
use crate::config::transactions::{TxnFlags, TxnTable, limits};
use crate::failure::Failure;
use crate::lock::DirectoryLock;
use crate::machine::Machine;
use crate::output::Output;
use crate::runtime;
use crate::signal::Stop;
use crate::units::{Delay, Size};
use grow::Before;

const EXAMPLES: &str = "\
Node i serves HTTP on port P + i - 1. The nodes replicate to each other inside the process; the
next start with the same --data finds everything, and with more --nodes the new ones take over a
share of it.

Examples:
  dunlin up
  dunlin up --nodes 5 --data /tmp/birds --http-port 9000 --sync interval:100ms";

/// Arguments of `up`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Up {
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: u16,
    /// Directory of all data
    #[arg(long, value_name = "DIR", default_value = "./data")]
    data: PathBuf,
    /// HTTP port of the first node
    #[arg(long, value_name = "P", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..))]
    http_port: u16,
    /// Address the HTTP ports are on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Sync of the keyspace `default`, if this start creates it: always, interval:100ms, never [default: always]
    #[arg(long, value_name = "POLICY")]
    sync: Option<Sync>,
    /// Event loops of each node, fixed for the life of the data [default: as the data were made; new ones with the
    /// processors shared out, at most 8]
    #[arg(long, env = "DUNLIN_SHARDS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(dunlin_metadata::SHARDS_OF_NODE_MAX)))]
    shards: Option<u16>,
    /// Threads the nodes' event loops share [default: as many as there are processors, less one
    /// for clients and compactions; no more than there are event loops]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Block cache of the process
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    cache: Size,
    /// Cache of single records of the process, 0 for none
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    row_cache: Size,
    /// Largest request body, at most 64MiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    max_body: Size,
    /// Origin of web pages whose scripts may use the HTTP interface, as in `https://app.example.net`, or `*`
    /// for any; may be repeated [default: none]
    #[arg(long = "cors-origin", value_name = "ORIGIN", value_delimiter = ',')]
    cors_origins: Vec<String>,
    /// TOML file with the logins of links to other clusters: a table for each, with token, or user and password, and ca;
    /// read again when it changes
    #[arg(long, env = "DUNLIN_LINK_LOGINS", value_name = "FILE")]
    link_logins: Option<PathBuf>,
    /// Connections of clients to all nodes at a time; further ones are answered 503 [default: what
    /// the limit of open files leaves room for, at most 10000]
    #[arg(long, value_name = "N")]
    max_connections: Option<u32>,
    /// Memory for requests, answers and queues of all nodes; what goes beyond is answered 503
    /// [default: a quarter of the machine's, or of what its control group may have]
    #[arg(long, value_name = "SIZE")]
    request_memory: Option<Size>,
    /// How long a dropped keyspace keeps its data and can be taken back
    #[arg(long, value_name = "DELAY", default_value = "1h")]
    drop_delay: Delay,
    #[command(flatten)]
    log: LogFlags,
    #[command(flatten)]
    transactions: TxnFlags,
}

impl Up {
    /// Runs until it is asked to stop.
    pub fn run(self) -> Result<(), Failure> {
        runtime::log_to_stderr("warn");
        let machine = Machine::take();
        let configs = self.configs(machine)?;
        let room = self.room(machine)?;
        runtime::block_on(async move {
            let mut stop = Stop::listen()?;
            let _lock = DirectoryLock::take(&self.data)?;
            let configs = configs
                .into_iter()
                .map(|config| DirectoryLock::take(&config.data).map(|lock| (config, lock)))
                .collect::<Result<Vec<_>, _>>()?;
            let metadata = Metadata::embedded(self.data.join("metadata.json"))
                .map_err(|error| Failure::Failed(error.to_string()))?;
            let caches = CacheSizes {
                block_bytes: self.cache.as_usize(),
                row_bytes: self.row_cache.as_usize(),
            };
            let before = Before::check(&metadata, usize::from(self.nodes), &self.data)?;
            let start = Cluster::start(configs, &metadata, caches, self.threads(), room);
            let cluster = stop.finish(start).await?;
            let notice = tokio::select! {
                notice = before.grow(&metadata) => notice,
                () = stop.asked() => None,
            };
            let mut output = Output::new();
            let open = Doors {
                http: &format!("{}:{}", self.host, self.http_port),
                has_http_tls: false,
                has_users: metadata.topology().borrow().access.closed,
            };
            for line in warnings(open) {
                tracing::warn!("{line}");
            }
            output.bytes(self.banner(&cluster, notice.as_deref()).as_bytes())?;
            output.flush()?;
            stop.asked().await;
            stop.finish(cluster.stop()).await?;
            output.line("stopped")?;
            output.flush()
        })
    }

    fn threads(&self) -> usize {
        let spare_processor = || {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            processors.saturating_sub(1).max(1)
        };
        self.threads.map_or_else(spare_processor, usize::from)
    }

    fn room(&self, machine: Machine) -> Result<Room, Failure> {
        let shards = (0..self.nodes).map(|index| u64::from(self.shards_of(index, machine)));
        room::share_out(
            machine,
            Asked {
                connections: self.max_connections,
                memory: self.request_memory,
                max_body_bytes: self.max_body.as_usize(),
                shards: shards.sum(),
            },
        )
    }

    fn directory(&self, index: u16) -> PathBuf {
        self.data.join(grow::name(usize::from(index) + 1))
    }

    fn shards_of(&self, index: u16, machine: Machine) -> u16 {
        let shards = self.shards.or_else(|| shards_of(&self.directory(index)));
        shards.unwrap_or_else(|| room::shards(machine, self.nodes))
    }

    fn configs(&self, machine: Machine) -> Result<Vec<NodeConfig>, Failure> {
        check_origins(&self.cors_origins)?;
        let mut default_keyspace = NodeConfig::default().default_keyspace;
        // A smaller cluster could never answer a majority of three.
        default_keyspace.replicas = default_keyspace
            .replicas
            .min(u8::try_from(self.nodes).unwrap_or(u8::MAX));
        if let Some(sync) = self.sync {
            default_keyspace.sync = sync;
        }
        let transactions = limits(self.transactions.clone(), TxnTable::default())?;
        (0..self.nodes)
            .map(|index| {
                let port = self.http_port.checked_add(index).ok_or_else(|| {
                    Failure::Usage(format!(
                        "port {} + {index} is above 65535; choose a lower --http-port",
                        self.http_port
                    ))
                })?;
                let name = grow::name(usize::from(index) + 1);
                let defaults = NodeConfig::default();
                let node = NodeConfig {
                    data: self.directory(index),
                    name,
                    http: format!("{}:{port}", self.host),
                    // The nodes find each other in the process, so any port will do.
                    listen: "127.0.0.1:0".to_owned(),
                    shards: self.shards_of(index, machine),
                    max_body_bytes: self.max_body.as_usize(),
                    cors_origins: self.cors_origins.clone(),
                    cache_bytes: self.cache.as_usize(),
                    row_cache_bytes: self.row_cache.as_usize(),
                    drop_delay_ms: self.drop_delay.0,
                    default_keyspace: default_keyspace.clone(),
                    plugs: plugs(transactions, self.link_logins.clone()),
                    ..defaults
                };
                with_log(node, &self.log, &LogTable::default())
            })
            .collect()
    }

    fn banner(&self, cluster: &Cluster, notice: Option<&str>) -> String {
        let addresses: Vec<_> = cluster
            .nodes()
            .iter()
            .map(|node| (node.name(), node.http_address()))
            .collect();
        let count = addresses.len();
        let nodes = if count == 1 {
            "1 node".to_owned()
        } else {
            format!("{count} nodes")
        };
        let mut text = format!(
            "Dunlin is up: {nodes} in this process, data in {}\n\n",
            self.data.display()
        );
        for (name, address) in &addresses {
            text.push_str(&format!("  {name}  http://{address}\n"));
        }
        if let Some(notice) = notice {
            text.push_str(&format!("\n{notice}\n"));
        }
        text.push_str("\nTry in another terminal:\n\n");
        // Three nodes where there are three: what one took, the others know.
        let address = |index: usize| {
            addresses
                .get(index % count)
                .map(|(_, address)| address.to_string())
                .unwrap_or_default()
        };
        text.push_str(&format!(
            "  curl -i -X PUT --data-binary 'a small wader' 'http://{}/v0/entity?id=dunlin'\n",
            address(0)
        ));
        text.push_str(&format!(
            "  curl -i 'http://{}/v0/entity?id=dunlin'\n",
            address(1)
        ));
        text.push_str(&format!(
            "  curl 'http://{}/v0/entities?start=a'\n",
            address(2)
        ));
        text.push_str("\nCtrl-C stops it; the next start finds the data.\n");
        text
    }
}
