//! `dunlin up`: a cluster in one process.

use std::path::Path;
use std::time::Duration;

use super::child::{Process, dunlin};
use super::wire::Wire;
use super::{eventually, ports};

/// A running `dunlin up` with its data.
pub struct Up {
    pub process: Process,
    pub ports: Vec<u16>,
    data: tempfile::TempDir,
}

impl Up {
    pub fn nodes(count: u16) -> Up {
        Up::with(count, &[])
    }

    pub fn with(count: u16, flags: &[&str]) -> Up {
        let data = tempfile::tempdir().unwrap();
        let first = ports::row(count);
        let process = Process::start(
            dunlin()
                .args(["up", "--nodes", &count.to_string()])
                .args(["--http-port", &first.to_string()])
                .arg("--data")
                .arg(data.path().join("d"))
                .args(flags),
            &data.path().join("output"),
        );
        let mut up = Up {
            process,
            ports: (first..first + count).collect(),
            data,
        };
        for port in up.ports.clone() {
            eventually("the cluster answers", Duration::from_secs(30), || {
                assert!(up.process.is_running(), "{}", up.process.output());
                Wire::try_open(port)
                    .and_then(|mut wire| wire.try_request("GET", "/health", b""))
                    .is_ok_and(|answer| answer.status == 200)
            });
        }
        up
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// A URL on node `index`, counted from 0.
    pub fn url(&self, index: usize, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports[index])
    }
}
