//! Change streams, as who follows them sees them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::child::{Process, dunlin};
use crate::harness::curl::curl;
use crate::harness::eventually;
use crate::harness::mirror::{Mirror, scan};
use crate::harness::secure;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEYS: &str = "/v1/keyspaces/default/keys";
const CHANGES: &str = "/v1/keyspaces/default/changes";

fn address(up: &Up, index: usize) -> SocketAddr {
    ([127, 0, 0, 1], up.ports[index]).into()
}

/// Writes, overwrites and deletes keys.
fn fill(up: &Up, keys: usize) {
    let mut wires: Vec<Wire> = up.ports.iter().map(|port| Wire::open(*port)).collect();
    for number in 0..keys {
        let wire = &mut wires[number % 3];
        let path = format!("{KEYS}/key-{number:04}");
        for value in ["first", "second"] {
            let value = format!("{value} of {number}");
            assert_eq!(wire.request("PUT", &path, value).status, 201);
        }
        if number % 5 == 0 {
            assert_eq!(wire.request("DELETE", &path, "").status, 202);
        }
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn all_there_is_is_told_to_the_end_and_then_only_what_comes() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 200);
    for node in 0..3 {
        let mut mirror = Mirror::new("default");
        let ended = mirror.follow(address(&up, node), "&until=end");
        assert_eq!(ended.unwrap().as_deref(), Some("until"));
        assert_eq!(mirror.values(), scan(address(&up, 0), "default"));
        // It goes on at another node, where nothing is told twice.
        // From the beginning a shard that was given a partition late has stored records of it.
        let (told, snapshots) = (mirror.changes, mirror.snapshots);
        let other = address(&up, (node + 1) % 3);
        let path = format!("{KEYS}/new-{node}");
        assert_eq!(
            Wire::open(up.ports[0]).request("PUT", &path, "v").status,
            201
        );
        let ended = mirror.follow(other, "&until=end");
        assert_eq!(ended.unwrap().as_deref(), Some("until"));
        assert_eq!(mirror.changes, told + 1);
        assert_eq!(mirror.snapshots, snapshots);
        assert_eq!(mirror.values(), scan(address(&up, 0), "default"));
    }
}

