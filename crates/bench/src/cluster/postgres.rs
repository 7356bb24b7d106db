//! PostgreSQL as a rival: one server, without replicas.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use super::server::Server;
use super::{Cluster, ClusterError, directory, ports, ready};
use crate::interrupt::Interrupt;

/// Its user in the database.
pub const USER: &str = "bench";
/// Connections that it takes.
const CONNECTIONS: &str = "max_connections=300";
const TIMEOUT: Duration = Duration::from_secs(10);

/// The directory of its programs, when they are installed: Debian keeps them beside each other by version.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let programs = versions.map(|version| version.path().join("bin"));
    programs.filter(|bin| bin.join("initdb").is_file()).max()
}

/// Starts it with its defaults, which sync each commit.
///
/// # Errors
/// When it does not start.
pub fn start(
    programs: &Path,
    parent: &Path,
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "postgres")?;
    let account = account();
    if let Some((user, group)) = account {
        chown(directory.path(), Some(user), Some(group))?;
    }
    let data = directory.path().join("data");
    let command = |program: &str| {
        let mut command = Command::new(programs.join(program));
        command.current_dir(directory.path()).arg("-D").arg(&data);
        // It does not run as root.
        if let Some((user, group)) = account {
            command.uid(user).gid(group);
        }
        command
    };
    let status = command("initdb")
        .args(["-U", USER, "-A", "trust", "--no-sync"])
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("initdb ended with {status}")).into());
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::consecutive(1)?));
    let mut server = command("postgres");
    server
        .args(["-h", "127.0.0.1", "-p", &address.port().to_string()])
        .args(["-c", CONNECTIONS, "-c", "unix_socket_directories="]);
    let server = Server::spawn("postgres", server, directory.path().join("postgres.log"))?;
    let mut cluster = Cluster {
        addresses: vec![address],
        servers: vec![server],
        helpers: Vec::new(),
        directory,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    ready::wait("postgres", &mut cluster, interrupt, |_| {
        let connected = runtime.block_on(connect(address));
        connected.map(drop).map_err(|error| error.to_string())
    })?;
    Ok(cluster)
}

/// A connection, which the current runtime drives.
///
/// # Errors
/// When the server does not take it.
pub async fn connect(address: SocketAddr) -> Result<Client, tokio_postgres::Error> {
    let mut config = tokio_postgres::Config::new();
    config
        .host(address.ip().to_string())
        .port(address.port())
        .user(USER)
        .dbname("postgres")
        .connect_timeout(TIMEOUT);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// User and group to run it as, where this process is root: those that its package has made.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts
        .lines()
        .find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
