//! Transactions without HTTP between, as those who use them see them.

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_client::{Client, ClientError};
use dunlin_entry::Version;
use dunlin_proto::{DirectCommit, DirectId, DirectKey, DirectRequest, DirectResponse, DirectSpan};
use serde_json::json;

use crate::harness::asking::{ADMIN, add, close, status};
use crate::harness::child::dunlin;
use crate::harness::curl::{curl, curl_with};
use crate::harness::direct::{Raw, local, upgraded};
use crate::harness::eventually;
use crate::harness::up::Up;

use super::txn::bank;

fn servers(up: &Up, first: usize) -> String {
    let url = |number: usize| up.url((first + number) % 3, "");
    [url(0), url(1), url(2)].join(",")
}

fn key(name: &str) -> DirectKey {
    DirectKey {
        keyspace: "bank".into(),
        key: Bytes::copy_from_slice(name.as_bytes()),
    }
}

fn now_ms() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed();
    since.unwrap().as_millis() as u64
}

fn read(at: Option<Version>, names: &[&str]) -> DirectRequest {
    DirectRequest::Read {
        at,
        lock: false,
        keys: names.iter().map(|name| key(name)).collect(),
    }
}

fn commit(at: Option<Version>, number: u128, name: &str, value: &str) -> DirectCommit {
    DirectCommit {
        at,
        reads: Vec::new(),
        scans: Vec::new(),
        writes: vec![(key(name), Some(value.to_owned().into()))],
        id: DirectId {
            ms: now_ms(),
            number,
        },
    }
}

async fn timestamp(raw: &Raw) -> Version {
    match raw.ask(read(None, &[])).await {
        DirectResponse::Values(at, _) => at,
        other => panic!("{other:?}"),
    }
}

