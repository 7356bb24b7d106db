//! A real etcd of Debian's package `etcd-server`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child::Process;
use super::wire::Wire;
use super::{duplicate, eventually, ports};

/// One etcd member with its data.
pub struct Etcd {
    process: Process,
    directory: PathBuf,
    host: String,
    /// The network namespace it runs in, if not the test's own.
    namespace: Option<String>,
    client_port: u16,
}

impl Etcd {
    pub fn start(directory: &Path) -> Etcd {
        Etcd::start_at(directory, "127.0.0.1")
    }

    /// On another address of this machine.
    pub fn start_at(directory: &Path, host: &str) -> Etcd {
        Etcd::start_in(directory, host, None)
    }

    /// On a host of its own.
    pub fn start_in(directory: &Path, host: &str, namespace: Option<&str>) -> Etcd {
        let client_port = ports::row(2);
        let process = spawn(directory, host, namespace, client_port);
        let mut etcd = Etcd {
            process,
            directory: directory.to_owned(),
            host: host.to_owned(),
            namespace: namespace.map(str::to_owned),
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
        let namespace = self.namespace.as_deref();
        self.process = spawn(&self.directory, &self.host, namespace, self.client_port);
        self.wait();
    }

    /// Loses all it knew, as a lost disk does; kill it before.
    pub fn wipe(&self) {
        std::fs::remove_dir_all(self.directory.join("etcd")).unwrap();
    }

    /// A copy of what it knows now.
    pub fn copy(&mut self) -> PathBuf {
        self.kill();
        let copy = self.directory.join("etcd.copy");
        duplicate(&self.directory.join("etcd"), &copy);
        self.restart();
        copy
    }

    /// Puts a copy in the place of what it knew; kill it before.
    pub fn put_back(&self, copy: &Path) {
        self.wipe();
        duplicate(copy, &self.directory.join("etcd"));
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// What somebody else with access to it does; answers what is printed.
    pub fn ctl(&self, arguments: &[&str]) -> String {
        let endpoint = format!("{}:{}", self.host, self.client_port);
        let output = Command::new("etcdctl")
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &endpoint])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn wait(&mut self) {
        let address = format!("{}:{}", self.host, self.client_port)
            .parse()
            .unwrap();
        eventually("etcd answers", Duration::from_secs(30), || {
            assert!(self.process.is_running(), "{}", self.process.output());
            // Healthy, it has a leader and has read through it.
            Wire::try_open_at(address)
                .and_then(|mut wire| wire.try_request("GET", "/health", b""))
                .is_ok_and(|answer| answer.status == 200)
        });
    }
}

fn spawn(directory: &Path, host: &str, namespace: Option<&str>, port: u16) -> Process {
    let client = format!("http://{host}:{port}");
    let peer = format!("http://{host}:{}", port + 1);
    let mut command = match namespace {
        None => Command::new("etcd"),
        Some(namespace) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", namespace, "etcd"]);
            command
        }
    };
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
