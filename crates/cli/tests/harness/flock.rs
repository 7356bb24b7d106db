//! A cluster of processes: an etcd and nodes of `dunlin serve`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::answer::Answer;
use super::child::{Process, command, without_settings};
use super::etcd::Etcd;
use super::library::faketime;
use super::wire::Wire;
use super::{duplicate, eventually, percent, ports};

const START: Duration = Duration::from_secs(40);

/// Where a node runs and with what.
pub struct Node {
    pub name: String,
    pub data: PathBuf,
    pub host: String,
    pub http: u16,
    pub listen: u16,
    pub flags: Vec<String>,
    /// A network namespace it runs in, if not the test's own.
    pub namespace: Option<String>,
    /// Whether its clock is so far ahead, by Debian's package `faketime`.
    pub is_ahead_70_years: bool,
    /// Further variables of its environment.
    pub environment: Vec<(OsString, OsString)>,
    process: Option<Process>,
}

/// The cluster; dropping it kills every process.
pub struct Flock {
    pub nodes: Vec<Node>,
    pub etcd: Etcd,
    pub directory: tempfile::TempDir,
}

impl Flock {
    /// Three nodes on loopback.
    pub fn start(flags: &[&str]) -> Flock {
        let mut flock = Flock::prepare(flags);
        flock.up_all();
        flock
    }

    /// Starts every node that is not running, and waits until they know each other.
    pub fn up_all(&mut self) {
        let down: Vec<usize> = (0..self.nodes.len())
            .filter(|index| !self.nodes[*index].is_running())
            .collect();
        for index in &down {
            self.spawn(*index);
        }
        for index in &down {
            self.wait(*index);
        }
        self.wait_connected();
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// The same with no node started: a test may change where and how they run.
    pub fn prepare(flags: &[&str]) -> Flock {
        Flock::prepare_at(flags, "127.0.0.1")
    }

    /// With etcd, and nodes unless they are moved, on another address of this machine.
    pub fn prepare_at(flags: &[&str], host: &str) -> Flock {
        let directory = tempfile::tempdir().unwrap();
        let etcd = Etcd::start_at(directory.path(), host);
        Flock::prepare_with(flags, host, etcd, directory)
    }

    /// With an etcd that runs already, in a directory.
    pub fn prepare_with(
        flags: &[&str],
        host: &str,
        etcd: Etcd,
        directory: tempfile::TempDir,
    ) -> Flock {
        let nodes = (1..=3)
            .map(|number| Node::new(number, directory.path(), host, flags))
            .collect();
        Flock {
            nodes,
            etcd,
            directory,
        }
    }

    /// One more node with the flags of the first; returns its index. It is not started.
    pub fn join(&mut self) -> usize {
        let first = &self.nodes[0];
        let flags: Vec<&str> = first.flags.iter().map(String::as_str).collect();
        let number = self.nodes.len() + 1;
        let node = Node::new(number, self.directory.path(), &first.host, &flags);
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// One more node, which serves; returns its index. It is spare.
    pub fn up_spare(&mut self) -> usize {
        let index = self.join();
        self.up(index);
        self.ready(index);
        index
    }

    /// Starts a node without waiting for it.
    pub fn spawn(&mut self, index: usize) {
        let metadata = self.etcd.url();
        let log = self.log(index);
        self.nodes[index].spawn(&metadata, &log);
    }

    /// Starts a node and waits until it serves.
    pub fn up(&mut self, index: usize) {
        self.spawn(index);
        self.wait(index);
    }

    /// Waits until a node answers, whether or not the others are there.
    pub fn wait(&mut self, index: usize) {
        self.wait_for_health(index, "/health/live");
    }

    /// Waits until a node says through its own port that clients may be sent to it.
    pub fn ready(&mut self, index: usize) {
        self.wait_for_health(index, "/health/ready");
    }

    fn wait_for_health(&mut self, index: usize, path: &str) {
        let node = &mut self.nodes[index];
        eventually(&format!("{path} of {}", node.name), START, || {
            assert!(node.is_running(), "{}", node.output());
            node.try_request("GET", path, b"")
                .is_ok_and(|answer| answer.status == 200)
        });
    }

    /// Waits until every running node has a connection to every other.
    pub fn wait_connected(&mut self) {
        let running = self.running();
        for index in &running {
            let node = &self.nodes[*index];
            eventually(&format!("{} sees the others", node.name), START, || {
                let followers = node.followers();
                running.iter().filter(|other| *other != index).all(|other| {
                    let prefix = format!("{}/", self.nodes[*other].name);
                    let mut to = followers
                        .iter()
                        .filter(|follower| follower["to"].as_str().unwrap().starts_with(&prefix))
                        .peekable();
                    to.peek().is_some() && to.all(|follower| follower["connected"] == true)
                })
            });
        }
    }

    /// `kill -9`.
    pub fn kill(&mut self, index: usize) {
        self.nodes[index].process_mut().kill();
    }

    /// A clean stop; its exit code must be 0.
    pub fn stop(&mut self, index: usize) {
        let process = self.nodes[index].process_mut();
        let code = process.stop();
        assert_eq!(code, Some(0), "{}", process.output());
    }

    /// The node that leads the first range of a keyspace, by the first node that answers.
    pub fn leader(&self, keyspace: &str) -> Option<usize> {
        let leads = |range: &&Value| range["role"] == "leader" && range["keyspace"] == keyspace;
        for by in &self.nodes {
            let Ok(answer) = by.try_request("GET", "/v1/status", b"") else {
                continue;
            };
            let status = answer.json();
            let led = status["ranges"].as_array().unwrap().iter().find(leads);
            let at = led.and_then(|range| range["at"].as_str()?.split('/').next());
            if let Some(at) = at {
                return self.nodes.iter().position(|node| node.name == at);
            }
        }
        None
    }

    /// The same, once there is one.
    pub fn until_led(&self, keyspace: &str) -> usize {
        let mut found = None;
        eventually("the keyspace has a leader", START, || {
            found = self.leader(keyspace);
            found.is_some()
        });
        found.unwrap()
    }

    fn running(&mut self) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|index| self.nodes[*index].is_running())
            .collect()
    }

