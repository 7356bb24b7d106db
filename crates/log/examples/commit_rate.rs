//! How fast the log commits and is read: `commit_rate [DIR] [RECORDS] [BYTES]`.

use bytes::Bytes;
use dunlin_log::{Log, Options, Runner, disk::RealDisk};
use std::{path::PathBuf, sync::Arc};
use tokio::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().unwrap_or("/tmp/dunlin-commit-rate".into()));
    let records: u64 = arguments.next().unwrap_or("1000000".into()).parse()?;
    let bytes: usize = arguments.next().unwrap_or("200".into()).parse()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(tokio::task::LocalSet::new().run_until(measure(dir, records, bytes)))
}

async fn measure(dir: PathBuf, records: u64, bytes: usize) -> Outcome {
    for (name, sync, writers) in [
        ("never", false, 1),
        ("always", true, 1),
        ("always", true, 64),
    ] {
        let dir = dir.join(format!("{name}-{writers}"));
        let (log, _) = Log::open(
            Arc::new(RealDisk),
            Runner::thread("log")?,
            &dir,
            Options::default(),
        )
        .await?;
        let driving = tokio::task::spawn_local({
            let log = log.clone();
            async move { log.drive().await }
        });
        let each = if sync { 20_000.min(records) } else { records } / writers;
        let begun = Instant::now();
        let tasks: Vec<_> = (0..writers)
            .map(|_| tokio::task::spawn_local(write(log.clone(), each, bytes, sync)))
            .collect();
        for task in tasks {
            task.await??;
        }
        log.wait_written(log.last()).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let stats = log.stats();
        let total = (each * writers) as f64;
        println!(
            "sync {name}, {writers} writers: {:.0} records/s, {:.1} MB/s, {:.1} records a sync, {} groups",
            total / seconds,
            total * bytes as f64 / seconds / 1e6,
            stats.records_synced as f64 / stats.syncs.max(1) as f64,
            stats.groups,
        );
        let begun = Instant::now();
        let mut cursor = log.cursor(log.first());
        let mut read = 0;
        while cursor.position() <= log.last() {
            read += cursor.next(1 << 20).await?.len();
        }
        println!(
            "  read {:.0} records/s",
            read as f64 / begun.elapsed().as_secs_f64()
        );
        log.close().await?;
        driving.await?;
    }
    Ok(())
}

async fn write(
    log: Log,
    records: u64,
    bytes: usize,
    sync: bool,
) -> Result<(), dunlin_log::Failure> {
    let record = Bytes::from(vec![7; bytes]);
    for _ in 0..records {
        loop {
            if log.should_rotate() && log.rotate(Bytes::new()).is_err() {
                wait(&log).await;
                continue;
            }
            match log.append(record.clone(), sync) {
                Ok(index) if sync => break log.wait_synced(index).await?,
                Ok(_) => break,
                Err(_) => wait(&log).await,
            }
        }
    }
    Ok(())
}

async fn wait(log: &Log) {
    let seen = log.progress();
    log.changed(&seen).await;
}