async fn committed(raw: &Raw, request: DirectCommit) -> Version {
    match raw.ask(DirectRequest::Commit(request)).await {
        DirectResponse::Committed(at) => at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_script_runs_without_http_between() {
    let up = Up::nodes(3);
    bank(&up);
    let run = |script: &str| {
        let mut command = dunlin();
        command.args(["txn", "--direct", "-", "--server", &servers(&up, 1)]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    };
    let done = run("put bank 1 a\nput bank 5 b\nput bank 9 c\ncommit\n");
    assert!(done.status.success(), "{done:?}");
    let done =
        run("get bank 5\ndelete bank 1\nput bank 5 d\nget bank 5\ncommit\nget bank 5\ncommit\n");
    assert!(done.status.success(), "{done:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "b\nd\nd\n");
    assert_eq!(curl(&[&up.url(0, "/v1/keyspaces/bank/keys/1")]).status, 404);
    let done = run("check bank 9 x\nput bank 5 e\ncommit\n");
    assert!(!done.status.success());
    let line = String::from_utf8_lossy(&done.stderr);
    assert!(line.contains("does not hold: its value is \"c\""), "{line}");
    let done = run("put elsewhere 9 x\ncommit\n");
    let line = String::from_utf8_lossy(&done.stderr);
    assert!(line.contains("there is no keyspace elsewhere"), "{line}");
    assert_eq!(curl(&[&up.url(0, "/v1/keyspaces/bank/keys/5")]).text(), "d");
}

#[test]
fn transactions_see_a_snapshot_and_their_own_writes() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let direct = Client::new(&servers(&up, 0)).unwrap().direct();
        let fill = direct.transact(async |txn| {
            for name in ["1", "2", "4", "5", "8"] {
                txn.put("bank", name.as_bytes(), name.into())?;
            }
            Ok(())
        });
        fill.await.unwrap();
        let txn = direct.begin();
        let keys: [(&str, &[u8]); 3] = [("bank", b"8"), ("bank", b"nothing"), ("bank", b"1")];
        let found = txn.get_many(&keys).await.unwrap();
        assert_eq!(found, [Some("8".into()), None, Some("1".into())]);
        txn.put("bank", b"3", "own".into()).unwrap();
        txn.delete("bank", b"4").unwrap();
        let other = |path: &str, value: &[u8]| {
            let url = up.url(1, &format!("/v1/keyspaces/bank/keys/{path}"));
            eventually("a leader is found", Duration::from_secs(60), || {
                curl_with(&["-X", "PUT", "-d", "@-", &url], value).status == 201
            });
        };
        other("6", b"later");
        // Neither a key nor a page has later writes of others; a page has its own.
        assert_eq!(txn.get("bank", b"6").await.unwrap(), None);
        assert_eq!(txn.get("bank", b"3").await.unwrap(), Some("own".into()));
        let names = |rows: Vec<(Bytes, Bytes)>| -> Vec<String> {
            let names = rows
                .iter()
                .map(|(key, _)| String::from_utf8_lossy(key).into_owned());
            names.collect()
        };
        let all = txn.scan("bank", b"", None, 100).await.unwrap();
        assert_eq!(names(all), ["1", "2", "3", "5", "8"]);
        let some = txn.scan("bank", b"2", Some(b"8"), 2).await.unwrap();
        assert_eq!(names(some), ["2", "3"]);
        // Whoever reads what it writes has it commit later, and then what it has scanned was changed.
        let url = up.url(2, "/v1/keyspaces/bank/keys/3");
        eventually("a leader is found", Duration::from_secs(60), || {
            curl(&[&url]).status == 404
        });
        let refused = txn.commit().await;
        assert!(
            matches!(refused, Err(ClientError::Conflict(_))),
            "{refused:?}"
        );
        assert!(matches!(txn.commit().await, Err(ClientError::Invalid(_))));
        // A scan that ended before the change is as it was.
        let txn = direct.begin();
        assert_eq!(txn.scan("bank", b"1", None, 2).await.unwrap().len(), 2);
        other("7", b"behind");
        txn.put("bank", b"9", "end".into()).unwrap();
        assert!(txn.commit().await.unwrap().is_some());
        let nothing = direct.begin();
        assert_eq!(nothing.commit().await.unwrap(), None);
    });
}

#[test]
fn reads_side_by_side_see_the_same_snapshot() {
    let up = Up::nodes(3);
    bank(&up);
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        // Both keys always have the same value.
        scope.spawn(|| {
            local(async {
                let direct = Client::new(&servers(&up, 1)).unwrap().direct();
                let mut number = 0;
                while !ends.load(Ordering::Relaxed) {
                    number += 1;
                    let both = direct.transact(async |txn| {
                        txn.put("bank", b"1", number.to_string().into())?;
                        txn.put("bank", b"9", number.to_string().into())
                    });
                    both.await.unwrap();
                }
            });
        });
        local(async {
            let direct = Client::new(&servers(&up, 0)).unwrap().direct();
            for _ in 0..100 {
                let txn = direct.begin();
                let (one, other) = tokio::join!(txn.get("bank", b"1"), txn.get("bank", b"9"));
                match (one, other) {
                    (Ok(one), Ok(other)) => assert_eq!(one, other),
                    (Err(error), _) | (_, Err(error)) => assert!(error.is_retryable(), "{error}"),
                }
            }
        });
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn counters_are_exact_beside_clients_over_http() {
    const EACH: usize = 10;
    let up = Up::nodes(3);
    bank(&up);
    let add_by_http = |client: usize| {
        let body = r#"{"writes": [{"keyspace": "bank", "key": "hits", "add": 1}]}"#;
        for _ in 0..EACH {
            eventually("a leader is found", Duration::from_secs(60), || {
                let url = up.url(client % 3, "/v1/txn");
                let answer = curl_with(&["-d", "@-", &url], body.as_bytes());
                let status = answer.status;
                assert!(matches!(status, 200 | 409 | 503), "{}", answer.text());
                status == 200
            });
        }
    };
    let add_directly = |client: usize| {
        local(async {
            let direct = Client::new(&servers(&up, client)).unwrap().direct();
            for _ in 0..EACH {
                let locks = client.is_multiple_of(2);
                let added = direct.transact(async |txn| {
                    let hits = if locks {
                        txn.get_locked("bank", b"hits").await?
                    } else {
                        txn.get("bank", b"hits").await?
                    };
                    let hits = hits.map_or(0, |hits| {
                        String::from_utf8_lossy(&hits).parse::<usize>().unwrap()
                    });
                    txn.put("bank", b"hits", (hits + 1).to_string().into())
                });
                added.await.unwrap();
            }
        });
    };
    thread::scope(|scope| {
        for client in 0..6 {
            let (by_http, directly) = (&add_by_http, &add_directly);
            scope.spawn(move || {
                if client < 2 {
                    by_http(client)
                } else {
                    directly(client)
                }
            });
        }
    });
    let counted = curl(&[&up.url(0, "/v1/keyspaces/bank/keys/hits")]);
    assert_eq!(counted.text(), (6 * EACH).to_string());
}

#[test]
fn keys_of_all_ranges_are_read_beside_a_locked_one() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let direct = Client::new(&servers(&up, 0)).unwrap().direct();
        let keys = ["4", "1", "5", "8", "none", "4"].map(|key| ("bank", key.as_bytes()));
        let first = direct.transact(async |txn| {
            let values = txn.get_many_locked(&keys).await?;
            assert!(values.iter().all(Option::is_none), "{values:?}");
            for key in ["1", "4", "5", "8"] {
                txn.put("bank", key.as_bytes(), key.into())?;
            }
            Ok(())
        });
        first.await.unwrap();
        let read = direct.transact(async |txn| txn.get_many_locked(&keys).await);
        let read = read.await.unwrap().into_iter();
        let read: Vec<_> = read.map(|value| value.map(|v| v.to_vec())).collect();
        let wanted = [Some("4"), Some("1"), Some("5"), Some("8"), None, Some("4")];
        assert_eq!(
            read,
            wanted.map(|value| value.map(|v| v.as_bytes().to_vec()))
        );
    });
}

