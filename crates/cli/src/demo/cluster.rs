//! A real etcd and three `dunlin serve` processes on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dunlin_client::{Client, ClientError};
use tokio::time::{Instant, sleep};

use crate::demo::ports;
use crate::demo::process::Process;
use crate::failure::Failure;

/// Nodes of the cluster.
pub const NODES: usize = 3;
const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// The running cluster; dropping it kills every process.
pub struct Cluster {
    directory: PathBuf,
    executable: PathBuf,
    etcd_url: String,
    sync: String,
    http: [u16; NODES],
    listen: [u16; NODES],
    nodes: Vec<Process>,
    etcd: Process,
}

impl Cluster {
    /// Starts etcd, then the nodes, and waits until each answers.
    pub async fn start(
        directory: &Path,
        executable: PathBuf,
        sync: &str,
    ) -> Result<Cluster, Failure> {
        let [client, peer, h1, h2, h3, l1, l2, l3] = ports::free()?;
        let etcd = start_etcd(directory, client, peer)?;
        let mut cluster = Cluster {
            directory: directory.to_owned(),
            executable,
            etcd_url: format!("etcd://127.0.0.1:{client}"),
            sync: sync.to_owned(),
            http: [h1, h2, h3],
            listen: [l1, l2, l3],
            nodes: Vec::new(),
            etcd,
        };
        cluster.wait_for_etcd(client).await?;
        for index in 0..NODES {
            let node = cluster.spawn(index)?;
            cluster.nodes.push(node);
        }
        for index in 0..NODES {
            // Those that are alive have not found one another yet.
            cluster.wait(index, Client::health).await?;
        }
        Ok(cluster)
    }

    /// The name of a node, counted from 0.
    pub fn name(index: usize) -> String {
        format!("n{}", index + 1)
    }

    /// Where a node serves HTTP.
    pub fn url(&self, index: usize) -> String {
        format!("http://127.0.0.1:{}", self.http[index])
    }

    /// All nodes, for a client that goes to whichever is there.
    pub fn urls(&self) -> String {
        (0..NODES)
            .map(|index| self.url(index))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// The process number of a node.
    pub fn process_id(&self, index: usize) -> u32 {
        self.nodes[index].id()
    }

    /// Ends a node at once.
    pub fn kill(&mut self, index: usize) {
        self.nodes[index].kill();
    }

    /// Starts a killed node again, without waiting for it.
    pub fn restart(&mut self, index: usize) -> Result<(), Failure> {
        self.nodes[index] = self.spawn(index)?;
        Ok(())
    }

    /// Waits until a node answers, though it may have to catch up first.
    pub async fn wait_for(&mut self, index: usize) -> Result<(), Failure> {
        self.wait(index, Client::alive).await
    }

    async fn wait(
        &mut self,
        index: usize,
        asked: impl AsyncFn(&Client) -> Result<(), ClientError>,
    ) -> Result<(), Failure> {
        let client = Client::with_timeout(&self.url(index), Duration::from_secs(1))?;
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            self.etcd.check()?;
            self.nodes[index].check()?;
            match asked(&client).await {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    let seconds = START_TIMEOUT.as_secs();
                    let name = Cluster::name(index);
                    return Err(Failure::Failed(format!(
                        "node {name} did not serve within {seconds} s: {error}"
                    )));
                }
                Err(_) => sleep(POLL).await,
            }
        }
    }

    async fn wait_for_etcd(&mut self, port: u16) -> Result<(), Failure> {
        let deadline = Instant::now() + START_TIMEOUT;
        while let Err(error) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
            self.etcd.check()?;
            if Instant::now() > deadline {
                return Err(Failure::Failed(format!("etcd does not answer: {error}")));
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    fn spawn(&self, index: usize) -> Result<Process, Failure> {
        let name = Cluster::name(index);
        let mut command = Command::new(&self.executable);
        command
            .arg("serve")
            .args([
                "--name",
                &name,
                "--metadata",
                &self.etcd_url,
                "--sync",
                &self.sync,
            ])
            .arg("--data")
            .arg(self.directory.join(&name))
            .args(["--http", &format!("127.0.0.1:{}", self.http[index])])
            .args(["--listen", &format!("127.0.0.1:{}", self.listen[index])]);
        // What the user set for own nodes is not meant for these.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("DUNLIN_") && variable != "DUNLIN_LOG" {
                command.env_remove(variable);
            }
        }
        Process::start(
            &format!("node {name}"),
            command,
            &self.directory.join(format!("{name}.log")),
        )
    }
}

fn start_etcd(directory: &Path, client: u16, peer: u16) -> Result<Process, Failure> {
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    let mut command = Command::new("etcd");
    command
        .args(["--name", "demo", "--log-level", "error"])
        .arg("--data-dir")
        .arg(directory.join("etcd"))
        .args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ])
        .args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ])
        .args(["--initial-cluster", &format!("demo={peer}")]);
    Process::start(
        "etcd (Debian package etcd-server)",
        command,
        &directory.join("etcd.log"),
    )
}
