//! Loading documents, and building the view.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::documents::{MAP, document};
use super::{Build, failed};
use crate::cluster::{Cluster, http};
use crate::error::BenchError;
use crate::host::cpu::Meter;
use crate::host::tree;
use crate::interrupt::Interrupt;

const VIEWS: &str = "/v1/keyspaces/default/views";
const LOOK: Duration = Duration::from_millis(50);

/// Loads documents with `dunlin import`.
pub fn load(dunlin: &Path, cluster: &Cluster, documents: u64) -> Result<(), BenchError> {
    let server = format!("http://{}", cluster.addresses[0]);
    let mut import = Command::new(dunlin)
        .args([
            "import", "--format", "jsonl", "--key", "id", "--json", "--server", &server,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| failed("dunlin import", error))?;
    if let Some(stdin) = import.stdin.take() {
        let mut stdin = std::io::BufWriter::with_capacity(1 << 20, stdin);
        for number in 0..documents {
            let line = document(number) + "\n";
            stdin
                .write_all(line.as_bytes())
                .map_err(|error| failed("dunlin import", error))?;
        }
        stdin
            .flush()
            .map_err(|error| failed("dunlin import", error))?;
    }
    let done = import
        .wait()
        .map_err(|error| failed("dunlin import", error))?;
    if done.success() {
        Ok(())
    } else {
        Err(failed("dunlin import", done))
    }
}

/// Makes the view, and waits until it is built.
pub fn build(
    cluster: &Cluster,
    documents: u64,
    interrupt: &Interrupt,
) -> Result<Build, BenchError> {
    let address = cluster.addresses[0];
    let ask = |method, path: &str, body: &[u8]| {
        http::request(address, method, path, body).map_err(|error| failed(path, error))
    };
    // The engine of the view is a process that the node starts.
    let used = || Meter::new(cluster.pids().into_iter().flat_map(tree::of).collect()).total();
    let (cpu, begun) = (used(), Instant::now());
    let view = serde_json::json!({"name": "groups", "map": MAP, "reduce": "_count"});
    let (status, text) = ask("POST", VIEWS, view.to_string().as_bytes())?;
    if status != 201 {
        return Err(failed("the view", text));
    }
    loop {
        interrupt.sleep(LOOK)?;
        let (_, text) = ask("GET", &format!("{VIEWS}/groups/status"), b"")?;
        let shown: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| failed("the view", error))?;
        if shown["is_whole"] == true {
            break;
        }
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let cpu = (used() - cpu).as_secs_f64();
    Ok(Build {
        documents_per_s: documents as f64 / elapsed,
        documents_per_cpu_s: documents as f64 / cpu.max(f64::EPSILON),
    })
}
