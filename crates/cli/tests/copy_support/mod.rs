//! What the tests of `dunlin copy` share: databases by `db_bench`, scans that share no code with
//! the copying, receivers, and a proxy that damages or cuts what goes through it.

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

pub mod keyspace;
pub mod proxy;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rocksdb::{DB, IteratorMode, Options};

use crate::harness::child::{Process, dunlin};
use crate::harness::{eventually, ports};

/// Everything in a database, by column family.
pub type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// Reads all of it.
pub fn content(path: &Path) -> Content {
    let options = Options::default();
    let names = DB::list_cf(&options, path).unwrap();
    let db = DB::open_cf_for_read_only(&options, path, &names, false).unwrap();
    let family = |name: &String| {
        let pairs = db.iterator_cf(db.cf_handle(name).unwrap(), IteratorMode::Start);
        let pairs = pairs.map(|pair| pair.unwrap());
        pairs
            .map(|(key, value)| (key.into_vec(), value.into_vec()))
            .collect()
    };
    names
        .iter()
        .map(|name| (name.clone(), family(name)))
        .collect()
}

/// Debian's `db_bench`, RocksDB 7.8.
pub fn db_bench(path: &Path, arguments: &[&str]) {
    let output = Command::new("db_bench")
        .arg(format!("--db={}", path.display()))
        .args(arguments)
        .output()
        .expect("db_bench (Debian: rocksdb-tools)");
    assert!(
        output.status.success(),
        "db_bench {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// All of a column family as `ldb scan` prints it.
pub fn ldb_scan(path: &Path, column_family: &str) -> Vec<u8> {
    let output = Command::new("ldb")
        .arg(format!("--db={}", path.display()))
        .arg(format!("--column_family={column_family}"))
        .args(["--hex", "scan"])
        .output()
        .expect("ldb (Debian: rocksdb-tools)");
    assert!(
        output.status.success(),
        "ldb: {}{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    );
    output.stdout
}

/// A process of `dunlin receive`.
pub struct Receiving {
    pub process: Process,
    pub address: String,
}

/// Starts a receiver into `directory` on `address`, and waits until it listens.
pub fn receive_on(address: &str, directory: &Path, log: &Path) -> Receiving {
    let before = std::fs::read(log).map_or(0, |text| text.len());
    let process = Process::start(
        dunlin()
            .args(["receive", "--listen", address])
            .arg(directory),
        log,
    );
    eventually("the receiver listens", Duration::from_secs(60), || {
        process.output()[before..].contains("receiving into")
    });
    Receiving {
        process,
        address: address.to_owned(),
    }
}

/// Starts a receiver on a free port.
pub fn receive(directory: &Path, log: &Path) -> Receiving {
    receive_on(&format!("127.0.0.1:{}", ports::row(1)), directory, log)
}

/// No database can be taken out of a target that is not whole.
pub fn assert_unusable(target: &Path) {
    let opened = DB::open_for_read_only(&Options::default(), target, false);
    assert!(opened.is_err(), "{} can be opened", target.display());
}
