//! Transactional keyspaces, as who uses them sees them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::child::command;
use crate::harness::curl::{curl, curl_with};
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::up::Up;

const KEYS: &str = "/v1/keyspaces/accounts/keys";

fn create(url: &str, settings: Value) -> Answer {
    let mut body = json!({"name": "accounts", "mode": "transactional"});
    for (name, value) in settings.as_object().unwrap() {
        body[name] = value.clone();
    }
    curl_with(
        &["-d", "@-", &format!("{url}/v1/keyspaces")],
        body.to_string().as_bytes(),
    )
}

fn put_if(url: &str, condition: &str, value: &str) -> Answer {
    let mut arguments = vec!["-X", "PUT", "--data-binary", "@-"];
    if !condition.is_empty() {
        arguments.extend(["-H", condition]);
    }
    arguments.push(url);
    curl_with(&arguments, value.as_bytes())
}

#[test]
fn any_node_reads_what_any_other_has_written() {
    let up = Up::with(3, &["--shards=2"]);
    let made = create(&up.url(1, ""), json!({}));
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["ranges"][0]["ready"], true);
    for n in 0..60 {
        let key = format!("{KEYS}/k{:02}", n % 20);
        let put = put_if(&up.url(n % 3, &key), "", &n.to_string());
        assert_eq!(put.status, 201, "{}", put.text());
        // Linearizable: whoever asks next sees it.
        let got = curl(&[&up.url((n + 1) % 3, &key)]);
        assert_eq!(got.text(), n.to_string());
        assert_eq!(got.version(), put.version());
    }
    let gone = curl(&["-X", "DELETE", &up.url(0, &format!("{KEYS}/k03"))]);
    assert_eq!(gone.status, 202, "{}", gone.text());
    assert_eq!(curl(&[&up.url(2, &format!("{KEYS}/k03"))]).status, 404);
    for node in 0..3 {
        let path = format!("{KEYS}?prefix=k0&start=k02&end=k06");
        let range = curl(&[&up.url(node, &path)]);
        let lines = range.text().lines();
        let lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let told: Vec<String> = lines
            .iter()
            .map(|line| {
                format!(
                    "{} {}",
                    line["key"].as_str().unwrap(),
                    line["value"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(told, ["k02 42", "k04 44", "k05 45"]);
        let two = curl(&[&up.url(node, &format!("{KEYS}?limit=2"))]);
        assert_eq!(two.text().lines().count(), 2);
    }
}

#[test]
fn a_keyspace_of_many_ranges_is_made_in_one_request() {
    let up = Up::with(3, &["--shards=1"]);
    let cuts: Vec<String> = (1..128).map(|cut| format!("{cut:04}")).collect();
    let made = create(&up.url(0, ""), json!({ "split_at": cuts }));
    assert_eq!(made.status, 201, "{}", made.text());
    let ranges = made.json()["ranges"].clone();
    let ready = ranges.as_array().unwrap().iter();
    assert_eq!(ready.filter(|range| range["ready"] == true).count(), 128);
    for key in (0..128).step_by(9) {
        let put = put_if(&up.url(1, &format!("{KEYS}/{key:04}")), "", "v");
        assert_eq!(put.status, 201, "{}", put.text());
    }
}

#[test]
fn conditions_hold_and_versions_grow() {
    let up = Up::nodes(3);
    assert_eq!(create(&up.url(0, ""), json!({"replicas": 3})).status, 201);
    let url = |node| up.url(node, &format!("{KEYS}/lock"));
    let taken = put_if(&url(0), "If-None-Match: *", "ann");
    assert_eq!(taken.status, 201, "{}", taken.text());
    let refused = put_if(&url(1), "If-None-Match: *", "bob");
    assert_eq!(refused.status, 412);
    assert_eq!(refused.version(), taken.version());
    let newer = put_if(
        &url(2),
        &format!("If-Match: {}", taken.version()),
        "ann again",
    );
    assert_eq!(newer.status, 201);
    assert!(newer.version() > taken.version());
    assert_eq!(
        put_if(&url(0), &format!("If-Match: {}", taken.version()), "x").status,
        412
    );
    assert_eq!(put_if(&url(0), "If-Match: *", "whoever").status, 201);
    let free = ["-X", "DELETE", "-H", "If-Match: *", &url(1)];
    assert_eq!(curl(&free).status, 202);
    assert_eq!(curl(&free).status, 412);
    let again = put_if(&url(2), "If-None-Match: *", "bob");
    assert!(again.version() > newer.version());
    // A deadline that is over.
    let late = put_if(&url(0), "Dunlin-Deadline: 1000", "late");
    assert_eq!(late.status, 408, "{}", late.text());
    assert_eq!(curl(&[&url(0)]).text(), "bob");
}

#[test]
fn what_such_keyspaces_do_not_have_is_refused_by_name() {
    let up = Up::nodes(3);
    let url = up.url(0, "");
    for (settings, told) in [
        (json!({"replicas": 2}), "replicas 2: must be 1, 3 or 5"),
        (json!({"sync": "never"}), "sync never: must be always"),
        (json!({"partitions": 8}), "has no partitions"),
        (json!({"tombstone_grace_s": 8}), "has no tombstone_grace_s"),
        (json!({"retention": {"min_bytes": 8}}), "has no retention"),
    ] {
        let refused = create(&url, settings);
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains(told), "{}", refused.text());
    }
    assert_eq!(create(&url, json!({"replicas": 1})).status, 201);
    assert_eq!(create(&url, json!({"replicas": 1})).status, 409);
    let base = format!("{url}/v1/keyspaces/accounts");
    for (arguments, told) in [
        (vec!["KEYS/k?ack=1"], "ack"),
        (vec!["KEYS?from=1"], "from"),
        (
            vec!["-X", "PUT", "-d", "v", "KEYS/k?expires_in=5"],
            "expires_in",
        ),
        (vec!["-X", "POST", "BASE/bulk"], "bulk"),
        (vec!["BASE/changes"], "changes"),
        (vec!["BASE/cursors"], "cursors"),
        (vec!["BASE/views"], "views"),
        (vec!["-X", "POST", "BASE/mend-stamps"], "mend-stamps"),
        (
            vec![
                "-X",
                "PATCH",
                "-d",
                r#"{"retention": {"min_bytes": 1}}"#,
                "BASE",
            ],
            "retention",
        ),
    ] {
        let spelt = arguments.iter();
        let spelt: Vec<String> = spelt
            .map(|a| {
                a.replace("KEYS", &format!("{base}/keys"))
                    .replace("BASE", &base)
            })
            .collect();
        let spelt: Vec<&str> = spelt.iter().map(String::as_str).collect();
        let refused = curl(&spelt);
        assert_eq!(refused.status, 400, "{spelt:?}: {}", refused.text());
        let line = refused.json()["error"].as_str().unwrap().to_owned();
        assert!(
            line.contains("transactional") && line.contains(told),
            "{line}"
        );
    }
}

#[test]
fn commands_write_what_conditions_allow() {
    let up = Up::nodes(3);
    let server = format!("127.0.0.1:{}", up.ports[0]);
    let run = |arguments: &[&str]| {
        let output = command()
            .args(arguments)
            .args(["--server", &server])
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let made = [
        "keyspace",
        "create",
        "accounts",
        "--mode",
        "transactional",
        "--replicas",
        "3",
    ];
    assert_eq!(run(&made).0, Some(0));
    assert_eq!(run(&["put", "--keyspace", "accounts", "k", "1"]).0, Some(0));
    let (_, json) = run(&["get", "--keyspace", "accounts", "k", "--json"]);
    let version = serde_json::from_str::<Value>(&json).unwrap()["version"]
        .as_str()
        .unwrap()
        .to_owned();
    let put = |value| {
        run(&[
            "put",
            "--keyspace",
            "accounts",
            "k",
            value,
            "--if-version",
            &version,
        ])
        .0
    };
    assert_eq!(put("2"), Some(0));
    assert_ne!(put("3"), Some(0));
    assert_eq!(
        run(&["get", "--keyspace", "accounts", "k"]).1.trim_end(),
        "2"
    );
    let (_, list) = run(&["keyspace", "list"]);
    let row = list
        .lines()
        .find(|line| line.starts_with("accounts"))
        .unwrap();
    assert!(row.contains("transactional"), "{row}");
    let (_, status) = run(&["status"]);
    assert!(
        status.contains("TRANSACTIONAL") && status.contains("leader"),
        "{status}"
    );
    let node = &up.url(0, "/metrics");
    assert!(curl(&[node]).text().contains("dunlin_range_term{"));
}

#[test]
fn a_drop_is_taken_back_whole() {
    let up = Up::nodes(3);
    assert_eq!(create(&up.url(0, ""), json!({})).status, 201);
    let url = |node| up.url(node, &format!("{KEYS}/k"));
    assert_eq!(put_if(&url(0), "", "kept").status, 201);
    let keyspace = up.url(1, "/v1/keyspaces/accounts");
    assert_eq!(curl(&["-X", "DELETE", &keyspace]).status, 204);
    for node in 0..3 {
        eventually("it is not served", Duration::from_secs(10), || {
            curl(&[&url(node)]).status == 404 && put_if(&url(node), "", "lost").status == 404
        });
    }
    assert_eq!(
        curl(&["-X", "POST", &format!("{keyspace}/undrop")]).status,
        200
    );
    for node in 0..3 {
        eventually("it is served again", Duration::from_secs(10), || {
            curl(&[&url(node)]).text() == "kept"
        });
    }
}

/// The node that leads, as the others say.
fn leader(flock: &Flock, by: usize) -> Option<usize> {
    let status = flock.nodes[by].status();
    let ranges = status["ranges"].as_array()?.iter();
    let mut leads =
        ranges.filter(|range| range["role"] == "leader" && range["keyspace"] == "accounts");
    let at = leads.next()?["at"].as_str()?.split('/').next()?.to_owned();
    flock.nodes.iter().position(|node| node.name == at)
}

#[test]
fn another_leads_when_the_leader_dies_and_all_is_kept() {
    let mut flock = Flock::start(&["--shards=2"]);
    let made = create(&format!("http://{}", flock.nodes[0].address()), json!({}));
    assert_eq!(made.status, 201, "{}", made.text());
    let mut versions = Vec::new();
    for n in 0..50 {
        let put =
            flock.nodes[n % 3].request("PUT", &format!("{KEYS}/k{n}"), n.to_string().as_bytes());
        assert_eq!(put.status, 201, "{}", put.text());
        versions.push(put.version().to_owned());
    }
    let first = leader(&flock, 0).unwrap();
    flock.kill(first);
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    eventually("another leads", Duration::from_secs(20), || {
        let put = flock.nodes[others[0]].request("PUT", &format!("{KEYS}/after"), b"1");
        put.status == 201
    });
    for (n, version) in versions.iter().enumerate() {
        let got = flock.nodes[others[n % 2]].request("GET", &format!("{KEYS}/k{n}"), b"");
        assert_eq!(
            (got.text(), got.version()),
            (n.to_string().as_str(), version.as_str())
        );
    }
    // Without a majority nothing is answered, nor half done.
    flock.kill(others[0]);
    let last = others[1];
    eventually("nobody leads", Duration::from_secs(20), || {
        let put = flock.nodes[last].request("PUT", &format!("{KEYS}/alone"), b"1");
        assert!(
            matches!(put.status, 503 | 504),
            "{} {}",
            put.status,
            put.text()
        );
        put.status == 503 && put.text().contains("1 of its 3 replicas can be reached")
    });
    assert_eq!(
        flock.nodes[last]
            .request("GET", &format!("{KEYS}/k1"), b"")
            .status,
        503
    );
    flock.kill(last);
    flock.up_all();
    for (n, version) in versions.iter().enumerate() {
        eventually("it is read again", Duration::from_secs(20), || {
            let got = flock.nodes[n % 3].request("GET", &format!("{KEYS}/k{n}"), b"");
            got.status == 200 && got.text() == n.to_string() && got.version() == version
        });
    }
}

/// Waits until all ranges have all their replicas, by the command.
fn whole(flock: &Flock, node: usize) {
    // Those of the oracle and of the keyspace.
    eventually("all ranges are whole", Duration::from_secs(60), || {
        flock.nodes[node].has_whole_ranges(2)
    });
}

#[test]
fn a_replica_that_lost_its_disk_comes_back_by_itself() {
    let mut flock = Flock::start(&[]);
    assert_eq!(
        create(&format!("http://{}", flock.nodes[0].address()), json!({})).status,
        201
    );
    let put = |flock: &Flock, node: usize, key: &str| {
        eventually("it is stored", Duration::from_secs(30), || {
            let put = flock.nodes[node].request("PUT", &format!("{KEYS}/{key}"), b"v");
            put.status == 201
        });
    };
    for n in 0..20 {
        put(&flock, 0, &format!("k{n}"));
    }
    // One after another all disks are lost: in the end no replica is one of the first.
    for lost in [2, 0, 1] {
        flock.kill(lost);
        std::fs::remove_dir_all(&flock.nodes[lost].data).unwrap();
        flock.up(lost);
        put(&flock, (lost + 1) % 3, &format!("without-{lost}"));
        whole(&flock, lost);
    }
    flock.kill(2);
    for key in ["k0", "k19", "without-2", "without-0", "without-1"] {
        eventually("two of three read it", Duration::from_secs(20), || {
            let got = flock.nodes[1].request("GET", &format!("{KEYS}/{key}"), b"");
            got.status == 200 && got.text() == "v"
        });
    }
    flock.up(2);
    whole(&flock, 0);
    let drained = flock.nodes[0].request("POST", "/v1/members", br#"{"drain": ["n3"]}"#);
    assert_eq!(drained.status, 409, "{}", drained.text());
    assert!(drained.text().contains("accounts"), "{}", drained.text());
}

#[test]
fn a_directory_that_was_copied_is_replaced_by_itself() {
    let mut flock = Flock::start(&[]);
    assert_eq!(
        create(&format!("http://{}", flock.nodes[0].address()), json!({})).status,
        201
    );
    // One node after another moves to another disk.
    for node in 0..3 {
        flock.kill(node);
        flock.nodes[node].move_data();
        flock.up(node);
        whole(&flock, node);
        eventually("it is stored", Duration::from_secs(30), || {
            let put = flock.nodes[node].request("PUT", &format!("{KEYS}/k{node}"), b"v");
            put.status == 201
        });
    }
    for node in 0..3 {
        let got = flock.nodes[0].request("GET", &format!("{KEYS}/k{node}"), b"");
        assert_eq!((got.status, got.text()), (200, "v"));
    }
}