#[test]
fn an_outcome_is_final_whoever_asks() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let (one, other) = (Raw::at(&up.url(0, ""), ""), Raw::at(&up.url(1, ""), ""));
        let done = commit(None, 1, "1", "a");
        let at = committed(&one, done.clone()).await;
        let outcome = |id| DirectRequest::Outcome {
            id,
            first: key("1"),
        };
        assert_eq!(
            other.ask(outcome(done.id)).await,
            DirectResponse::Committed(at)
        );
        // A repeat happens once.
        assert_eq!(committed(&other, done.clone()).await, at);
        // Another has the same number, and is another.
        let never = DirectCommit {
            id: DirectId {
                ms: done.id.ms + 1,
                ..done.id
            },
            writes: vec![(key("1"), Some("b".into()))],
            ..done
        };
        assert_eq!(other.refused(outcome(never.id)).await.0, 409);
        let late = one.refused(DirectRequest::Commit(never)).await;
        assert_eq!(late.0, 409, "{late:?}");
        assert_eq!(curl(&[&up.url(2, "/v1/keyspaces/bank/keys/1")]).text(), "a");
    });
}

/// What would be unsafe is refused, or done safely.
#[test]
fn a_client_can_do_nothing_to_others() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let (one, other) = (Raw::at(&up.url(0, ""), ""), Raw::at(&up.url(1, ""), ""));
        // A timestamp that was given to somebody else is read at, and nothing commits there.
        let at = timestamp(&one).await;
        let late = committed(&other, commit(Some(at), 1, "1", "a")).await;
        assert!(late > at);
        assert_eq!(committed(&one, commit(Some(at), 2, "5", "b")).await, at);
        let again = committed(&one, commit(Some(at), 3, "9", "c")).await;
        assert!(again > at);
        // Far ahead, it would take all others with it.
        for ahead in [
            Version::new(now_ms() + 86_400_000, 0),
            Version(1 << 63),
            Version::MAX,
        ] {
            for request in [
                read(Some(ahead), &["1"]),
                DirectRequest::Commit(commit(Some(ahead), 4, "1", "x")),
                DirectRequest::Page {
                    at: Some(ahead),
                    span: DirectSpan {
                        keyspace: "bank".to_owned(),
                        start: Bytes::new(),
                        end: None,
                    },
                    limit: 1,
                },
            ] {
                let (status, line) = one.refused(request).await;
                assert_eq!(status, 400, "{line}");
                assert!(line.contains("clock bound"), "{line}");
            }
        }
        assert!(timestamp(&other).await.millis() < now_ms() + 3_600_000);
        let old = one.refused(read(Some(Version(1)), &["1"])).await;
        assert_eq!(old.0, 410, "{old:?}");
        let mut without = commit(None, 5, "1", "x");
        without.reads.push((key("5"), None));
        let mut twice = commit(None, 6, "1", "x");
        twice.writes.push((key("1"), None));
        let mut nothing = commit(None, 7, "1", "x");
        nothing.writes.clear();
        let mut ancient = commit(None, 8, "1", "x");
        ancient.id.ms = 1;
        let many: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let elsewhere = DirectKey {
            keyspace: "elsewhere".into(),
            key: "1".into(),
        };
        let reserved = DirectKey {
            keyspace: "_oracle".into(),
            key: "1".into(),
        };
        let of = |key: DirectKey| DirectRequest::Read {
            at: None,
            lock: false,
            keys: vec![key],
        };
        let locks = |at, names: &[&str]| DirectRequest::Read {
            at,
            lock: true,
            keys: names.iter().map(|name| key(name)).collect(),
        };
        for (request, status, line) in [
            (DirectRequest::Commit(without), 400, "has a timestamp"),
            (DirectRequest::Commit(twice), 400, "written twice"),
            (DirectRequest::Commit(nothing), 400, "nothing is written"),
            (DirectRequest::Commit(ancient), 400, "an id is good for"),
            (read(None, &many), 413, "4096"),
            (of(elsewhere), 404, "no keyspace elsewhere"),
            (of(reserved), 400, "not for users"),
            (read(None, &[""]), 400, "key"),
            (locks(None, &[]), 400, "locks the first key"),
            (locks(Some(at), &["1"]), 400, "locks the first key"),
        ] {
            let refused = one.refused(request).await;
            assert_eq!(refused.0, status, "{refused:?}");
            assert!(refused.1.contains(line), "{refused:?}");
        }
        assert_eq!(curl(&[&up.url(2, "/v1/keyspaces/bank/keys/1")]).text(), "a");
    });
}

