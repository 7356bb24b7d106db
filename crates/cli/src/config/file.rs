//! The TOML file: any setting may be left out, none may be misspelt.

use std::path::{Path, PathBuf};

use dunlin_log::{Compression, Padding};
use dunlin_metadata::Sync;
use serde::{Deserialize, Serialize};

use super::secret_file::PeerSecret;
use super::transactions::TxnTable;
use super::word;
use crate::failure::Failure;
use crate::units::{Delay, Latency, Size};

/// A configuration file as it is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// See [`super::flags::Flags::name`]; so on for all fields.
    pub name: Option<String>,
    /// Data directory.
    pub data: Option<PathBuf>,
    /// Address for clients.
    pub http: Option<String>,
    /// Certificate shown to clients.
    pub http_tls_cert: Option<PathBuf>,
    /// Its key.
    pub http_tls_key: Option<PathBuf>,
    /// CAs of clients.
    pub http_tls_client_ca: Option<PathBuf>,
    /// Address for other nodes.
    pub listen: Option<String>,
    /// Address told to clients.
    pub advertise_http: Option<String>,
    /// Address told to other nodes.
    pub advertise_listen: Option<String>,
    /// Logins of links to other clusters.
    pub link_logins: Option<PathBuf>,
    /// Where the cluster's metadata is.
    pub metadata: Option<String>,
    /// CAs to believe of etcd.
    pub etcd_tls_ca: Option<PathBuf>,
    /// Certificate shown to etcd.
    pub etcd_tls_cert: Option<PathBuf>,
    /// Its key.
    pub etcd_tls_key: Option<PathBuf>,
    /// User of etcd.
    pub etcd_user: Option<String>,
    /// Its password's file.
    pub etcd_password_file: Option<PathBuf>,
    /// Event loops.
    pub shards: Option<u16>,
    /// Largest request body.
    pub max_body: Option<Size>,
    /// Origins of web pages.
    pub cors_origins: Option<Vec<String>>,
    /// Connections of clients.
    pub max_connections: Option<u32>,
    /// Memory for requests, answers and queues.
    pub request_memory: Option<Size>,
    /// Block cache.
    pub cache: Option<Size>,
    /// Cache of single records.
    pub row_cache: Option<Size>,
    /// Memtable size.
    pub flush: Option<Size>,
    /// Segment size.
    pub segment: Option<Size>,
    /// Log kept for lagging replicas.
    pub retention: Option<Size>,
    /// Log kept beyond that for who copies.
    pub pins: Option<Size>,
    /// What clients may wait while partitions are copied.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub move_latency: Option<Latency>,
    /// How long a dropped keyspace can be taken back.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub drop_delay: Option<Delay>,
    /// How far clocks of nodes may differ.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub clock_bound: Option<Latency>,
    /// The secret between nodes.
    #[serde(default)]
    pub peer_secret: PeerSecret,
    /// How new log segments are written.
    #[serde(default)]
    pub log: LogTable,
    /// Bounds of transactions.
    #[serde(default)]
    pub transactions: TxnTable,
    /// Settings of the keyspace `default`.
    #[serde(default)]
    pub default_keyspace: DefaultKeyspace,
}

/// The table `[log]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogTable {
    /// Block size.
    pub block_size: Option<Size>,
    /// What happens at the end of a block.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub padding: Option<Padding>,
    /// What groups are compressed with.
    #[serde(default, with = "word", skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Whether it is written past the page cache.
    pub direct_io: Option<bool>,
}

/// The table `[default_keyspace]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultKeyspace {
    /// When a write reaches the disk.
    pub sync: Option<Sync>,
    /// Copies of each key.
    pub replicas: Option<u8>,
    /// Slices it is spread in.
    pub partitions: Option<u16>,
    /// Seconds a delete is remembered.
    pub tombstone_grace_s: Option<u64>,
}

impl File {
    /// Reads a file. What is wrong with it is one line with the line number.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Usage(format!("configuration {}: {error}", path.display()))
        })?;
        File::parse(&text)
            .map_err(|reason| Failure::Usage(format!("configuration {}, {reason}", path.display())))
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<File, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error
                .span()
                .and_then(|span| text.get(..span.start))
                .unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let reason = error
                .message()
                .lines()
                .next()
                .unwrap_or("cannot be read")
                .replacen("unknown field", "unknown key", 1);
            format!("line {line}: {reason}")
        })
    }
}
