//! `dunlin demo`: real input, a real etcd, three processes, a kill, and the proof.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use dunlin_client::{Client, Quorum, WriteOptions};
use dunlin_metadata::Sync;
use tokio::time::Instant;

use crate::command::import::{Format, read};
use crate::demo::cluster::{Cluster, NODES};
use crate::demo::measured::Measured;
use crate::demo::scenario::{Scenario, VICTIM};
use crate::demo::{catalogue, catch_up, verify};
use crate::failure::Failure;
use crate::import::input::Input;
use crate::import::load::{self, Settings};
use crate::import::progress::Progress;
use crate::output::Output;
use crate::runtime;
use crate::signal::Stop;
use crate::units::{grouped, rounded};

const MAX_RECORD_BYTES: usize = 16 << 20;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// deb822 file to load, keyed by Package [default: what `apt-cache dumpavail` prints]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// When an acknowledged write is on disk: always, interval:100ms, never
    #[arg(long, value_name = "POLICY", default_value = "always")]
    sync: Sync,
    /// Puts at the same time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
    /// Keep the data and the processes' logs
    #[arg(long)]
    keep: bool,
    /// What was measured as one JSON object on standard output
    #[arg(long)]
    json: bool,
}

impl Demo {
    /// Makes the proof; fails on any record that is not as it was acknowledged.
    pub fn run(self) -> Result<(), Failure> {
        let directory = tempfile::Builder::new()
            .prefix("dunlin-demo-")
            .disable_cleanup(self.keep)
            .tempdir()
            .map_err(|error| Failure::Failed(format!("temporary directory: {error}")))?;
        runtime::block_on(async {
            let mut stop = Stop::listen()?;
            // Stopped from outside, the children must be killed on the way out.
            tokio::select! {
                result = self.prove(directory.path()) => result,
                () = stop.asked() => Err(Failure::Failed("stopped before the end".to_owned())),
            }
        })
    }

    async fn prove(&self, directory: &Path) -> Result<(), Failure> {
        let (path, size_bytes) = self.input(directory).await?;
        self.say(format!(
            "input: {}, {}",
            path.display(),
            rounded(size_bytes as f64)
        ));
        let executable =
            std::env::current_exe().map_err(|error| Failure::Failed(error.to_string()))?;
        let mut cluster = Cluster::start(directory, executable, &self.sync.to_string()).await?;
        self.say(format!(
            "cluster: etcd and {NODES} nodes in {}, sync {}",
            directory.display(),
            self.sync
        ));
        for index in 0..NODES {
            self.say(format!(
                "  {} {} (process {})",
                Cluster::name(index),
                cluster.url(index),
                cluster.process_id(index)
            ));
        }
        let measured = self.measure(&mut cluster, &path, size_bytes).await?;
        if self.json {
            let mut output = Output::new();
            output.json(&measured)?;
            output.flush()?;
        }
        if measured.mismatches > 0 {
            let examples: Vec<&str> = measured
                .verified
                .iter()
                .flat_map(|node| &node.examples)
                .map(String::as_str)
                .collect();
            return Err(Failure::Failed(format!(
                "{} acknowledged records are not as they were acknowledged: {}",
                measured.mismatches,
                examples.join("; ")
            )));
        }
        self.say("proved: every acknowledged record is readable with ack=2 from every node, byte by byte".to_owned());
        Ok(())
    }

    async fn measure(
        &self,
        cluster: &mut Cluster,
        path: &Path,
        size_bytes: u64,
    ) -> Result<Measured, Failure> {
        let urls = cluster.urls();
        let client = Client::with_timeout(&urls, Duration::from_secs(5))?;
        let victim = Cluster::name(VICTIM);
        self.say(format!(
            "load: ack=2 from=3, {} at a time; {victim} is killed half way",
            self.concurrency
        ));
        let input = Input::open(path)?;
        let mut scenario = Scenario::new(cluster, Progress::new(&input, !self.json), size_bytes);
        let settings = Settings {
            concurrency: usize::from(self.concurrency),
            strict: false,
            retry_for: Duration::from_secs(60),
            write: WriteOptions {
                quorum: Quorum::of(2, 3),
                ..WriteOptions::default()
            },
        };
        let batches = read(Format::Deb822, input, "Package", MAX_RECORD_BYTES)?;
        let load = load::load(
            &client.keyspace("default"),
            batches,
            &settings,
            &mut scenario,
        )
        .await;
        scenario.end();
        // What of the catalogue is malformed was never acknowledged.
        if let Some(failure @ Failure::Failed(_)) = load.failure() {
            return Err(Failure::Failed(format!("load: {failure}")));
        }
        let Scenario {
            acknowledged,
            records_at_kill,
            returned,
            failure,
            ..
        } = scenario;
        failure.map_or(Ok(()), Err)?;
        let (Some(records_at_kill), Some((started, records_at_return))) =
            (records_at_kill, returned)
        else {
            return Err(Failure::Failed(format!(
                "the input is too short for a kill and a return: {}",
                load.text()
            )));
        };
        self.say(load.text());
        self.say(format!(
            "{victim}: killed (SIGKILL) after {} records, started again after {}",
            grouped(records_at_kill),
            grouped(records_at_return)
        ));
        cluster.wait_for(VICTIM).await?;
        let loaded = Instant::now();
        catch_up::wait(&client).await?;
        let catch_up_s = started.elapsed().as_secs_f64();
        self.say(format!(
            "{victim}: caught up {catch_up_s:.1} s after its start, {:.1} s after the end of the load",
            loaded.elapsed().as_secs_f64()
        ));
        let records = Arc::new(acknowledged.into_iter().collect::<Vec<_>>());
        let mut verified = Vec::new();
        for index in 0..NODES {
            let node = verify::verify(&Cluster::name(index), &cluster.url(index), &records).await?;
            self.say(format!(
                "{}: {} of {} records equal, {} mismatches ({:.1} s, {} reads/s)",
                node.node,
                grouped(node.equal),
                grouped(records.len() as u64),
                grouped(node.mismatches()),
                node.duration_s,
                grouped((records.len() as f64 / node.duration_s.max(0.001)) as u64),
            ));
            verified.push(node);
        }
        let mismatches = verified.iter().map(verify::Verified::mismatches).sum();
        let keys = records.len() as u64;
        Ok(Measured {
            load,
            records_at_kill,
            records_at_return,
            catch_up_s,
            keys,
            verified,
            mismatches,
        })
    }

    async fn input(&self, directory: &Path) -> Result<(PathBuf, u64), Failure> {
        match &self.file {
            Some(file) => {
                let metadata =
                    std::fs::metadata(file).map_err(|error| Failure::file(file, &error))?;
                Ok((file.clone(), metadata.len()))
            }
            None => {
                let path = directory.join("catalogue.deb822");
                let target = path.clone();
                let dumped = tokio::task::spawn_blocking(move || catalogue::dump(&target)).await;
                let size_bytes = dumped.map_err(|error| Failure::Failed(error.to_string()))??;
                Ok((path, size_bytes))
            }
        }
    }

    /// Tells a step; with --json standard output is for the result alone.
    fn say(&self, line: String) {
        if self.json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }
}
