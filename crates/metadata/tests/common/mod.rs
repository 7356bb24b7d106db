//! A real etcd for a test, ended with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Of Debian's package `etcd-server`.
const ETCD: &str = "/usr/bin/etcd";

pub const SECOND: Duration = Duration::from_secs(1);

/// One etcd member with a folder and ports of its own.
pub struct Member {
    name: String,
    /// All members of its cluster, as etcd is told of them.
    cluster: String,
    child: Option<Child>,
    folder: TempDir,
    client_port: u16,
    peer_port: u16,
}

fn free_ports() -> (u16, u16) {
    let sockets = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    (
        sockets.0.local_addr().unwrap().port(),
        sockets.1.local_addr().unwrap().port(),
    )
}

impl Member {
    pub async fn start() -> Self {
        assert!(
            Path::new(ETCD).exists(),
            "install Debian's etcd-server to run this test"
        );
        Member::cluster(1).await.remove(0)
    }

    /// Several that are one cluster.
    pub async fn cluster(members: usize) -> Vec<Self> {
        let mut all: Vec<Member> = (0..members)
            .map(|number| {
                let (client_port, peer_port) = free_ports();
                Member {
                    name: format!("m{number}"),
                    cluster: String::new(),
                    child: None,
                    folder: tempfile::tempdir().unwrap(),
                    client_port,
                    peer_port,
                }
            })
            .collect();
        let each = all.iter();
        let each = each.map(|m| format!("{}=http://127.0.0.1:{}", m.name, m.peer_port));
        let cluster = each.collect::<Vec<_>>().join(",");
        for member in &mut all {
            member.cluster.clone_from(&cluster);
            member.spawn();
        }
        for member in &all {
            member.wait().await;
        }
        all
    }

    /// The address of several.
    pub fn address_of(members: &[Member]) -> String {
        let each = members.iter();
        let each = each.map(|member| format!("127.0.0.1:{}", member.client_port));
        format!("etcd://{}", each.collect::<Vec<_>>().join(","))
    }

    pub fn address(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.client_port)
    }

    /// Starts it, again if need be, with the data it has, and waits until it answers.
    pub async fn up(&mut self) {
        self.spawn();
        self.wait().await;
    }

    fn spawn(&mut self) {
        let client = format!("http://127.0.0.1:{}", self.client_port);
        let peer = format!("http://127.0.0.1:{}", self.peer_port);
        let child = Command::new(ETCD)
            .args(["--name", &self.name, "--initial-cluster", &self.cluster])
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
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Waits until it answers.
    pub async fn wait(&self) {
        let client = format!("http://127.0.0.1:{}", self.client_port);
        for _ in 0..100 {
            let client = etcd_client::Client::connect([&client], None).await;
            let answer = async { client.unwrap().get("x", None).await };
            if let Ok(Ok(_)) = tokio::time::timeout(SECOND, answer).await {
                return;
            }
            tokio::time::sleep(SECOND / 10).await;
        }
        panic!("etcd did not start");
    }

    /// Kills it as a power cut would.
    pub async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    /// Stops it where it stands (SIGSTOP), or lets it go on.
    pub fn freeze(&self, is_frozen: bool) {
        let pid = self.child.as_ref().unwrap().id().unwrap().to_string();
        let signal = if is_frozen { "-STOP" } else { "-CONT" };
        let sent = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Loses all it knew.
    pub fn wipe(&self) {
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
    }
}
