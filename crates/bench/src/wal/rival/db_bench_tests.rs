#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const PRINTED: &str = "\
WARNING: Assertions are enabled; benchmarks unnecessarily slow
------------------------------------------------
DB path: [/tmp/a]
fillrandom   :      27.390 micros/op 215380 ops/sec 0.557 seconds 120000 operations;   29.6 MB/s
";

#[test]
fn reads_what_it_prints() {
    let ran = parse(PRINTED).unwrap();
    assert_eq!(ran.op_us, 27.39);
    assert_eq!((ran.operations, ran.seconds), (120_000, 0.557));
    assert!(ran.assertions);
    assert!((ran.per_s() - 215_440.0).abs() < 1.0);
    assert!((ran.entry_us() - 4.6417).abs() < 1e-3);
    assert!(
        !parse(&PRINTED.replace("WARNING", "").replace("Assertions", ""))
            .unwrap()
            .assertions
    );
}

#[test]
fn reads_what_it_says_of_its_steps() {
    let ran = parse(PRINTED).unwrap();
    assert_eq!((ran.wal, ran.memtable), (None, None));
    assert_eq!(ran.path_us(), ran.entry_us());
    let timed = PRINTED.replace(
        "29.6 MB/s\n",
        "29.6 MB/s PERF_CONTEXT:\nget_cpu_nanos = 1, write_wal_time = 60000000, \
         write_memtable_time = 120000000, write_thread_wait_nanos = 5\n",
    );
    let ran = parse(&timed).unwrap();
    assert!((ran.wal_us() - 0.5).abs() < 1e-9);
    assert!((ran.path_us() - (ran.entry_us() - 1.0)).abs() < 1e-9);
}

#[test]
fn other_output_is_no_result() {
    assert_eq!(parse("Unknown benchmark"), None);
    assert_eq!(parse("fillrandom   : skipped"), None);
}
