//! Flags and file made one: every setting has a value, and each was checked.

use std::path::PathBuf;

use dunlin_log::{BLOCK_SIZE_BYTES_MAX, BLOCK_SIZE_BYTES_MIN, is_block_size};
use dunlin_metadata::{EtcdPlace, KeyspaceSettings};
use dunlin_node::NodeConfig;
use dunlin_ranges::Limits;
use dunlin_tls::ServerFiles;

use crate::config::file::{DefaultKeyspace, File, LogTable};
use crate::config::flags::{EtcdFlags, Flags, HttpTlsFlags, LogFlags};
use crate::config::origins::check_origins;
use crate::config::room::{self, Asked, Room};
use crate::config::secret_file::PeerSecret;
use crate::config::transactions::{TxnTable, limits};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::trust::identity;
use crate::units::{Delay, Latency, Size};

/// Where a node finds the rest of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataPlace {
    /// The `etcd://` or `etcds://` address, and how it is asked.
    Etcd(EtcdPlace),
    /// A file beside the node's data: a cluster of this node alone.
    Embedded,
}

/// Attempts at writes are stamped up to some seconds ahead where others broke.
const CLOCK_BOUND_MS: std::ops::RangeInclusive<u64> = 5_000..=3_600_000;

/// The settings a node starts with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node's own settings.
    pub node: NodeConfig,
    /// The files of TLS for clients.
    pub http_tls: Option<ServerFiles>,
    /// Where the metadata is.
    pub metadata: MetadataPlace,
    /// Connections of clients; none said, as many as there is room for.
    pub max_connections: Option<u32>,
    /// Memory for requests, answers and queues; the same.
    pub request_memory: Option<Size>,
    /// What guards the port for other nodes.
    pub peer_secret: PeerSecret,
    /// Bounds of transactions.
    pub transactions: Limits,
    /// Logins of links to other clusters.
    pub link_logins: Option<PathBuf>,
    /// Shards; none said, as many as there are in the data or processors for.
    pub shards: Option<u16>,
}

impl Settings {
    /// Flags win over the file, the file over the defaults.
    pub fn merge(flags: Flags, file: File) -> Result<Settings, Failure> {
        let defaults = NodeConfig::default();
        let size = |flag: Option<Size>, file: Option<Size>, default: usize| {
            flag.or(file).map_or(default, Size::as_usize)
        };
        let large = |flag: Option<Size>, file: Option<Size>, default: u64| {
            flag.or(file).map_or(default, |size| size.0)
        };
        let keyspace = KeyspaceSettings {
            sync: flags
                .sync
                .or(file.default_keyspace.sync)
                .unwrap_or(defaults.default_keyspace.sync),
            replicas: flags
                .replicas
                .or(file.default_keyspace.replicas)
                .unwrap_or(defaults.default_keyspace.replicas),
            partitions: flags
                .partitions
                .or(file.default_keyspace.partitions)
                .unwrap_or(defaults.default_keyspace.partitions),
            tombstone_grace_s: file
                .default_keyspace
                .tombstone_grace_s
                .unwrap_or(defaults.default_keyspace.tombstone_grace_s),
            ..defaults.default_keyspace
        };
        keyspace
            .check()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let node = NodeConfig {
            name: required(flags.name.or(file.name), "name")?,
            data: required::<PathBuf>(flags.data.or(file.data), "data")?,
            http: flags.http.or(file.http).unwrap_or(defaults.http),
            listen: flags.listen.or(file.listen).unwrap_or(defaults.listen),
            advertise_http: flags.advertise_http.or(file.advertise_http),
            advertise_listen: flags.advertise_listen.or(file.advertise_listen),
            max_body_bytes: size(flags.max_body, file.max_body, defaults.max_body_bytes),
            cors_origins: Some(flags.cors_origins)
                .filter(|origins| !origins.is_empty())
                .or(file.cors_origins)
                .unwrap_or(defaults.cors_origins),
            cache_bytes: size(flags.cache, file.cache, defaults.cache_bytes),
            row_cache_bytes: size(flags.row_cache, file.row_cache, defaults.row_cache_bytes),
            flush_bytes: size(flags.flush, file.flush, defaults.flush_bytes),
            segment_bytes: large(flags.segment, file.segment, defaults.segment_bytes),
            retention_bytes: large(flags.retention, file.retention, defaults.retention_bytes),
            pins_bytes: large(flags.pins, file.pins, defaults.pins_bytes),
            move_latency_us_p99: flags
                .move_latency
                .or(file.move_latency)
                .map_or(defaults.move_latency_us_p99, |latency| latency.0),
            drop_delay_ms: flags
                .drop_delay
                .or(file.drop_delay)
                .map_or(defaults.drop_delay_ms, |delay| delay.0),
            clock_bound_ms: flags
                .clock_bound
                .or(file.clock_bound)
                .map_or(defaults.clock_bound_ms, |time| time.0 / 1_000),
            default_keyspace: keyspace,
            ..defaults
        };
        let peer_secret = flags.peer_secret.or(file.peer_secret);
        peer_secret.check()?;
        let node = with_log(node, &flags.log, &file.log)?;
        let shards = flags.shards.or(file.shards);
        if shards.is_some_and(|shards| shards == 0 || shards > dunlin_metadata::SHARDS_OF_NODE_MAX)
        {
            return Err(Failure::Usage(format!(
                "shards must be from 1 to {}",
                dunlin_metadata::SHARDS_OF_NODE_MAX
            )));
        }
        if !CLOCK_BOUND_MS.contains(&node.clock_bound_ms) {
            return Err(Failure::Usage(
                "clock_bound must be from 5s to 3600s".to_owned(),
            ));
        }
        dunlin_metadata::check_name("name", &node.name)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        check_origins(&node.cors_origins)?;
        check_address("http", &node.http)?;
        check_address("listen", &node.listen)?;
        let http_tls = http_tls(HttpTlsFlags {
            certificate: flags.http_tls.certificate.or(file.http_tls_cert),
            key: flags.http_tls.key.or(file.http_tls_key),
            client_ca: flags.http_tls.client_ca.or(file.http_tls_client_ca),
        })?;
        let etcd = flags.etcd.or(EtcdFlags {
            ca: file.etcd_tls_ca,
            certificate: file.etcd_tls_cert,
            key: file.etcd_tls_key,
            user: file.etcd_user,
            password_file: file.etcd_password_file,
        });
        let metadata = required(flags.metadata.or(file.metadata), "metadata")?;
        let metadata = place(&metadata, &etcd)?;
        Ok(Settings {
            node,
            http_tls,
            metadata,
            max_connections: flags.max_connections.or(file.max_connections),
            request_memory: flags.request_memory.or(file.request_memory),
            peer_secret,
            transactions: limits(flags.transactions, file.transactions)?,
            link_logins: flags.link_logins.or(file.link_logins),
            shards,
        })
    }