#[test]
fn pages_of_a_few_changes_come_to_the_end_at_whichever_node() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 60);
    let mut mirror = Mirror::new("default");
    for page in 0.. {
        assert!(page < 200, "it comes to no end");
        let ended = mirror.follow(address(&up, page % 3), "&until=end&limit=3");
        match ended.unwrap().as_deref() {
            Some("limit") => {}
            Some("until") => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(mirror.values(), scan(address(&up, 0), "default"));
}

#[test]
fn what_is_asked_for_is_told_and_nothing_else() {
    let up = Up::nodes(3);
    fill(&up, 30);
    let of = |query: &str| {
        let answer = curl(&[&up.url(1, &format!("{CHANGES}?until=end&{query}"))]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        lines(answer.text())
    };
    let changes = |lines: &[Value]| -> Vec<Value> {
        let changes = lines.iter().filter(|line| line["event"] == "change");
        changes.cloned().collect()
    };
    let some = changes(&of("from=beginning&prefix=key-000"));
    let has_prefix = |line: &Value| line["key"].as_str().unwrap().starts_with("key-000");
    assert!(!some.is_empty() && some.iter().all(has_prefix));
    let bare = changes(&of("from=beginning&keys_only=true"));
    assert!(bare.iter().all(|line| line["value"].is_null()));
    assert!(bare.iter().any(|line| line["absent"] == "deleted"));
    let all = changes(&of("from=beginning"));
    let part = changes(&of("from=beginning&partitions=0-31"));
    let is_low = |line: &&Value| line["partition"].as_u64().unwrap() < 32;
    assert_eq!(part.len(), all.iter().filter(is_low).count());
    assert!(changes(&of("from=now")).is_empty());
    assert!(changes(&of("")).is_empty());
}

#[test]
fn who_waits_is_told_at_once_and_ends_when_nothing_comes() {
    let up = Up::with(3, &["--shards=2"]);
    let begun = Instant::now();
    let quiet = curl(&[&up.url(0, &format!("{CHANGES}?from=now&wait=300ms"))]);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let last = lines(quiet.text()).pop().unwrap();
    assert_eq!(last["reason"], "wait");
    let token = last["token"].as_str().unwrap().to_owned();
    let mut wire = Wire::open(up.ports[1]);
    let path = format!("{CHANGES}?from={token}&wait=60s");
    wire.try_send("GET", &path, "", b"").unwrap();
    let put = Wire::open(up.ports[2]).request("PUT", &format!("{KEYS}/a"), "b");
    assert_eq!(put.status, 201);
    // It would take a minute otherwise, and the connection less.
    let told = lines(wire.answer().text());
    assert!(told.iter().any(|line| line["key"] == "a"), "{told:?}");
    assert_eq!(told.last().unwrap()["reason"], "wait");
}

#[test]
fn server_sent_events_go_on_behind_the_last_id() {
    let up = Up::nodes(3);
    fill(&up, 10);
    let url = up.url(0, &format!("{CHANGES}?from=beginning&limit=4"));
    let sse = "Accept: text/event-stream";
    let first = curl(&["-H", sse, &url]);
    assert_eq!(first.header("content-type"), Some("text/event-stream"));
    let last = first.text().trim_end().rsplit("\n\n").next().unwrap();
    let id = last
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    assert!(last.starts_with("event: end\n"), "{last}");
    let count = |text: &str| text.matches("event: change\ndata: {").count();
    let resume = format!("Last-Event-ID: {id}");
    let rest = curl(&[
        "-H",
        sse,
        "-H",
        &resume,
        &up.url(1, &format!("{CHANGES}?from=now&until=end")),
    ]);
    let all = curl(&[
        "-H",
        sse,
        &up.url(2, &format!("{CHANGES}?from=beginning&until=end")),
    ]);
    assert_eq!(count(first.text()), 4);
    assert_eq!(count(rest.text()) + 4, count(all.text()));
}

#[test]
fn wrong_requests_are_refused_with_what_to_do() {
    let up = Up::nodes(1);
    let other = Up::nodes(1);
    let token = |up: &Up| {
        let answer = curl(&[&up.url(0, &format!("{CHANGES}?from=now&wait=0"))]);
        let last = lines(answer.text()).pop().unwrap();
        last["token"].as_str().unwrap().to_owned()
    };
    let own = token(&up);
    let made = br#"{"name": "second", "replicas": 1}"#;
    let wire = Wire::open(up.ports[0]).request("POST", "/v1/keyspaces", made);
    assert_eq!(wire.status, 201, "{}", wire.text());
    let other_character = if &own[8..9] == "A" { "B" } else { "A" };
    let damaged = format!("{}{other_character}{}", &own[..8], &own[9..]);
    for (path, status, says) in [
        (
            format!("{CHANGES}?from={}", token(&other)),
            400,
            "of another cluster",
        ),
        (
            format!("/v1/keyspaces/second/changes?from={own}"),
            400,
            "of keyspace number",
        ),
        (format!("{CHANGES}?from={damaged}"), 400, "damaged"),
        (format!("{CHANGES}?from=yesterday"), 400, "beginning or now"),
        (format!("{CHANGES}?partitions=64"), 400, "from 0 to 63"),
        (format!("{CHANGES}?partitions=5-3"), 400, "from 0 to 63"),
        (format!("{CHANGES}?limit=0"), 400, "at least 1"),
        (format!("{CHANGES}?wait=1d"), 400, "at most an hour"),
        (format!("{CHANGES}?until=tomorrow"), 400, "only end"),
        (format!("{CHANGES}?keys_only=maybe"), 400, "true or false"),
        (format!("{CHANGES}?form=now"), 400, "not known here"),
        (
            "/v1/keyspaces/none/changes".to_owned(),
            404,
            "no such keyspace",
        ),
    ] {
        let answer = curl(&[&up.url(0, &path)]);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.text().contains(says), "{path}: {}", answer.text());
    }
    let posted = curl(&["-X", "POST", &up.url(0, CHANGES)]);
    assert_eq!(posted.status, 405);
}

#[test]
fn a_stream_ends_with_its_keyspace_and_with_its_node() {
    let mut up = Up::nodes(1);
    let made = br#"{"name": "short", "replicas": 1}"#;
    let mut wire = Wire::open(up.ports[0]);
    assert_eq!(wire.request("POST", "/v1/keyspaces", made).status, 201);
    let mut follows = Wire::open(up.ports[0]);
    let path = "/v1/keyspaces/short/changes?from=now";
    follows.try_send("GET", path, "", b"").unwrap();
    assert_eq!(follows.head().unwrap().status, 200);
    assert!(follows.chunk().unwrap().is_some());
    let dropped = wire.request("DELETE", "/v1/keyspaces/short", "");
    assert!(dropped.status < 300, "{}", dropped.text());
    let last = follows.chunk().unwrap().unwrap();
    assert_eq!(last, b"{\"event\":\"dropped\"}\n");
    assert_eq!(follows.chunk().unwrap(), None);

    let mut follows = Wire::open(up.ports[0]);
    follows.try_send("GET", CHANGES, "", b"").unwrap();
    assert_eq!(follows.head().unwrap().status, 200);
    assert!(follows.chunk().unwrap().is_some());
    assert_eq!(up.process.stop(), Some(0), "{}", up.process.output());
    let last = String::from_utf8(follows.chunk().unwrap().unwrap()).unwrap();
    assert!(last.contains("\"reason\":\"stopping\""), "{last}");
}

#[test]
fn the_command_prints_changes_and_goes_on_from_its_token() {
    let up = Up::with(3, &["--shards=2"]);
    let servers = format!("{},{}", up.url(0, ""), up.url(1, ""));
    fill(&up, 7);
    let stream = |arguments: &[&str]| {
        let mut command = dunlin();
        command.args(["stream", "default", "--server", &servers]);
        let output = command.args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (told, said) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(0), "{said}");
        (told, said)
    };
    let (told, said) = stream(&["--from", "beginning", "--until", "end"]);
    assert!(told.contains("+ key-0001\tsecond of 1\n"), "{told}");
    assert!(told.contains("- key-0005\n"), "{told}");
    let token = said.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(stream(&["--from", &token, "--until", "end"]).0, "");
    let put = Wire::open(up.ports[2]).request("PUT", &format!("{KEYS}/x"), "y");
    assert_eq!(put.status, 201);
    assert_eq!(stream(&["--from", &token, "--until", "end"]).0, "+ x\ty\n");
    let (json, said) = stream(&["--from", &token, "--limit", "1", "--json"]);
    assert_eq!(said, "");
    assert_eq!(lines(&json).last().unwrap()["reason"], "limit");

    // Each batch goes to a command; one that fails gets it again.
    let directory = tempfile::tempdir().unwrap();
    let (all, failed) = (
        directory.path().join("all"),
        directory.path().join("failed"),
    );
    let (all, failed) = (all.to_str().unwrap(), failed.to_str().unwrap());
    let exec = format!("test -e {failed} || {{ touch {failed}; exit 3; }}; cat >> {all}");
    let (_, said) = stream(&["--from", "beginning", "--until", "end", "--exec", &exec]);
    assert!(
        said.contains("--exec failed (exit status: 3), again in 500 ms"),
        "{said}"
    );
    let batches = std::fs::read_to_string(all).unwrap();
    assert!(lines(&batches).iter().any(|line| line["key"] == "x"));
    let wrong = dunlin()
        .args(["stream", "nowhere", "--server", &servers])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(3));
}

