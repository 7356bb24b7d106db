//! Settings as flags or environment variables; the same settings as in the file.

use std::path::PathBuf;

use crate::config::secret_file::PeerSecret;
use clap::Args;
use dunlin_client::ClientFiles;
use dunlin_log::{Compression, Padding};
use dunlin_metadata::{EtcdPlace, EtcdUser, Sync};

use crate::config::transactions::TxnFlags;
use crate::failure::Failure;
use crate::trust::identity;
use crate::units::{Delay, Latency, Size};

/// Settings of one node.
#[derive(Debug, Clone, Default, Args)]
pub struct Flags {
    /// Name of the node, kept over restarts
    #[arg(long, env = "DUNLIN_NAME")]
    pub name: Option<String>,
    /// Directory of the node's data
    #[arg(long, env = "DUNLIN_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address for clients [default: 127.0.0.1:8080]
    #[arg(long, env = "DUNLIN_HTTP", value_name = "HOST:PORT")]
    pub http: Option<String>,
    /// TLS for clients
    #[command(flatten)]
    pub http_tls: HttpTlsFlags,
    /// Address for other nodes [default: 127.0.0.1:7080]
    #[arg(long, env = "DUNLIN_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Address told to clients, when it differs from --http
    #[arg(long, env = "DUNLIN_ADVERTISE_HTTP", value_name = "HOST:PORT")]
    pub advertise_http: Option<String>,
    /// Address told to other nodes, when it differs from --listen
    #[arg(long, env = "DUNLIN_ADVERTISE_LISTEN", value_name = "HOST:PORT")]
    pub advertise_listen: Option<String>,
    /// The secret between nodes
    #[command(flatten)]
    pub peer_secret: PeerSecret,
    /// TOML file with the logins of links to other clusters: a table for each, with token, or user and password, and ca;
    /// read again when it changes
    #[arg(long, env = "DUNLIN_LINK_LOGINS", value_name = "FILE")]
    pub link_logins: Option<PathBuf>,
    /// The cluster's metadata: etcd://HOST:PORT[,HOST:PORT..], etcds:// for TLS, or `embedded` for a
    /// node alone
    #[arg(long, env = "DUNLIN_METADATA", value_name = "URL")]
    pub metadata: Option<String>,
    /// How etcd is asked
    #[command(flatten)]
    pub etcd: EtcdFlags,
    /// Event loops, each with its own log and store [default: as the data were made; new ones with one for each
    /// processor, at most 8]
    #[arg(long, env = "DUNLIN_SHARDS", value_name = "N")]
    pub shards: Option<u16>,
    /// Largest request body, at most 64MiB [default: 16MiB]
    #[arg(long, env = "DUNLIN_MAX_BODY", value_name = "SIZE")]
    pub max_body: Option<Size>,
    /// Origin of web pages whose scripts may use the HTTP interface, as in `https://app.example.net`, or `*`
    /// for any; may be repeated [default: none]
    #[arg(
        long = "cors-origin",
        env = "DUNLIN_CORS_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    pub cors_origins: Vec<String>,
    /// Connections of clients at a time; further ones are answered 503 [default: what the limit of
    /// open files leaves room for, at most 10000]
    #[arg(long, env = "DUNLIN_MAX_CONNECTIONS", value_name = "N")]
    pub max_connections: Option<u32>,
    /// Memory for requests, answers and queues; what goes beyond is answered 503 [default: a quarter
    /// of the machine's, or of what its control group may have]
    #[arg(long, env = "DUNLIN_REQUEST_MEMORY", value_name = "SIZE")]
    pub request_memory: Option<Size>,
    /// Block cache of the process [default: 256MiB]
    #[arg(long, env = "DUNLIN_CACHE", value_name = "SIZE")]
    pub cache: Option<Size>,
    /// Cache of single records of the process, 0 for none [default: 128MiB]
    #[arg(long, env = "DUNLIN_ROW_CACHE", value_name = "SIZE")]
    pub row_cache: Option<Size>,
    /// Memory a shard's store fills before it writes a file [default: 64MiB]
    #[arg(long, env = "DUNLIN_FLUSH", value_name = "SIZE")]
    pub flush: Option<Size>,
    /// Size of a log segment [default: 32MiB]
    #[arg(long, env = "DUNLIN_SEGMENT", value_name = "SIZE")]
    pub segment: Option<Size>,
    /// How the log is written
    #[command(flatten)]
    pub log: LogFlags,
    /// Most log a shard keeps for replicas that lag [default: 1GiB]
    #[arg(long, env = "DUNLIN_RETENTION", value_name = "SIZE")]
    pub retention: Option<Size>,
    /// Most log a shard keeps beyond that for a node that copies from it while members change
    /// [default: 8GiB]
    #[arg(long, env = "DUNLIN_PINS", value_name = "SIZE")]
    pub pins: Option<Size>,
    /// Partitions are copied to and from the node only as fast as lets 99 % of its clients' requests
    /// be answered within this [default: 20ms]
    #[arg(long, env = "DUNLIN_MOVE_LATENCY", value_name = "LATENCY")]
    pub move_latency: Option<Latency>,
    /// How long a dropped keyspace keeps its data and can be taken back; of the nodes' settings the
    /// shortest counts [default: 1h]
    #[arg(long, env = "DUNLIN_DROP_DELAY", value_name = "DELAY")]
    pub drop_delay: Option<Delay>,
    /// How far clocks of nodes may differ: stamps further ahead are refused, and a node further from
    /// most others takes no requests [default: 10s]
    #[arg(long, env = "DUNLIN_CLOCK_BOUND", value_name = "TIME")]
    pub clock_bound: Option<Latency>,
    /// Bounds of transactions
    #[command(flatten)]
    pub transactions: TxnFlags,
    /// Sync of the keyspace `default`, if this start creates it: always, interval:100ms, never
    #[arg(long, env = "DUNLIN_SYNC", value_name = "POLICY")]
    pub sync: Option<Sync>,
    /// Replicas of the keyspace `default`, if this start creates it [default: 3]
    #[arg(long, env = "DUNLIN_REPLICAS", value_name = "N")]
    pub replicas: Option<u8>,
    /// Partitions of the keyspace `default`, if this start creates it [default: 64]
    #[arg(long, env = "DUNLIN_PARTITIONS", value_name = "N")]
    pub partitions: Option<u16>,
}