#[test]
fn bytes_that_are_no_requests_end_their_connection_alone() {
    let up = Up::nodes(3);
    bank(&up);
    let authority = up.url(0, "").trim_start_matches("http://").to_owned();
    let (mut wrong, _) = upgraded(&authority, "");
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    wrong.read_to_end(&mut rest).unwrap();
    // Half a frame, and then nothing.
    let (mut cut, _) = upgraded(&authority, "");
    cut.write_all(&[200, 0, 0, 0, 1, 2, 3, 4, 0]).unwrap();
    drop(cut);
    for wish in ["dunlin/2", "websocket"] {
        let answer = curl(&[
            "-H",
            "Connection: Upgrade",
            "-H",
            &format!("Upgrade: {wish}"),
            &up.url(0, "/v1/direct"),
        ]);
        assert_eq!(answer.status, 426, "{}", answer.text());
        assert!(answer.text().contains("dunlin/1"), "{}", answer.text());
    }
    local(async {
        let raw = Raw::at(&up.url(0, ""), "");
        committed(&raw, commit(None, 1, "1", "a")).await;
    });
}

#[test]
fn requests_that_arrive_count_in_the_request_memory() {
    let up = Up::with(1, &["--request-memory", "40MiB"]);
    let authority = up.url(0, "").trim_start_matches("http://").to_owned();
    let counted = || up.metric(0, "dunlin_request_memory_bytes") as usize;
    // The length of a frame, and most of it.
    let (bytes, most) = (23 << 20, 22 << 20);
    let mut partial = u32::to_le_bytes(bytes).to_vec();
    partial.resize(most, 7);
    let (mut first, _) = upgraded(&authority, "");
    first.write_all(&partial).unwrap();
    eventually("the first counts", Duration::from_secs(30), || {
        counted() >= bytes as usize
    });
    // There is no room for a second, which is not read on.
    let (mut second, _) = upgraded(&authority, "");
    second
        .set_write_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    assert!(second.write_all(&partial).is_err());
    assert!(counted() < 40 << 20);
    assert_eq!(curl(&[&up.url(0, "/health/live")]).status, 200);
    drop(first);
    drop(second);
    eventually("nothing counts", Duration::from_secs(30), || {
        counted() < 1 << 20
    });
}

#[test]
fn roles_are_those_of_the_moment() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let server = up.url(0, "");
        let early = Raw::at(&server, "");
        committed(&early, commit(None, 1, "1", "a")).await;
        close(&server);
        // Whoever came before there were users is nobody now.
        let nobody = early.refused(read(None, &["1"])).await;
        assert_eq!(nobody.0, 403, "{nobody:?}");
        let login = "tern:password of tern";
        add(ADMIN, &server, login, json!({ "bank": "write" }), false);
        let header = format!("Authorization: Basic {}\r\n", STANDARD.encode(login));
        let tern = Raw::at(&server, &header);
        committed(&tern, commit(None, 2, "1", "b")).await;
        let changed = json!({ "roles": { "bank": "read" } }).to_string();
        let url = up.url(0, "/v1/users/tern");
        let changed = status(ADMIN, "PUT", &url, changed.as_bytes());
        assert!(changed < 300, "{changed}");
        let mut number = 2;
        let refused = loop {
            number += 1;
            match tern
                .ask(DirectRequest::Commit(commit(None, number, "1", "c")))
                .await
            {
                DirectResponse::Committed(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                DirectResponse::Refused(status, line) => break (status, line),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused.0, 403, "{refused:?}");
        assert!(matches!(
            tern.ask(read(None, &["1"])).await,
            DirectResponse::Values(..)
        ));
    });
}