#[test]
fn the_command_passes_over_a_lost_server_and_says_its_token_when_it_is_asked_to_stop() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::nodes(3);
    let servers = format!("http://127.0.0.1:1,{}", up.url(0, ""));
    let out = directory.path().join("out");
    let mut command = dunlin();
    command.args(["stream", "--server", &servers]);
    command.args(["--from", "beginning"]);
    let mut follows = Process::start(&mut command, &out);
    let mut writer = Wire::open(up.ports[0]);
    assert_eq!(writer.request("PUT", &format!("{KEYS}/a"), "1").status, 201);
    eventually("a change is printed", Duration::from_secs(20), || {
        follows.output().contains("+ a\t1\n")
    });
    assert_eq!(follows.stop(), Some(0));
    let said = follows.output();
    assert!(said.contains("dunlin: go on with --from "), "{said}");
}

#[test]
fn a_named_cursor_goes_on_where_it_was_committed() {
    let up = Up::with(3, &["--shards=2"]);
    fill(&up, 6);
    let server = format!("{},{}", up.url(1, ""), up.url(2, ""));
    let run = |arguments: &[&str]| {
        let said = secure::run(dunlin().args(arguments).args(["--server", &server]));
        (said.code, said.out + &said.err)
    };
    let cursor = |verb: &str, more: &[&str]| {
        let all = [&["cursor", verb, "c1", "--keyspace", "default"], more].concat();
        run(&all)
    };
    let stream = || run(&["stream", "default", "--cursor", "c1", "--until", "end"]);
    let (code, said) = cursor("create", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(cursor("create", &[]).0, Some(1));
    let (code, said) = stream();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("+ key-0001\tsecond of 1\n"), "{said}");
    assert_eq!(stream(), (Some(0), String::new()));
    let put = Wire::open(up.ports[0]).request("PUT", &format!("{KEYS}/x"), "y");
    assert_eq!(put.status, 201);
    assert_eq!(stream(), (Some(0), "+ x\ty\n".to_owned()));

    // One consumer at a time; who is set aside cannot commit.
    let mut follows = Wire::open(up.ports[0]);
    follows
        .try_send("GET", &format!("{CHANGES}?cursor=c1"), "", b"")
        .unwrap();
    assert_eq!(follows.head().unwrap().status, 200);
    let first = String::from_utf8(follows.chunk().unwrap().unwrap()).unwrap();
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["event"], &first["name"]),
        (&"cursor".into(), &"c1".into())
    );
    let (code, said) = stream();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("is being read by anybody from 127.0.0.1"),
        "{said}"
    );
    let (code, shown) = cursor("show", &["--json"]);
    assert_eq!(code, Some(0), "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["generation"], first["generation"]);
    // The same consumer goes on through another node.
    let again = format!(
        "{CHANGES}?cursor=c1&generation={}&wait=0",
        first["generation"]
    );
    let again = curl(&[&up.url(2, &again)]);
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(cursor("seek", &["--from", "beginning"]).0, Some(0));
    let commit = "/v1/keyspaces/default/cursors/c1/commit";
    let body = serde_json::json!({ "token": shown["token"], "generation": first["generation"] });
    let stale = Wire::open(up.ports[2]).request("POST", commit, body.to_string());
    assert_eq!(stale.status, 409, "{}", stale.text());
    let mut last = Vec::new();
    while let Some(chunk) = follows.chunk().unwrap() {
        last = chunk;
    }
    assert!(
        String::from_utf8(last)
            .unwrap()
            .contains("\"reason\":\"taken\"")
    );
    let (code, said) = stream();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("+ key-0001\t"), "{said}");
    let (_, all) = run(&["cursor", "list"]);
    assert!(all.starts_with("c1  free  "), "{all}");
    assert_eq!(cursor("drop", &[]).0, Some(0));
    assert_eq!(stream().0, Some(3));
    assert_eq!(cursor("drop", &[]).0, Some(3));

    for (method, path, body, status) in [
        ("PUT", "cursors/a%20b", "{}", 400),
        ("PUT", "cursors/a", "{\"from\": \"yesterday\"}", 400),
        ("PUT", "cursors/a", "no JSON", 400),
        ("PUT", "cursors/a", "{\"seek\": true}", 404),
        ("POST", "cursors/none/commit", "{\"token\": \"x\"}", 400),
        ("GET", "cursors/none", "", 404),
        ("GET", "changes?cursor=none", "", 404),
        ("GET", "changes?cursor=none&from=now", "", 400),
    ] {
        let path = format!("/v1/keyspaces/default/{path}");
        let answer = Wire::open(up.ports[0]).request(method, &path, body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
    }
    let reserved = br#"{"name": "_mine"}"#;
    let refused = Wire::open(up.ports[0]).request("POST", "/v1/keyspaces", reserved);
    assert_eq!(refused.status, 400);
}

