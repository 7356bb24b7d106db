//! What must hold between `check`, `open`, `repair` and reading, whatever bytes a log's files hold.

use bytes::Bytes;
use dunlin_log::{
    Index, Log, OpenError, Options, Recovered, Report, Runner, check, disk::Disk, repair,
    sim::SimDisk,
};
use std::{
    cell::RefCell,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{runtime::Runtime, task::LocalSet};

const DIRECTORY: &str = "/log";
/// A cursor is asked for this much at once, in bytes: several records, or a part of a batch.
const READ_BYTES: usize = 10_000;

thread_local! {
    static RUNTIME: RefCell<Runtime> = RefCell::new(runtime());
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("no runtime")
}

/// Runs on a shard's kind of event loop, with simulated time.
pub fn simulate<T>(run: impl Future<Output = T>) -> T {
    RUNTIME.with_borrow(|runtime| runtime.block_on(LocalSet::new().run_until(run)))
}

/// The log's directory.
pub fn directory() -> &'static Path {
    Path::new(DIRECTORY)
}

/// Where a segment is.
pub fn path(number: u64) -> PathBuf {
    directory().join(format!("{number:020}.log"))
}

/// The little log all targets open.
pub fn options() -> Options {
    Options {
        block_size_bytes: 4096,
        segment_bytes: 16 << 10,
        tail_bytes: 0,
        spare_segments: 0,
        ..Options::default()
    }
}

/// A disk on which all of this is durable.
pub fn disk(files: &[(u64, Vec<u8>)]) -> SimDisk {
    let disk = SimDisk::new(1);
    for (number, bytes) in files {
        let file = disk.open(&path(*number), true).expect("no file");
        file.write_at(bytes, 0).expect("not written");
        file.sync().expect("not synced");
    }
    disk.sync_dir(directory()).expect("not synced");
    disk
}

/// Opens the log there is.
///
/// # Errors
/// What the log says.
pub async fn open(disk: &SimDisk, options: &Options) -> Result<(Log, Recovered), OpenError> {
    let runner = Runner::inline(|| Duration::ZERO);
    Log::open(Arc::new(disk.clone()), runner, directory(), options.clone()).await
}

/// A number for a record's bytes.
pub fn digest(record: &[u8]) -> u64 {
    (record.len() as u64) << 32 | u64::from(crc32c::crc32c(record))
}

/// What a log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Index of the first record.
    pub first: Index,
    /// A digest of each.
    pub digests: Vec<u64>,
    /// Bytes of all.
    pub payload_bytes: u64,
}

/// All records, through a cursor.
async fn held(log: &Log) -> Held {
    let mut held = Held {
        first: log.first(),
        digests: Vec::new(),
        payload_bytes: 0,
    };
    let mut cursor = log.cursor(held.first);
    while cursor.position() <= log.last() {
        let batch = cursor.next(READ_BYTES).await.expect("unreadable");
        for (index, record) in batch {
            assert_eq!(index, held.first + held.digests.len() as u64);
            held.digests.push(digest(&record));
            held.payload_bytes += record.len() as u64;
        }
    }
    held
}

/// Every file and its bytes.
fn contents(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list(directory()).expect("no directory");
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let bytes = disk.contents(&directory().join(&name)).expect("no file");
            (name, bytes)
        })
        .collect()
}

/// Checks, opens, reads, opens again, goes on, or repairs. What the log held after it was opened as
/// it was; none when that was refused.
pub fn agree(files: &[(u64, Vec<u8>)]) -> Option<Held> {
    simulate(async {
        let disk = disk(files);
        let before = contents(&disk);
        let report = check(&disk, directory());
        assert!(contents(&disk) == before, "check changed something");
        let opened = open(&disk, &options()).await;
        match (report, opened) {
            (Ok(report), Ok((log, recovered))) => {
                let promised = promised(&report);
                assert_eq!(promised.recovered(), recovered);
                let held = held(&log).await;
                assert_eq!(held.digests.len() as u64, promised.records);
                assert_eq!(held.payload_bytes, promised.payload_bytes);
                drop(log);
                go_on(&disk, &held).await;
                Some(held)
            }
            (Ok(report), Err(OpenError::Damaged { file, offset, .. })) => {
                assert!(contents(&disk) == before, "a refusal changed something");
                let first = report
                    .segments
                    .iter()
                    .find(|segment| segment.trouble.is_some())
                    .expect("open found damage, check none");
                let trouble = first.trouble.as_ref().expect("just found");
                assert!(trouble.damage.is_some() && report.is_damaged());
                assert_eq!((&first.file, trouble.offset), (&file, offset));
                mend(&disk, &report, &before).await;
                None
            }
            (Err(said), Err(met)) => {
                assert_eq!(said.to_string(), met.to_string());
                None
            }
            (said, met) => panic!(
                "check: {said:?}; open: {:?}",
                met.map(|(_, recovered)| recovered)
            ),
        }
    })
}

