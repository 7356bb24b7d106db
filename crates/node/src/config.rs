//! What one node is told at its start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dunlin_log::{Compression, Padding};
use dunlin_metadata::KeyspaceSettings;
use dunlin_secret::{Door, Guard};
use dunlin_tls::ServerTls;

use crate::limits::{CHUNK_BYTES, PAGE_ITEMS, STREAM_LOOK_BYTES, TAIL_INTERVAL};
use crate::plug::Plug;

/// Settings of one node. Every field has a default that suits a small machine.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Name in the cluster, stable over restarts.
    pub name: String,
    /// Directory that holds this node's shards.
    pub data: PathBuf,
    /// `HOST:PORT` for HTTP clients; port 0 picks a free one.
    pub http: String,
    /// What HTTP clients are spoken to with; none, in the clear.
    pub http_tls: Option<Arc<ServerTls>>,
    /// `HOST:PORT` for other nodes; port 0 picks a free one.
    pub listen: String,
    /// HTTP address told to others, when it differs from `http`.
    pub advertise_http: Option<String>,
    /// Node address told to others, when it differs from `listen`.
    pub advertise_listen: Option<String>,
    /// What the port for other nodes is guarded by, in both directions.
    pub guard: Arc<Guard>,
    /// Event loops, each with its own log and store.
    pub shards: u16,
    /// Largest request body accepted, in bytes.
    pub max_body_bytes: usize,
    /// Origins of web pages whose scripts may use HTTP, as browsers send them; `*` is any.
    pub cors_origins: Vec<String>,
    /// Block cache shared by the shards of the process, in bytes.
    pub cache_bytes: usize,
    /// Cache of single records shared by the shards of the process, in bytes.
    pub row_cache_bytes: usize,
    /// Memtable size at which a shard flushes its store, in bytes.
    pub flush_bytes: usize,
    /// Size of one log segment, in bytes.
    pub segment_bytes: u64,
    /// Block size of the log, in bytes: a power of two from 4 KiB to 1 MiB. This and the next three
    /// take effect in the next new segment.
    pub log_block_size_bytes: u32,
    /// What happens at the end of a block of the log.
    pub log_padding: Padding,
    /// What groups of log records are compressed with.
    pub log_compression: Compression,
    /// Whether the log is written past the page cache, where the file system allows it.
    pub log_direct_io: bool,
    /// Most log bytes kept for replicas that lag, per shard.
    pub retention_bytes: u64,
    /// Most log bytes kept beyond that for what is pinned, per shard.
    pub pins_bytes: u64,
    /// Copies of partitions go only as fast as leaves the 99th percentile of the latency of clients'
    /// requests at or below this, in microseconds.
    pub move_latency_us_p99: u64,
    /// Records that come in a copy are taken as a file from so many bytes on; below that they go
    /// through the log.
    pub ingest_bytes: usize,
    /// The steps in which partitions are copied.
    pub copy_steps: CopySteps,
    /// How far another node's clock may be ahead of this one's, in milliseconds: its stamps are taken
    /// over up to there and refused beyond.
    pub clock_bound_ms: u64,
    /// For how long a dropped keyspace keeps its data and can be taken back, in milliseconds. Of
    /// the nodes' settings the shortest counts.
    pub drop_delay_ms: u64,
    /// Capabilities that are crates of their own.
    pub plugs: Vec<Arc<dyn Plug>>,
    /// Settings of the keyspace `default`, used when this start creates it.
    pub default_keyspace: KeyspaceSettings,
}

/// The steps in which partitions are copied; smaller in the simulation, where there is little to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySteps {
    /// Records of a page that is asked for.
    pub page_items: usize,
    /// Bytes of records that are put on disk in one step.
    pub chunk_bytes: usize,
    /// How often the tails of the sources' logs are read between steps.
    pub tail_interval: Duration,
    /// Bytes of records that are looked at for one stream of pages.
    pub look_bytes: usize,
}

impl Default for CopySteps {
    fn default() -> Self {
        CopySteps {
            page_items: PAGE_ITEMS,
            chunk_bytes: CHUNK_BYTES,
            tail_interval: TAIL_INTERVAL,
            look_bytes: STREAM_LOOK_BYTES,
        }
    }
}

/// A sync of this many bytes takes a disk some ten milliseconds: as long as writes in flight may
/// wait behind one.
const WRITE_BEHIND_BYTES: u64 = 4 << 20;

impl NodeConfig {
    /// The settings of a shard's log.
    pub fn log_options(&self) -> dunlin_log::Options {
        dunlin_log::Options {
            block_size_bytes: self.log_block_size_bytes,
            padding: self.log_padding,
            compression: self.log_compression,
            direct_io: self.log_direct_io,
            segment_bytes: self.segment_bytes,
            write_behind_bytes: WRITE_BEHIND_BYTES,
            ..dunlin_log::Options::default()
        }
    }
}

impl Default for NodeConfig {
    fn default() -> Self {
        let log = dunlin_log::Options::default();
        NodeConfig {
            name: "n1".into(),
            data: PathBuf::from("data"),
            http: "127.0.0.1:8080".into(),
            http_tls: None,
            listen: "127.0.0.1:7080".into(),
            advertise_http: None,
            advertise_listen: None,
            guard: Guard::off(Door::Peer),
            shards: 1,
            max_body_bytes: 16 << 20,
            cors_origins: Vec::new(),
            cache_bytes: 256 << 20,
            row_cache_bytes: 128 << 20,
            flush_bytes: 64 << 20,
            segment_bytes: log.segment_bytes,
            log_block_size_bytes: log.block_size_bytes,
            log_padding: log.padding,
            log_compression: log.compression,
            log_direct_io: log.direct_io,
            retention_bytes: 1 << 30,
            pins_bytes: 8 << 30,
            move_latency_us_p99: 20_000,
            ingest_bytes: 1 << 20,
            copy_steps: CopySteps::default(),
            clock_bound_ms: 10_000,
            drop_delay_ms: 3_600_000,
            plugs: Vec::new(),
            default_keyspace: KeyspaceSettings::default(),
        }
    }
}
