//! `dunlin up`: a cluster in one process.

use std::path::Path;
use std::time::Duration;

use super::child::{Process, dunlin};
use super::wire::Wire;
use super::{eventually, metric, ports};

/// A running `dunlin up` with its data.
pub struct Up {
    pub process: Process,
    pub ports: Vec<u16>,
    // Kept until the process is gone.
    _directory: tempfile::TempDir,
}

impl Up {
    pub fn nodes(count: u16) -> Up {
        Up::with(count, &[])
    }

    pub fn with(count: u16, flags: &[&str]) -> Up {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        Up::start(count, flags, &data, directory)
    }

    /// On data that outlives it.
    pub fn on(data: &Path, count: u16) -> Up {
        Up::start(count, &[], data, tempfile::tempdir().unwrap())
    }

    fn start(count: u16, flags: &[&str], data: &Path, directory: tempfile::TempDir) -> Up {
        let first = ports::row(count);
        let process = Process::start(
            dunlin()
                .args(["up", "--nodes", &count.to_string()])
                .args(["--http-port", &first.to_string()])
                .arg("--data")
                .arg(data)
                .args(flags),
            &directory.path().join("output"),
        );
        let mut up = Up {
            process,
            ports: (first..first + count).collect(),
            _directory: directory,
        };
        for port in up.ports.clone() {
            eventually("the cluster answers", Duration::from_secs(30), || {
                assert!(up.process.is_running(), "{}", up.process.output());
                Wire::try_open(port)
                    .and_then(|mut wire| wire.try_request("GET", "/health", b""))
                    .is_ok_and(|answer| answer.status == 200)
            });
        }
        // The last node answers a moment before the start has ended and says so.
        eventually("the banner", Duration::from_secs(30), || {
            up.process.output().contains("Ctrl-C stops it")
        });
        up
    }

    /// A figure of the metrics of a node.
    pub fn metric(&self, index: usize, name: &str) -> f64 {
        let answer = Wire::open(self.ports[index]).request("GET", "/metrics", "");
        metric(answer.text(), name)
    }

    /// A URL on node `index`, counted from 0.
    pub fn url(&self, index: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[index])
    }
}
