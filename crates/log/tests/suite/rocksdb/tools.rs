//! RocksDB's programs, and what Dunlin reads of their files.

use dunlin_log::{
    Padding,
    block::{Encoder, Form},
    inspect::{Blank, End, Event, Inspector, Own, Record, Settings, Stat, WriteBatch},
};
use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub const BLOCK_SIZE_BYTES: u32 = 32 << 10;

/// Runs a program to its end.
pub fn run(program: &str, arguments: &[&str]) -> Output {
    let output = command(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => panic!("no {program}: scripts/setup.sh installs rocksdb-tools"),
            _ => panic!("{program}: {error}"),
        });
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(std::process::Stdio::null());
    command
}

/// The logs of a RocksDB directory, oldest first.
pub fn logs(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    found.sort();
    found
}

/// The number a file is named by.
pub fn number(file: &Path) -> u32 {
    file.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

/// A log file as Dunlin reads it.
pub struct Read {
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
    pub payloads: Vec<Vec<u8>>,
    pub own: Vec<Own>,
    /// Every size of a block's tail that occurs, in bytes.
    pub tails: BTreeSet<u64>,
    pub stat: Stat,
    pub end: End,
}

pub fn read(file: &Path) -> Read {
    let bytes = fs::read(file).unwrap();
    let settings = Settings {
        number: Some(number(file)),
        ..Settings::default()
    };
    let mut inspector = Inspector::new(&bytes[..], &settings).unwrap();
    let (mut records, mut payloads, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stat, mut tails) = (Stat::default(), BTreeSet::new());
    loop {
        let event = inspector.next_event().unwrap();
        stat.add(&event, &inspector);
        match event {
            Event::Record(record) => {
                records.push(record);
                payloads.push(inspector.payload().to_vec());
            }
            Event::Own(it) => own.push(it),
            Event::Padding(span) if span.kind == Blank::Tail => {
                tails.insert(span.bytes);
            }
            Event::End(end) => {
                drop(inspector);
                return Read {
                    bytes,
                    records,
                    payloads,
                    own,
                    tails,
                    stat,
                    end,
                };
            }
            _ => {}
        }
    }
}

/// What Dunlin's encoder makes of payloads, as RocksDB lays them out.
pub fn encode(payloads: &[Vec<u8>], form: Form) -> Vec<u8> {
    encode_with(payloads, form, Padding::Fragment)
}

pub fn encode_with(payloads: &[Vec<u8>], form: Form, padding: Padding) -> Vec<u8> {
    let mut encoder = Encoder::new(BLOCK_SIZE_BYTES, padding, form, 0);
    let mut bytes = Vec::new();
    for payload in payloads {
        encoder.record(payload, &mut bytes);
    }
    bytes
}

/// Fails at the first byte that differs, without printing megabytes.
pub fn assert_same(ours: &[u8], theirs: &[u8]) {
    if let Some(at) = (0..ours.len().min(theirs.len())).find(|&at| ours[at] != theirs[at]) {
        panic!("byte {at} is {} here and {} there", ours[at], theirs[at]);
    }
    assert_eq!(ours.len(), theirs.len(), "one is longer");
}

/// One line of `ldb dump_wal`: sequence, count, bytes, offset, operations.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub sequence: u64,
    pub count: u32,
    pub bytes: u64,
    pub offset: u64,
    /// As [`shown`] has them.
    pub operations: String,
}

impl Line {
    /// Whether it is about the record at this offset. `ldb` takes the tail of the block before for
    /// a part of the record behind it.
    pub fn is_at(&self, offset: u64) -> bool {
        let tail = offset.wrapping_sub(self.offset);
        tail == 0 || (tail < 11 && offset.is_multiple_of(u64::from(BLOCK_SIZE_BYTES)))
    }
}

/// What `ldb dump_wal` says of a file, and what it complains of.
pub fn dump_wal(file: &Path) -> (Vec<Line>, String) {
    let walfile = format!("--walfile={}", file.display());
    let output = run("ldb", &["dump_wal", &walfile, "--print_value"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut complaints = String::from_utf8(output.stderr).unwrap();
    let mut lines = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(5, ',').collect();
        match fields[..] {
            [sequence, count, bytes, offset, operations] if sequence.parse::<u64>().is_ok() => {
                lines.push(Line {
                    sequence: sequence.parse().unwrap(),
                    count: count.parse().unwrap(),
                    bytes: bytes.parse().unwrap(),
                    offset: offset.parse().unwrap(),
                    operations: operations.split_whitespace().collect::<Vec<_>>().join(" "),
                });
            }
            _ => complaints.push_str(line),
        }
    }
    (lines, complaints)
}

/// The operations of a write batch as `ldb` shows them, one space between words.
pub fn shown(payload: &[u8]) -> String {
    let batch = WriteBatch::whole(payload).expect("no write batch");
    let operations: Vec<String> = batch
        .ops()
        .map(|op| op.unwrap())
        .map(|op| {
            let (name, family) = (op.name(), op.column_family);
            format!("{name}({family}) : {} : {}", hex(op.key), hex(op.value))
        })
        .collect();
    operations.join(" ")
}

pub fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{digits}")
}