#[test]
fn status_and_metrics_show_each_stream_and_who_does_not_read() {
    let up = Up::with(3, &["--shards=2"]);
    let cursor = format!("{}/v1/keyspaces/default/cursors/c1", up.url(0, ""));
    assert_eq!(curl(&["-X", "PUT", &cursor]).status, 201);
    let open = |node: usize, query: &str| {
        let mut wire = Wire::open(up.ports[node]);
        let path = format!("{CHANGES}?from=now{query}");
        let path = path.replace("from=now&cursor", "cursor");
        wire.try_send("GET", &path, "", b"").unwrap();
        assert_eq!(wire.head().unwrap().status, 200);
        assert!(wire.chunk().unwrap().is_some());
        wire
    };
    let (mut reads, unread) = (open(0, "&cursor=c1"), open(1, ""));
    let streams = || {
        let status = curl(&[&up.url(0, "/v1/status")]);
        let status: Value = serde_json::from_str(status.text()).unwrap();
        status["streams"].as_array().unwrap().clone()
    };
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| while let Ok(Some(_)) = reads.chunk() {});
        let mut wire = Wire::open(up.ports[0]);
        for number in 0..40 {
            let value = vec![b'v'; 400_000];
            let path = format!("{KEYS}/{number}");
            assert_eq!(wire.request("PUT", &path, value).status, 201);
        }
        eventually(
            "one is not read, the other has all",
            Duration::from_secs(60),
            || {
                let streams = streams();
                let of = |state: &str| streams.iter().find(|stream| stream["state"] == state);
                let (Some(late), Some(well)) = (of("not_read"), of("streaming")) else {
                    return false;
                };
                late["entries_behind"].as_u64() > Some(0)
                    && late["bytes_behind"].as_u64() > Some(400_000)
                    && late["behind_ms"].as_u64() > Some(1_000)
                    && late["cursor"].is_null()
                    && well["cursor"] == "c1"
                    && well["entries_behind"] == 0
                    && well["changes"].as_u64() >= Some(40)
            },
        );
        let metrics = curl(&[&up.url(1, "/metrics")]);
        let line = |text: &str| metrics.text().lines().any(|line| line.starts_with(text));
        assert!(line("dunlin_streams_not_read{"), "{}", metrics.text());
        let shown = dunlin()
            .args(["status", "--server", &up.url(0, "")])
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("not read"), "{shown}");
        drop(unread);
        // It ends with its cursor.
        assert!(curl(&["-X", "DELETE", &cursor]).status < 300);
        reading.join().unwrap();
    });
    eventually("no stream is left", Duration::from_secs(60), || {
        streams().is_empty()
    });
}