/// How the log is written. They change nothing of what is already there.
#[derive(Debug, Clone, Default, Args)]
pub struct LogFlags {
    /// Block size of new log segments, a power of two from 4KiB to 1MiB [default: 32KiB]
    #[arg(
        long = "log-block-size",
        env = "DUNLIN_LOG_BLOCK_SIZE",
        value_name = "SIZE"
    )]
    pub block_size: Option<Size>,
    /// Where a record does not fit in the rest of a block of new log segments: fragment splits it,
    /// pad starts it in the next block [default: fragment]
    #[arg(
        long = "log-padding",
        env = "DUNLIN_LOG_PADDING",
        value_name = "POLICY"
    )]
    pub padding: Option<Padding>,
    /// Compression of new log segments: none, lz4, zstd [default: none]
    #[arg(
        long = "log-compression",
        env = "DUNLIN_LOG_COMPRESSION",
        value_name = "CODEC"
    )]
    pub compression: Option<Compression>,
    /// Write new log segments past the page cache, where the file system allows it: true, false
    /// [default: false]
    #[arg(
        long = "log-direct-io",
        env = "DUNLIN_LOG_DIRECT_IO",
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    pub direct_io: Option<bool>,
}

/// TLS for clients. Files are read again when they change.
#[derive(Debug, Clone, Default, Args)]
pub struct HttpTlsFlags {
    /// File with the certificate that clients are shown, as PEM, those of its CAs behind it: HTTP is
    /// then spoken over TLS only; read again when it changes [default: none, HTTP in the clear]
    #[arg(
        id = "http-tls-cert",
        long = "http-tls-cert",
        env = "DUNLIN_HTTP_TLS_CERT",
        value_name = "FILE"
    )]
    pub certificate: Option<PathBuf>,
    /// File with the private key of that certificate, as PEM
    #[arg(
        id = "http-tls-key",
        long = "http-tls-key",
        env = "DUNLIN_HTTP_TLS_KEY",
        value_name = "FILE"
    )]
    pub key: Option<PathBuf>,
    /// File with the CAs, as PEM, one of which must have signed a certificate that a client shows
    /// [default: clients need none]
    #[arg(
        id = "http-tls-client-ca",
        long = "http-tls-client-ca",
        env = "DUNLIN_HTTP_TLS_CLIENT_CA",
        value_name = "FILE"
    )]
    pub client_ca: Option<PathBuf>,
}

/// How etcd is asked. Files are read again for each use.
#[derive(Debug, Clone, Default, Args)]
pub struct EtcdFlags {
    /// File with the CAs to believe of etcd, as PEM, for etcds:// [default: those of the system]
    #[arg(
        id = "etcd-tls-ca",
        long = "etcd-tls-ca",
        env = "DUNLIN_ETCD_TLS_CA",
        value_name = "FILE"
    )]
    pub ca: Option<PathBuf>,
    /// File with the certificate that etcd is shown, as PEM, where it asks for one
    #[arg(
        id = "etcd-tls-cert",
        long = "etcd-tls-cert",
        env = "DUNLIN_ETCD_TLS_CERT",
        value_name = "FILE"
    )]
    pub certificate: Option<PathBuf>,
    /// File with the private key of that certificate, as PEM
    #[arg(
        id = "etcd-tls-key",
        long = "etcd-tls-key",
        env = "DUNLIN_ETCD_TLS_KEY",
        value_name = "FILE"
    )]
    pub key: Option<PathBuf>,
    /// User of etcd, where it asks for one; with --etcd-password-file
    #[arg(
        id = "etcd-user",
        long = "etcd-user",
        env = "DUNLIN_ETCD_USER",
        value_name = "NAME"
    )]
    pub user: Option<String>,
    /// File whose first line is that user's password
    #[arg(
        id = "etcd-password-file",
        long = "etcd-password-file",
        env = "DUNLIN_ETCD_PASSWORD_FILE",
        value_name = "FILE"
    )]
    pub password_file: Option<PathBuf>,
}

impl EtcdFlags {
    /// Where etcd is and how it is asked.
    pub fn place(&self, endpoints: &str) -> Result<EtcdPlace, Failure> {
        let names = ["--etcd-tls-cert", "--etcd-tls-key"];
        let user = match (&self.user, &self.password_file) {
            (Some(name), Some(password_file)) => Some(EtcdUser {
                name: name.clone(),
                password_file: password_file.clone(),
            }),
            (None, None) => None,
            _ => {
                return Err(Failure::Usage(
                    "--etcd-user and --etcd-password-file go together: name both".to_owned(),
                ));
            }
        };
        Ok(EtcdPlace {
            endpoints: endpoints.to_owned(),
            tls: ClientFiles {
                ca: self.ca.clone(),
                identity: identity(&self.certificate, &self.key, names)?,
            },
            user,
        })
    }

    /// These where they are set, else the other ones.
    #[must_use]
    pub fn or(self, other: EtcdFlags) -> EtcdFlags {
        EtcdFlags {
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
            user: self.user.or(other.user),
            password_file: self.password_file.or(other.password_file),
        }
    }
}
