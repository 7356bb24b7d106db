//! What every command that talks to a cluster is told.

use std::time::Duration;

use clap::Args;
use dunlin_client::{Client, Credentials, Keyspace, Quorum};

use crate::failure::Failure;
use crate::login::Login;

/// The keyspace of every command that names none.
pub const DEFAULT_KEYSPACE: &str = "default";

/// Which cluster.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// Nodes to talk to; the next is tried when one cannot be reached
    #[arg(
        long,
        env = "DUNLIN_SERVER",
        value_name = "URL[,URL..]",
        default_value = "http://127.0.0.1:8080"
    )]
    pub server: String,
    /// Seconds to wait for one node's answer
    #[arg(long, env = "DUNLIN_TIMEOUT", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    #[command(flatten)]
    /// Who asks.
    pub login: Login,
}

impl Server {
    /// A client of that cluster.
    pub fn client(&self) -> Result<Client, Failure> {
        self.client_as(&self.server, self.login.read(&self.server)?.as_ref())
    }

    /// A client of these servers, for somebody to ask.
    pub fn client_as(
        &self,
        servers: &str,
        credentials: Option<&Credentials>,
    ) -> Result<Client, Failure> {
        let client = Client::with_timeout(servers, Duration::from_secs(self.timeout))?;
        Ok(match credentials {
            None => client,
            Some(credentials) => client.as_user(credentials)?,
        })
    }
}

/// Which keyspace of which cluster, and how many replicas.
#[derive(Debug, Clone, Args)]
pub struct Target {
    #[command(flatten)]
    /// The cluster.
    pub server: Server,
    /// Keyspace
    #[arg(
        long,
        short = 'k',
        env = "DUNLIN_KEYSPACE",
        value_name = "NAME",
        default_value = DEFAULT_KEYSPACE
    )]
    pub keyspace: String,
    /// Replicas that must answer [default: a majority]
    #[arg(long, value_name = "N")]
    pub ack: Option<u16>,
    /// Replicas that are asked [default: all of the keyspace]
    #[arg(long, value_name = "N")]
    pub from: Option<u16>,
}

impl Target {
    /// A handle on that keyspace.
    pub fn keyspace(&self) -> Result<Keyspace, Failure> {
        Ok(self.server.client()?.keyspace(&self.keyspace))
    }

    /// How many replicas.
    pub fn quorum(&self) -> Quorum {
        Quorum {
            ack: self.ack,
            from: self.from,
        }
    }
}
