//! The same documents in SQLite, with an index of an expression, in one process: by Python's module.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::documents::document;
use super::{Sqlite, failed};
use crate::error::BenchError;
use crate::spread::Spread;

const SCRIPT: &str = r#"
import json, sqlite3, sys, time
path, repeats = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(path)
db.execute("PRAGMA journal_mode=WAL")
db.execute("CREATE TABLE docs (id TEXT PRIMARY KEY, body TEXT)")
lines = (line.rstrip("\n") for line in sys.stdin)
db.executemany("INSERT INTO docs VALUES (?, ?)", ((line[7:20], line) for line in lines))
db.commit()
count = db.execute("SELECT count(*) FROM docs").fetchone()[0]
begun = time.perf_counter()
db.execute("CREATE INDEX by_group ON docs (json_extract(body, '$.group'), id)")
db.commit()
build_s = time.perf_counter() - begun
begun, point = time.perf_counter(), 0
while time.perf_counter() - begun < 2:
    group = "group-%04d" % (point * 7919 % 1000)
    row = db.execute("SELECT id FROM docs WHERE json_extract(body, '$.group') = ? LIMIT 1", (group,)).fetchone()
    point += 1
point_s = time.perf_counter() - begun
groups = []
for _ in range(repeats):
    begun = time.perf_counter()
    rows = db.execute("SELECT json_extract(body, '$.group') AS g, count(*) FROM docs GROUP BY g").fetchall()
    groups.append((time.perf_counter() - begun) * 1e3)
    assert sum(row[1] for row in rows) == count
print(json.dumps({"version": sqlite3.sqlite_version, "count": count, "build_s": build_s, "point_per_s": point / point_s, "groups_ms": groups}))
"#;

/// Carries it out; none where there is no Python with SQLite.
pub fn run(data: &Path, documents: u64, repeats: usize) -> Result<Option<Sqlite>, BenchError> {
    let failed = |error: &dyn std::fmt::Display| failed("SQLite", error);
    let is_there = Command::new("python3")
        .args(["-c", "import sqlite3"])
        .output();
    if !is_there.is_ok_and(|done| done.status.success()) {
        return Ok(None);
    }
    let directory = tempfile::tempdir_in(data).map_err(|error| failed(&error))?;
    let path = directory.path().join("docs.sqlite");
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT])
        .arg(&path)
        .arg(repeats.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    if let Some(stdin) = python.stdin.take() {
        let mut stdin = std::io::BufWriter::with_capacity(1 << 20, stdin);
        for number in 0..documents {
            let line = document(number) + "\n";
            stdin
                .write_all(line.as_bytes())
                .map_err(|error| failed(&error))?;
        }
        stdin.flush().map_err(|error| failed(&error))?;
    }
    let done = python.wait_with_output().map_err(|error| failed(&error))?;
    let told: serde_json::Value =
        serde_json::from_slice(&done.stdout).map_err(|error| failed(&error))?;
    let groups = told["groups_ms"].as_array().cloned().unwrap_or_default();
    Ok(Some(Sqlite {
        version: told["version"].as_str().unwrap_or("unknown").to_owned(),
        documents_per_s: documents as f64 / told["build_s"].as_f64().unwrap_or(f64::NAN),
        point_per_s: told["point_per_s"].as_f64().unwrap_or(f64::NAN),
        groups_ms: Spread::of(groups.iter().filter_map(serde_json::Value::as_f64)),
    }))
}