    /// Settles what depends on the machine, and on the data, which were `made_with` so many shards.
    ///
    /// # Errors
    /// When it has too little.
    pub fn share_out(&mut self, machine: Machine, made_with: Option<u16>) -> Result<Room, Failure> {
        let shards = self.shards.or(made_with);
        self.node.shards = shards.unwrap_or_else(|| room::shards(machine, 1));
        self.shards = Some(self.node.shards);
        let room = room::share_out(
            machine,
            Asked {
                connections: self.max_connections,
                memory: self.request_memory,
                max_body_bytes: self.node.max_body_bytes,
                shards: self.node.shards.into(),
            },
        )?;
        self.max_connections = u32::try_from(room.bounds.connections).ok();
        self.request_memory = Some(Size(room.bounds.memory_bytes as u64));
        Ok(room)
    }

    /// The settings as a file that leads to the same ones.
    pub fn to_file(&self) -> File {
        let node = &self.node;
        let size = |bytes: usize| Some(Size(bytes as u64));
        let http_tls = self.http_tls.as_ref();
        let etcd = match &self.metadata {
            MetadataPlace::Etcd(place) => Some(place),
            MetadataPlace::Embedded => None,
        };
        let etcd_identity = etcd.and_then(|etcd| etcd.tls.identity.as_ref());
        let etcd_user = etcd.and_then(|etcd| etcd.user.as_ref());
        File {
            name: Some(node.name.clone()),
            data: Some(node.data.clone()),
            http: Some(node.http.clone()),
            http_tls_cert: http_tls.map(|tls| tls.identity.certificate.clone()),
            http_tls_key: http_tls.map(|tls| tls.identity.key.clone()),
            http_tls_client_ca: http_tls.and_then(|tls| tls.client_ca.clone()),
            listen: Some(node.listen.clone()),
            advertise_http: node.advertise_http.clone(),
            advertise_listen: node.advertise_listen.clone(),
            metadata: Some(match &self.metadata {
                MetadataPlace::Etcd(place) => place.endpoints.clone(),
                MetadataPlace::Embedded => "embedded".to_owned(),
            }),
            etcd_tls_ca: etcd.and_then(|etcd| etcd.tls.ca.clone()),
            etcd_tls_cert: etcd_identity.map(|identity| identity.certificate.clone()),
            etcd_tls_key: etcd_identity.map(|identity| identity.key.clone()),
            etcd_user: etcd_user.map(|user| user.name.clone()),
            etcd_password_file: etcd_user.map(|user| user.password_file.clone()),
            peer_secret: self.peer_secret.clone(),
            link_logins: self.link_logins.clone(),
            shards: self.shards,
            max_body: size(node.max_body_bytes),
            cors_origins: Some(node.cors_origins.clone()),
            max_connections: self.max_connections,
            request_memory: self.request_memory,
            cache: size(node.cache_bytes),
            row_cache: size(node.row_cache_bytes),
            flush: size(node.flush_bytes),
            segment: Some(Size(node.segment_bytes)),
            log: LogTable {
                block_size: Some(Size(node.log_block_size_bytes.into())),
                padding: Some(node.log_padding),
                compression: Some(node.log_compression),
                direct_io: Some(node.log_direct_io),
            },
            retention: Some(Size(node.retention_bytes)),
            pins: Some(Size(node.pins_bytes)),
            move_latency: Some(Latency(node.move_latency_us_p99)),
            drop_delay: Some(Delay(node.drop_delay_ms)),
            clock_bound: Some(Latency(node.clock_bound_ms.saturating_mul(1_000))),
            transactions: TxnTable::of(&self.transactions),
            default_keyspace: DefaultKeyspace {
                sync: Some(node.default_keyspace.sync),
                replicas: Some(node.default_keyspace.replicas),
                partitions: Some(node.default_keyspace.partitions),
                tombstone_grace_s: Some(node.default_keyspace.tombstone_grace_s),
            },
        }
    }
}

