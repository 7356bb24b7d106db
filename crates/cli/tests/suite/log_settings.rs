//! A node writes its log as its settings say, from the next new segment on, and reads what it wrote
//! under other settings.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};

use crate::support::{dunlin, run, run_with_input};
use dunlin_log::disk::{Disk, RealDisk};
use dunlin_log::{Compression, Padding, SegmentReport, SegmentSettings, check};

/// A node of its own, and where it serves.
struct Node {
    child: Child,
    server: String,
}

impl Node {
    fn start(data: &Path, settings: &[&str]) -> Node {
        let mut arguments = vec![
            "serve",
            "--name",
            "n1",
            "--metadata",
            "embedded",
            "--replicas",
            "1",
            "--http",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "--data",
            data.to_str().unwrap(),
        ];
        arguments.extend(settings);
        let mut child = dunlin(&arguments).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let Some(server) = line.split_whitespace().nth(2) else {
            panic!("{:?} printed {line:?}", child.wait_with_output());
        };
        Node {
            child,
            server: server.trim_end_matches(',').to_owned(),
        }
    }

    fn put(&self, key: &str, value: &[u8]) {
        run_with_input(&["put", key, "--server", &self.server], value).ok();
    }

    fn get(&self, key: &str) -> Vec<u8> {
        run(&["get", key, "--server", &self.server]).ok().stdout
    }

    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes that compress in every third value only, so that segments fill.
fn value(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    (0..6000)
        .map(|_| {
            if number.is_multiple_of(3) {
                return b'x';
            }
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

fn segments(data: &Path) -> Vec<SegmentReport> {
    let report = check(&RealDisk, &data.join("shard-0/log")).unwrap();
    assert!(!report.is_damaged());
    report.segments
}

#[test]
fn a_node_writes_each_setting_and_reads_all() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("n1");
    let probe = home.path().join("probe");
    RealDisk.open(&probe, true).unwrap();
    let allowed = RealDisk.open_direct(&probe).unwrap().is_some();
    let lives: [(&[&str], SegmentSettings); 4] = [
        (
            &[
                "--log-block-size",
                "4KiB",
                "--log-padding",
                "pad",
                "--log-compression",
                "lz4",
                "--log-direct-io",
                "--segment",
                "64KiB",
            ],
            SegmentSettings {
                block_size_bytes: 4 << 10,
                padding: Padding::Pad,
                compression: Compression::Lz4,
                direct_io: allowed,
            },
        ),
        (
            &[
                "--log-block-size",
                "64KiB",
                "--log-compression",
                "zstd",
                "--segment",
                "128KiB",
            ],
            SegmentSettings {
                block_size_bytes: 64 << 10,
                padding: Padding::Fragment,
                compression: Compression::Zstd,
                direct_io: false,
            },
        ),
        (
            &["--log-direct-io", "true", "--segment", "64KiB"],
            SegmentSettings {
                block_size_bytes: 32 << 10,
                padding: Padding::Fragment,
                compression: Compression::None,
                direct_io: allowed,
            },
        ),
        (
            &["--log-padding", "pad", "--segment", "64KiB"],
            SegmentSettings {
                block_size_bytes: 32 << 10,
                padding: Padding::Pad,
                compression: Compression::None,
                direct_io: false,
            },
        ),
    ];
    let mut next = 0;
    let mut known = Vec::new();
    for (flags, settings) in lives {
        let node = Node::start(&data, flags);
        for number in 0..next {
            assert!(
                node.get(&format!("k{number}")) == value(number),
                "k{number}"
            );
        }
        for number in next..next + 40 {
            node.put(&format!("k{number}"), &value(number));
        }
        next += 40;
        node.stop();
        let now = segments(&data);
        let (mut fresh, mut batches) = (0, 0);
        for segment in &now {
            let before = known.iter().find(|(file, _)| *file == segment.file);
            let wanted = match before {
                Some((_, wanted)) => *wanted,
                None => {
                    fresh += 1;
                    batches += segment.batches;
                    settings
                }
            };
            assert_eq!(segment.settings, Some(wanted), "{}", segment.file);
        }
        assert!(fresh >= 1, "no new segment under {flags:?}");
        assert_eq!(batches > 0, settings.compression != Compression::None);
        known = now
            .into_iter()
            .map(|segment| (segment.file, segment.settings.unwrap()))
            .collect();
    }
}
