//! A range far larger than the memory a server may take for it.

use std::time::Duration;

use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEYS: usize = 105_000;
const VALUE_BYTES: usize = 1_000;
/// What a scan may add to the process: pages of three nodes, cache, sockets. The data is 105 MB.
const GROWTH_KIB_MAX: u64 = 40 << 10;

fn key(number: usize) -> String {
    format!("key{number:08}")
}

/// Puts all keys over pipelined connections, each node taking its share.
fn load(up: &Up) {
    let value = "v".repeat(VALUE_BYTES);
    std::thread::scope(|scope| {
        for (lane, port) in up.ports.iter().enumerate() {
            let value = &value;
            scope.spawn(move || {
                let mut wire = Wire::open(*port);
                let numbers: Vec<usize> = (lane..KEYS).step_by(up.ports.len()).collect();
                for batch in numbers.chunks(64) {
                    let requests: String = batch
                        .iter()
                        .map(|number| {
                            format!(
                                "PUT /v0/entity?id={} HTTP/1.1\r\nHost: d\r\nContent-Length: {VALUE_BYTES}\r\n\r\n{value}",
                                key(*number)
                            )
                        })
                        .collect();
                    wire.send(requests);
                    for number in batch {
                        assert_eq!(wire.answer().status, 201, "key {number}");
                    }
                }
            });
        }
    });
}

/// Reads the whole range, pausing now and then as a slow consumer does.
fn read_all(port: u16, pause: Duration) {
    let mut wire = Wire::open(port);
    wire.send("GET /v0/entities?start=key HTTP/1.1\r\nHost: d\r\n\r\n");
    assert_eq!(wire.head().unwrap().status, 200);
    let mut number = 0;
    while let Some(chunk) = wire.chunk().unwrap() {
        let wanted = key(number);
        assert_eq!(&chunk[..wanted.len()], wanted.as_bytes());
        assert_eq!(chunk.len(), wanted.len() + 1 + VALUE_BYTES);
        number += 1;
        if number % 5_000 == 0 {
            std::thread::sleep(pause);
        }
    }
    assert_eq!(number, KEYS);
}

#[test]
fn more_than_100000_keys_stream_in_constant_memory() {
    let up = Up::with(3, &["--sync", "never", "--cache", "8MiB"]);
    load(&up);
    // What a first scan leaves in caches and in the allocator stays out of the measurement.
    for port in &up.ports {
        read_all(*port, Duration::ZERO);
    }
    let id = up.process.id();
    let reset = std::fs::write(format!("/proc/{id}/clear_refs"), "5");
    let before = up.process.rss_kib();
    let abandoned = {
        let mut wire = Wire::open(up.ports[2]);
        wire.send("GET /v0/entities?start=a HTTP/1.1\r\nHost: d\r\n\r\n");
        wire.read_some(100_000);
        wire
    };
    std::thread::scope(|scope| {
        for port in &up.ports {
            scope.spawn(|| read_all(*port, Duration::from_millis(20)));
        }
    });
    drop(abandoned);
    if reset.is_err() {
        eprintln!("skipped: the peak of resident memory cannot be reset here");
        return;
    }
    let most = up.process.rss_kib_max();
    println!("{before} KiB resident before the scans, {most} at most while they ran");
    assert!(
        most < before + GROWTH_KIB_MAX,
        "four scans took {} KiB more",
        most - before
    );
}
