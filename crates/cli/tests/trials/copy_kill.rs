//! Either side killed at random moments, again and again: the target is never taken for whole
//! before it is, and what was finished is not sent again.

use std::path::PathBuf;
use std::time::Duration;

use crate::copy_support::{Content, assert_unusable, content, db_bench, receive_on};
use crate::harness::child::{Process, dunlin};
use crate::harness::ports;
use crate::harness::random::Random;

/// Kills in each mode; 60 in all.
const KILLS: usize = 20;

struct Copying {
    source: PathBuf,
    target: PathBuf,
    log: PathBuf,
    mode: &'static str,
    address: String,
}

impl Copying {
    fn start(&self) -> Process {
        let mut command = dunlin();
        command.arg("copy").arg(&self.source).arg(&self.address);
        command.args([
            "--mode",
            self.mode,
            "--range-size",
            "128KiB",
            "--connections",
            "3",
        ]);
        // Slow enough to be killed half way.
        command.args(["--limit", "4MB/s", "--retry-for", "600s", "--json"]);
        Process::start(&mut command, &self.log)
    }

    fn is_whole(&self) -> bool {
        self.target.join("dunlin-copy.json").exists()
            && !self.target.join("dunlin-copy.partial").exists()
    }
}

fn kill_until_whole(mode: &'static str, random: &mut Random) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let copying = Copying {
        source: path("source"),
        target: path("target"),
        log: path("sender.log"),
        mode,
        address: format!("127.0.0.1:{}", ports::row(1)),
    };
    let bench = [
        "--benchmarks=fillrandom,overwrite",
        "--num=30000",
        "--compression_type=none",
    ];
    db_bench(
        &copying.source,
        &[
            &bench[..],
            &[
                "--write_buffer_size=500000",
                "--target_file_size_base=500000",
            ],
        ]
        .concat(),
    );
    let expected = content(&copying.source);
    let receiver_log = path("receiver.log");
    let start = |copying: &Copying| receive_on(&copying.address, &copying.target, &receiver_log);
    let mut receiver = start(&copying);
    let mut sender = copying.start();
    let mut kills = 0;
    let mut resumed = false;
    let mut has_ended = true;
    loop {
        std::thread::sleep(random.millis(5, 400));
        if !sender.is_running() {
            let code = sender.ended(Duration::from_secs(1));
            assert_eq!(code, Some(0), "{}", sender.output());
            assert!(copying.is_whole());
            break;
        }
        kills += 1;
        if random.below(2) == 0 {
            sender.kill();
            check_partial(&copying, &expected);
            if copying.is_whole() {
                // It was killed between the last step and its end, and has not cleared up.
                has_ended = false;
                break;
            }
            resumed |= copying.target.join("dunlin-copy.partial/done").exists();
            sender = copying.start();
        } else {
            receiver.process.kill();
            check_partial(&copying, &expected);
            receiver = start(&copying);
        }
    }
    assert!(content(&copying.target) == expected, "{mode}");
    let last = sender.output();
    let report = last.lines().rev().find(|line| line.starts_with('{'));
    if let Some(report) = report.filter(|_| resumed && kills > 3) {
        let report: serde_json::Value = serde_json::from_str(report).unwrap();
        println!(
            "{mode}: {} of {} units by earlier runs",
            report["units_done_before"], report["units"]
        );
    }
    // Nothing is left beside the source.
    let left: Vec<String> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("dunlin-copy"))
        .collect();
    assert!(left.is_empty() || !has_ended, "{left:?}");
    drop(receiver);
    kills
}

/// Whatever can be opened is the whole copy.
fn check_partial(copying: &Copying, expected: &Content) {
    if copying.target.join("CURRENT").exists() {
        assert!(content(&copying.target) == *expected, "{}", copying.mode);
    } else if copying.target.exists() {
        assert_unusable(&copying.target);
    }
}

fn kills_of(mode: &'static str) {
    let mut random = Random::from_environment();
    let mut kills = 0;
    while kills < KILLS {
        kills += kill_until_whole(mode, &mut random);
    }
    println!("{mode}: {kills} kills");
}

#[test]
fn files_survive_kills() {
    kills_of("files");
}

#[test]
fn ingest_survives_kills() {
    kills_of("ingest");
}

#[test]
fn insert_survives_kills() {
    kills_of("insert");
}