/// What a report says an open will give.
struct Promised {
    first_index: Index,
    records: u64,
    payload_bytes: u64,
    segments: usize,
    torn: Option<dunlin_log::Torn>,
}

impl Promised {
    fn recovered(&self) -> Recovered {
        Recovered {
            first_index: self.first_index,
            last_index: self.first_index + self.records - 1,
            torn: self.torn.clone(),
            segments: self.segments,
        }
    }
}

fn promised(report: &Report) -> Promised {
    assert!(!report.is_damaged(), "open took damage");
    let mut kept = report.segments.len();
    let mut torn = None;
    let fault = report
        .segments
        .iter()
        .position(|segment| segment.trouble.is_some());
    if let Some(at) = fault {
        let segment = &report.segments[at];
        let trouble = segment.trouble.as_ref().expect("just found");
        assert_eq!(trouble.damage, None);
        kept = at + usize::from(segment.records > 0);
        torn = Some(dunlin_log::Torn {
            file: segment.file.clone(),
            offset: trouble.cut,
            cut_bytes: trouble.cut_bytes,
            segments_removed: report.segments.len() - kept,
        });
    }
    let kept = &report.segments[..kept];
    Promised {
        first_index: kept.first().map_or(1, |segment| {
            segment.first_index.expect("kept without a header")
        }),
        records: kept.iter().map(|segment| segment.records).sum(),
        payload_bytes: kept.iter().map(|segment| segment.payload_bytes).sum(),
        segments: kept.len(),
        torn,
    }
}

/// What one open kept the next one keeps, also behind a power loss, and the log goes on.
async fn go_on(disk: &SimDisk, wanted: &Held) {
    for crash in [false, true] {
        if crash {
            disk.crash();
        }
        let (log, recovered) = open(disk, &options()).await.expect("not opened again");
        assert_eq!(recovered.torn, None, "crash: {crash}");
        assert!(held(&log).await == *wanted, "crash: {crash}");
    }
    let (log, _) = open(disk, &options()).await.expect("not opened again");
    let next = Bytes::from_static(b"the next record");
    let mut wanted = wanted.clone();
    wanted.digests.push(digest(&next));
    wanted.payload_bytes += next.len() as u64;
    let accepted = match log.segments().is_empty() {
        true => log.rotate(next),
        false => log.append(next, true),
    };
    assert_eq!(accepted, Ok(log.last()));
    log.close().await.expect("not closed");
    drop(log);
    disk.crash();
    let (log, recovered) = open(disk, &options()).await.expect("not opened again");
    assert_eq!(recovered.torn, None);
    assert!(held(&log).await == wanted);
}

/// Repairs damage as the report proposes. Every byte is in the log or beside it, and the log opens
/// with what stood before the cut.
async fn mend(disk: &SimDisk, report: &Report, before: &[(String, Vec<u8>)]) {
    let plan = report.plan.expect("damage, but no plan");
    let repaired = repair(disk, directory(), plan).expect("not repaired");
    disk.crash();
    let after = contents(disk);
    let find = |name: &str| after.iter().find(|(other, _)| other == name);
    for (name, bytes) in before {
        let log = find(name).map_or(&[][..], |(_, bytes)| bytes);
        let kept = repaired
            .kept
            .iter()
            .find(|kept| kept.starts_with(name.as_str()));
        let kept = kept
            .and_then(|kept| find(kept))
            .map_or(&[][..], |(_, bytes)| bytes);
        assert!([log, kept].concat() == *bytes, "{name} lost bytes");
    }
    if plan.cut == 0 && hides(report, before, plan.segment) {
        return;
    }
    let whole = format!("{:020}.log", plan.segment);
    let wanted: u64 = report
        .segments
        .iter()
        .filter(|segment| segment.file < whole || (segment.file == whole && plan.cut > 0))
        .map(|segment| segment.records)
        .sum();
    let (log, recovered) = open(disk, &options())
        .await
        .expect("not opened when repaired");
    assert_eq!(recovered.torn, None);
    let held = held(&log).await;
    assert_eq!(held.digests.len() as u64, wanted);
    drop(log);
    go_on(disk, &held).await;
}

/// Whether something stands in the segment before this one behind what this one says its length was.
/// No log is written so; without this one it is read.
fn hides(report: &Report, before: &[(String, Vec<u8>)], number: u64) -> bool {
    let name = format!("{:020}.log", number - 1);
    let segment = report.segments.iter().find(|segment| segment.file == name);
    let file = before.iter().find(|(file, _)| *file == name);
    segment.zip(file).is_some_and(|(segment, (_, bytes))| {
        bytes[segment.bytes as usize..]
            .iter()
            .any(|&byte| byte != 0)
    })
}