/// The node with its log's settings: flags win over the file, that over what the node has.
pub fn with_log(
    node: NodeConfig,
    flags: &LogFlags,
    file: &LogTable,
) -> Result<NodeConfig, Failure> {
    let block = flags
        .block_size
        .or(file.block_size)
        .unwrap_or(Size(node.log_block_size_bytes.into()));
    let bytes = u32::try_from(block.0).ok();
    let Some(block_size_bytes) = bytes.filter(|bytes| is_block_size(*bytes)) else {
        return Err(Failure::Usage(format!(
            "log block size {block} must be a power of two from {} to {}",
            Size(BLOCK_SIZE_BYTES_MIN.into()),
            Size(BLOCK_SIZE_BYTES_MAX.into())
        )));
    };
    if node.segment_bytes < 2 * block.0 {
        return Err(Failure::Usage(format!(
            "segment {} must be at least two blocks of the log, {}",
            Size(node.segment_bytes),
            Size(2 * block.0)
        )));
    }
    Ok(NodeConfig {
        log_block_size_bytes: block_size_bytes,
        log_padding: flags.padding.or(file.padding).unwrap_or(node.log_padding),
        log_compression: flags
            .compression
            .or(file.compression)
            .unwrap_or(node.log_compression),
        log_direct_io: flags
            .direct_io
            .or(file.direct_io)
            .unwrap_or(node.log_direct_io),
        ..node
    })
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        let variable = name.to_uppercase();
        Failure::Usage(format!(
            "{name} is not set: give --{name}, DUNLIN_{variable} or {name} in the file of --config"
        ))
    })
}

fn check_address(name: &str, address: &str) -> Result<(), Failure> {
    let valid = address
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if valid {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "{name} {address:?} is not HOST:PORT"
        )))
    }
}

fn http_tls(files: HttpTlsFlags) -> Result<Option<ServerFiles>, Failure> {
    let names = ["--http-tls-cert", "--http-tls-key"];
    match identity(&files.certificate, &files.key, names)? {
        Some(identity) => Ok(Some(ServerFiles {
            identity,
            client_ca: files.client_ca,
        })),
        None if files.client_ca.is_some() => Err(Failure::Usage(
            "--http-tls-client-ca goes with --http-tls-cert and --http-tls-key: without these no \
             client is asked for a certificate"
                .to_owned(),
        )),
        None => Ok(None),
    }
}

/// Whether an address is one of etcd.
pub fn is_etcd(text: &str) -> bool {
    let rest = text
        .strip_prefix("etcd://")
        .or(text.strip_prefix("etcds://"));
    rest.is_some_and(|rest| !rest.is_empty())
}

fn place(text: &str, etcd: &EtcdFlags) -> Result<MetadataPlace, Failure> {
    let place = etcd.place(text)?;
    match text {
        "embedded" if place == EtcdPlace::from(text) => Ok(MetadataPlace::Embedded),
        "embedded" => Err(Failure::Usage(
            "metadata is embedded, so there is no etcd that etcd_tls_ca, etcd_user and the like are for"
                .to_owned(),
        )),
        _ if is_etcd(text) => Ok(MetadataPlace::Etcd(place)),
        _ => Err(Failure::Usage(format!(
            "metadata {:?} is neither etcd://HOST:PORT, etcds://HOST:PORT nor embedded",
            place.shown()
        ))),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
