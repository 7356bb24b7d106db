//! Wrong use: one clear line on standard error, nothing on standard output, exit code 2.

use crate::support::{dunlin, run};

#[test]
fn every_kind_of_wrong_use_is_one_line_and_code_2() {
    for (arguments, words) in [
        (&[][..], "a command is missing"),
        (&["keyspace"], "a command is missing"),
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["get"], "<KEY>"),
        (&["get", "k", "--acks", "1"], "--acks"),
        (&["get", "k", "--ack", "many"], "invalid value 'many'"),
        (&["get", "k", "--server", "ftp://h"], "https"),
        (&["put", "k", "v", "--file", "f"], "cannot be used with"),
        (
            &["put", "k", "v", "--if-absent", "--if-version", "1"],
            "cannot be used with",
        ),
        (&["import", "--format", "xml", "--key", "id"], "'xml'"),
        (&["import", "--format", "csv"], "--key <FIELD>"),
        (
            &[
                "import",
                "--format",
                "csv",
                "--key",
                "id",
                "--concurrency",
                "0",
            ],
            "--concurrency",
        ),
        (&["up", "--nodes", "0"], "--nodes"),
        (
            &["up", "--http-port", "65535", "--data", "/nonexistent/data"],
            "65535",
        ),
        (&["up", "--sync", "often"], "often"),
        (
            &["up", "--log-compression", "zip"],
            "\"zip\" is no compression; write none, lz4 or zstd",
        ),
        (
            &["up", "--log-padding", "zero"],
            "\"zero\" is no padding; write fragment or pad",
        ),
        (
            &[
                "up",
                "--log-block-size",
                "5000",
                "--data",
                "/nonexistent/data",
            ],
            "log block size 5000 must be a power of two from 4KiB to 1MiB",
        ),
        (&["up", "--log-direct-io=maybe"], "'maybe'"),
        (
            &["up", "--max-body=0", "--data", "/nonexistent/data"],
            "max body must be at least 1 byte",
        ),
        (
            &["up", "--max-body=65MiB", "--data", "/nonexistent/data"],
            "max body 65MiB is above 64MiB, the most that nodes can send each other in one piece",
        ),
        (
            &["up", "--request-memory=1MiB", "--data", "/nonexistent/data"],
            "request memory 1MiB must be at least 32MiB",
        ),
        (
            &["up", "--max-connections=0", "--data", "/nonexistent/data"],
            "max connections must be at least 1",
        ),
        (&["serve"], "name is not set"),
        (
            &["serve", "--name", "n1", "--data", "d"],
            "metadata is not set",
        ),
        (
            &[
                "serve",
                "--name",
                "n1",
                "--data",
                "d",
                "--metadata",
                "zk://h",
            ],
            "zk://h",
        ),
        (
            &["serve", "--config", "/nonexistent.toml"],
            "/nonexistent.toml",
        ),
        (
            &["keyspace", "create", "k", "--sync", "interval:5"],
            "interval:5",
        ),
        (&["metadata"], "a command is missing"),
        (&["metadata", "restore"], "--metadata <URL>"),
        (
            &["metadata", "restore", "--metadata", "embedded"],
            "only a store in etcd can be put back",
        ),
        (
            &[
                "metadata",
                "restore",
                "--metadata",
                "etcd://127.0.0.1:1",
                "--server",
                "ftp://h",
            ],
            "https",
        ),
        (&["metadata", "show", "--force"], "--force"),
        (&["keyspace", "undrop"], "<NAME>"),
        (&["keyspace", "list", "--drops"], "--drops"),
        (
            &["up", "--drop-delay", "soon"],
            "\"soon\" is not a delay; write one as in 30s, 15min, 1h or 7d",
        ),
    ] {
        let ended = run(arguments);
        assert!(
            ended.complaint(2).contains(words),
            "{arguments:?} gave {}",
            ended.stderr
        );
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_line_about_wrong_use_says_where_help_is() {
    let ended = run(&["import", "--format", "csv"]);
    assert!(
        ended
            .complaint(2)
            .ends_with("(dunlin import --help says more)"),
        "{}",
        ended.stderr
    );
}

#[test]
fn help_and_version_are_no_failures() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["import", "--help"],
        &["help", "keyspace", "create"],
    ] {
        let ended = run(arguments).ok();
        assert!(
            !ended.stdout.is_empty() && ended.stderr.is_empty(),
            "{arguments:?}"
        );
    }
    for verb in [
        "serve", "put", "get", "delete", "scan", "import", "status", "up",
    ] {
        assert!(
            run(&[verb, "--help"]).ok().text().contains("Examples:"),
            "{verb}"
        );
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("d.toml");
    std::fs::write(
        &file,
        "name = 'file'\ndata = 'd'\nmetadata = 'embedded'\nshards = 2\ncache = '1MiB'\n",
    )
    .unwrap();
    let mut command = dunlin(&[
        "serve",
        "--print-config",
        "--cache",
        "3MiB",
        "--config",
        file.to_str().unwrap(),
    ]);
    let ended: crate::support::Ended = command
        .env("DUNLIN_CACHE", "2MiB")
        .env("DUNLIN_SHARDS", "4")
        .output()
        .unwrap()
        .into();
    let text = ended.ok().text().to_owned();
    for line in ["name = \"file\"", "shards = 4", "cache = \"3MiB\""] {
        assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
    }
    let again = directory.path().join("again.toml");
    std::fs::write(&again, &text).unwrap();
    assert_eq!(
        run(&[
            "serve",
            "--print-config",
            "--config",
            again.to_str().unwrap()
        ])
        .ok()
        .text(),
        text
    );
}

#[test]
fn a_misspelt_key_of_the_file_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("d.toml");
    std::fs::write(&file, "name = 'n1'\n[default_keyspace]\nreplica = 3\n").unwrap();
    let ended = run(&["serve", "--config", file.to_str().unwrap()]);
    let line = ended.complaint(2);
    assert!(line.contains("line 3: unknown key `replica`"), "{line}");
}

#[test]
fn a_cluster_that_is_not_there_is_a_failure_not_wrong_use() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    for arguments in [
        &["get", "k"][..],
        &["status"],
        &["keyspace", "list"],
        &["keyspace", "list", "--dropped"],
        &["keyspace", "undrop", "k"],
        &["metadata", "show"],
        &["scan"],
    ] {
        let ended: crate::support::Ended = dunlin(arguments)
            .env("DUNLIN_SERVER", &port)
            .output()
            .unwrap()
            .into();
        assert!(
            ended
                .complaint(1)
                .starts_with(&format!("cannot reach http://{port}")),
            "{}",
            ended.stderr
        );
    }
}
