//! A real etcd of Debian's package `etcd-server`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child::Process;
use super::{eventually, ports};

/// One etcd member with its data.
pub struct Etcd {
    process: Process,
    directory: PathBuf,
    host: String,
    client_port: u16,
}

impl Etcd {
    pub fn start(directory: &Path) -> Etcd {
        Etcd::start_at(directory, "127.0.0.1")
    }

    /// On another address of this machine.
    pub fn start_at(directory: &Path, host: &str) -> Etcd {
        let client_port = ports::row(2);
        let process = spawn(directory, host, client_port);
        let mut etcd = Etcd {
            process,
            directory: directory.to_owned(),
            host: host.to_owned(),
            client_port,
        };
        etcd.wait();
        etcd
    }

    pub fn url(&self) -> String {
        format!("etcd://{}:{}", self.host, self.client_port)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again with the data it had.
    pub fn restart(&mut self) {
        self.process = spawn(&self.directory, &self.host, self.client_port);
        self.wait();
    }

    fn wait(&mut self) {
        let mut probe = Command::new("etcdctl");
        probe.env("ETCDCTL_API", "3").args([
            "--endpoints",
            &format!("{}:{}", self.host, self.client_port),
            "--command-timeout=1s",
            "get",
            "x",
        ]);
        eventually("etcd answers", Duration::from_secs(30), || {
            assert!(self.process.is_running(), "{}", self.process.output());
            probe.output().is_ok_and(|output| output.status.success())
        });
    }
}

fn spawn(directory: &Path, host: &str, port: u16) -> Process {
    let client = format!("http://{host}:{port}");
    let peer = format!("http://{host}:{}", port + 1);
    let mut command = Command::new("etcd");
    command
        .args(["--name", "m", "--log-level", "error"])
        .args(["--initial-cluster", &format!("m={peer}")])
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
        .arg(directory.join("etcd"));
    Process::start(&mut command, &directory.join("etcd.output"))
}
