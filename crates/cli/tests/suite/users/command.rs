//! The command line, in a cluster that has users.

use std::path::Path;
use std::process::{Output, Stdio};

use crate::harness::child::dunlin;
use crate::harness::up::Up;

struct Desk<'a> {
    up: &'a Up,
    directory: tempfile::TempDir,
}

impl Desk<'_> {
    fn at(up: &Up) -> Desk<'_> {
        Desk {
            up,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = dunlin();
        command.args(arguments).stdin(Stdio::null());
        if arguments[0] != "copy" {
            command.args(["--server", &self.up.url(0, "")]);
        }
        command.output().unwrap()
    }

    /// What it prints.
    fn does(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Its one line.
    fn fails(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(!done.status.success(), "{arguments:?}: {done:?}");
        let line = String::from_utf8(done.stderr).unwrap();
        assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
        line
    }
}

#[test]
fn every_command_as_a_user_and_what_it_says_without() {
    let up = Up::nodes(3);
    let desk = Desk::at(&up);
    let ann = desk.file("ann", "correct horse\n");
    let first = desk.fails(&[
        "user",
        "add",
        "ann",
        "--role",
        "write",
        "-k",
        "*",
        "--new-password-file",
        &ann,
    ]);
    assert!(
        first.contains("the first user must have the role admin on *"),
        "{first}"
    );
    assert!(
        desk.fails(&["user", "add", "ann", "--role", "admin", "-k", "*"])
            .contains("--new-password-file")
    );
    desk.does(&[
        "user",
        "add",
        "ann",
        "--role",
        "admin",
        "--keyspace",
        "*",
        "--new-password-file",
        &ann,
    ]);
    let who = ["--user", "ann", "--password-file", &ann];
    let with = |arguments: &[&str]| {
        [arguments, &who[..]]
            .concat()
            .iter()
            .map(|one| (*one).to_owned())
            .collect::<Vec<_>>()
    };
    let does = |arguments: &[&str]| {
        let all = with(arguments);
        desk.does(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let asked = desk.fails(&["put", "a", "b"]);
    assert!(
        asked.contains("this cluster has users") && asked.contains("--user NAME"),
        "{asked}"
    );
    let typed = desk.fails(&["put", "a", "b", "--user", "ann"]);
    assert!(typed.contains("no terminal"), "{typed}");
    let wrong = desk.file("wrong", "wrong horse\n");
    let refused = desk.fails(&["get", "a", "--user", "ann", "--password-file", &wrong]);
    assert!(
        refused.contains("name, password or token is wrong"),
        "{refused}"
    );
    does(&["keyspace", "create", "birds"]);
    let token = does(&[
        "user", "add", "loader", "--role", "write", "-k", "birds", "--token",
    ]);
    assert!(
        token.starts_with("dunlin_") && token.lines().count() == 1,
        "{token}"
    );
    let loader = desk.file("loader", &token);
    let as_loader = ["--token-file", loader.as_str()];
    desk.does(&[&["put", "-k", "birds", "knot", "red"], &as_loader[..]].concat());
    assert_eq!(
        desk.does(&[&["get", "-k", "birds", "knot"], &as_loader[..]].concat())
            .trim(),
        "red"
    );
    let lacks = desk.fails(&[&["put", "knot", "red"], &as_loader[..]].concat());
    assert!(
        lacks.contains("user loader lacks the role write on default"),
        "{lacks}"
    );
    assert!(lacks.contains("dunlin user set"), "{lacks}");
    // Import, range, and a database copied into a keyspace, all by its writer.
    let records = desk.file("records", "{\"id\":\"e1\"}\n{\"id\":\"e2\"}\n");
    desk.does(
        &[
            &[
                "import", &records, "--format", "jsonl", "--key", "id", "-k", "birds",
            ],
            &as_loader[..],
        ]
        .concat(),
    );
    let range = desk.does(&[&["scan", "-k", "birds", "--prefix", "e"], &as_loader[..]].concat());
    assert_eq!(range.lines().count(), 2, "{range}");
    let database = desk.directory.path().join("db");
    database_of(&database);
    let target = up.url(0, "/birds");
    let source = database.to_str().unwrap();
    desk.fails(&[
        "copy",
        source,
        &target,
        "--merge",
        "--quiet",
        "--retry-for",
        "1s",
    ]);
    desk.does(
        &[
            &["copy", source, &target, "--merge", "--quiet"],
            &as_loader[..],
        ]
        .concat(),
    );
    assert_eq!(
        desk.does(&[&["get", "-k", "birds", "copied"], &as_loader[..]].concat())
            .trim(),
        "yes"
    );
    for arguments in [
        &["status"][..],
        &["node", "list"],
        &["metadata", "show"],
        &["keyspace", "mend-stamps", "birds"],
        &["keyspace", "drop", "birds"],
        &["keyspace", "undrop", "birds"],
        &["user", "set", "loader", "--role", "read", "-k", "birds"],
        &[
            "user", "set", "loader", "--role", "read", "-k", "default", "--revoke", "birds",
        ],
    ] {
        does(arguments);
    }
    let list = does(&["user", "list"]);
    assert!(
        list.contains("read on default") && !list.contains("birds"),
        "{list}"
    );
    let all = with(&["user", "drop", "ann"]);
    let last = desk.fails(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        last.contains("last user with admin") && last.contains("user disable"),
        "{last}"
    );
    does(&["user", "drop", "loader"]);
    let all = with(&["user", "disable"]);
    assert!(
        desk.fails(&all.iter().map(String::as_str).collect::<Vec<_>>())
            .contains("--yes")
    );
    does(&["user", "disable", "--yes"]);
    desk.does(&["put", "a", "b"]);
    assert!(desk.does(&["user", "list"]).contains("no users"));
}

#[test]
fn users_of_a_local_cluster_outlive_it_and_a_lost_password() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, 1);
    {
        let desk = Desk::at(&up);
        let ann = desk.file("ann", "correct horse");
        desk.does(&[
            "user",
            "add",
            "ann",
            "--role",
            "admin",
            "-k",
            "*",
            "--new-password-file",
            &ann,
        ]);
    }
    let path = data.join("metadata.json");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let word = home.path().join("word");
    std::fs::write(&word, "another horse").unwrap();
    let rescue = || {
        let mut command = dunlin();
        command.args(["user", "rescue", "ann", "--data", data.to_str().unwrap()]);
        command.args(["--new-password-file", word.to_str().unwrap()]);
        command.output().unwrap()
    };
    let refused = rescue();
    assert!(
        !refused.status.success(),
        "its store is in use: {refused:?}"
    );
    up.process.stop();
    let done = rescue();
    assert!(done.status.success(), "{done:?}");
    let up = Up::on(&data, 1);
    let desk = Desk::at(&up);
    assert!(desk.fails(&["get", "a"]).contains("this cluster has users"));
    let word = word.to_str().unwrap();
    desk.does(&["status", "--user", "ann", "--password-file", word]);
}

/// A RocksDB database of one pair.
fn database_of(path: &Path) {
    let mut options = rocksdb::Options::default();
    options.create_if_missing(true);
    let database = rocksdb::DB::open(&options, path).unwrap();
    database.put(b"copied", b"yes").unwrap();
    database.flush().unwrap();
}