    fn log(&self, index: usize) -> PathBuf {
        let name = &self.nodes[index].name;
        self.directory.path().join(format!("{name}.output"))
    }
}

impl Node {
    fn new(number: usize, directory: &Path, host: &str, flags: &[&str]) -> Node {
        let http = ports::row(2);
        Node {
            name: format!("n{number}"),
            data: directory.join(format!("n{number}")),
            host: host.to_owned(),
            http,
            listen: http + 1,
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            namespace: None,
            is_ahead_70_years: false,
            environment: Vec::new(),
            process: None,
        }
    }

    fn spawn(&mut self, metadata: &str, log: &Path) {
        let program = env!("CARGO_BIN_EXE_dunlin");
        let mut command = match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(program);
                command
            }
        };
        without_settings(&mut command);
        command
            .args(["serve", "--name", &self.name, "--metadata", metadata])
            .args(["--http", &format!("{}:{}", self.host, self.http)])
            .args(["--listen", &format!("{}:{}", self.host, self.listen)])
            .arg("--data")
            .arg(&self.data)
            .args(&self.flags)
            .envs(self.environment.iter().cloned());
        if self.is_ahead_70_years {
            let library = faketime(log.parent().unwrap());
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME", "+25567d")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        self.process = Some(Process::start(&mut command, log));
    }

    pub fn process_mut(&mut self) -> &mut Process {
        self.process.as_mut().expect("not started")
    }

    pub fn process(&self) -> &Process {
        self.process.as_ref().expect("not started")
    }

    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(Process::is_running)
    }

    pub fn output(&self) -> String {
        self.process
            .as_ref()
            .map(Process::output)
            .unwrap_or_default()
    }

    pub fn address(&self) -> SocketAddr {
        format!("{}:{}", self.host, self.http).parse().unwrap()
    }

    pub fn wire(&self) -> Wire {
        Wire::try_open_at(self.address()).unwrap()
    }

    /// One request on a connection of its own.
    pub fn try_request(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<Answer> {
        Wire::try_open_at(self.address())?.try_request(method, path, body)
    }

    pub fn request(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.try_request(method, path, body).unwrap()
    }

    pub fn put(&self, key: &str, value: &[u8], rest: &str) -> Answer {
        self.request("PUT", &entity(key, rest), value)
    }

    pub fn get(&self, key: &str, rest: &str) -> Answer {
        self.request("GET", &entity(key, rest), b"")
    }

    pub fn delete(&self, key: &str, rest: &str) -> Answer {
        self.request("DELETE", &entity(key, rest), b"")
    }

    /// Its directory is on another disk from here on: a copy takes its place. Kill it before.
    pub fn move_data(&self) {
        let copy = self.data.with_extension("copy");
        duplicate(&self.data, &copy);
        std::fs::remove_dir_all(&self.data).unwrap();
        std::fs::rename(&copy, &self.data).unwrap();
    }

    /// Whether so many ranges of transactional keyspaces are all there are and have all their replicas, by the command.
    pub fn has_whole_ranges(&self, count: usize) -> bool {
        let server = format!("--server=http://{}", self.address());
        let listed = command()
            .args(["range", "list", "--json", &server])
            .output();
        let Ok(listed) = serde_json::from_slice::<Value>(&listed.unwrap().stdout) else {
            return false;
        };
        let ranges = listed["ranges"].as_array().unwrap();
        ranges.len() == count && ranges.iter().all(|range| range["whole"] == true)
    }

    pub fn status(&self) -> Value {
        self.request("GET", "/v1/status", b"").json()
    }

    /// What `/v1/status` says of those who follow the node's own logs.
    pub fn followers(&self) -> Vec<Value> {
        let status = self.status();
        let own = format!("{}/", self.name);
        // Builds before call them so.
        let followers = status.get("followers");
        let followers = followers.unwrap().as_array().unwrap().iter();
        followers
            .filter(|follower| follower["from"].as_str().unwrap().starts_with(&own))
            .cloned()
            .collect()
    }

    /// A figure of `/metrics`, summed over shards.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.request("GET", "/metrics", b"");
        let lines = text.text().lines();
        lines
            .filter(|line| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }
}

/// The path of an entity; `rest` is more of the query, as `&ack=2`.
pub fn entity(key: &str, rest: &str) -> String {
    format!("/v0/entity?id={}{rest}", percent(key))
}
