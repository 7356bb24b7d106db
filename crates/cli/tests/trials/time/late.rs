//! A node is stopped with a request in its socket; the client goes on elsewhere, a later write is
//! acknowledged, the node goes on: the later value stays.

use std::time::{Duration, SystemTime};

use dunlin_client::{Client, WriteOptions};

use crate::harness::answer::Answer;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::wire::Wire;

const ROUNDS: usize = 10;
/// Above the second from which on a stall counts.
const STOP: Duration = Duration::from_millis(1_300);
/// For what a node that goes on does at once.
const SETTLE: Duration = Duration::from_millis(300);

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}

fn path(key: &str) -> String {
    format!("/v1/keyspaces/default/keys/{key}")
}

fn send(wire: &mut Wire, key: &str, headers: &str, value: &str) {
    wire.send(format!(
        "PUT {} HTTP/1.1\r\nHost: d\r\n{headers}Content-Length: {}\r\n\r\n{value}",
        path(key),
        value.len()
    ));
}

fn put(flock: &Flock, node: usize, key: &str, headers: &str, value: &str) -> Answer {
    let mut wire = flock.nodes[node].wire();
    send(&mut wire, key, headers, value);
    wire.answer()
}

fn written(flock: &Flock, node: usize, key: &str, headers: &str, value: &str) -> Answer {
    let answer = put(flock, node, key, headers, value);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer
}

fn assert_everywhere(flock: &Flock, key: &str, value: &str) {
    for node in &flock.nodes {
        for query in ["", "?ack=1", "?ack=3"] {
            let got = node.request("GET", &(path(key) + query), b"");
            assert_eq!(got.text(), value, "{key} at {}{query}", node.name);
        }
    }
}

#[test]
fn what_waited_in_the_socket_of_a_stopped_node_does_not_come_back() {
    let flock = Flock::start(&[]);
    let stopped = flock.nodes[1].process();
    for round in 0..ROUNDS {
        let [plain, fresh, due] = ["plain", "fresh", "due"].map(|name| format!("{name}-{round}"));
        let mut open = flock.nodes[1].wire();
        assert_eq!(open.request("GET", &path(&plain), "").status, 404);
        let mut timed = flock.nodes[1].wire();
        stopped.freeze();
        // A request without headers over a connection there was, and over one in the backlog.
        send(&mut open, &plain, "", "early");
        let mut backlog = flock.nodes[1].wire();
        send(&mut backlog, &fresh, "", "early");
        let deadline = format!("Dunlin-Deadline: {}\r\n", now_ms() + 500);
        send(&mut timed, &due, &deadline, "early");
        for key in [&plain, &fresh, &due] {
            written(&flock, 0, key, "", "second");
            written(&flock, 2, key, "", "later");
        }
        std::thread::sleep(STOP);
        stopped.signal("-CONT");
        for waited in [&mut open, &mut backlog] {
            let answer = waited.answer();
            assert_eq!(answer.status, 503, "round {round}: {}", answer.text());
            assert_eq!(answer.header("retry-after"), Some("1"));
            assert_eq!(answer.header("connection"), Some("close"));
        }
        let answer = timed.answer();
        assert_eq!(answer.status, 408, "round {round}: {}", answer.text());
        assert!(answer.text().contains("nothing was written"));
        std::thread::sleep(SETTLE);
        for key in [&plain, &fresh, &due] {
            assert_everywhere(&flock, key, "later");
        }
        // It is back: new connections are served.
        written(&flock, 1, &plain, "", "after");
        std::thread::sleep(SETTLE);
        assert_everywhere(&flock, &plain, "after");
    }
}

#[test]
fn an_attempt_given_up_before_its_deadline_is_stamped_below_what_followed() {
    let flock = Flock::start(&[]);
    let stopped = flock.nodes[1].process();
    for round in 0..ROUNDS {
        let key = format!("key-{round}");
        let mut open = flock.nodes[1].wire();
        assert_eq!(open.request("GET", &path(&key), "").status, 404);
        stopped.freeze();
        let deadline_ms = now_ms() + 3_000;
        let deadline = format!("Dunlin-Deadline: {deadline_ms}\r\n");
        send(&mut open, &key, &deadline, "early");
        let after = format!("Dunlin-After: {deadline_ms}\r\n");
        let second = written(&flock, 0, &key, &after, "second");
        let stamped_ms = u64::from_str_radix(&second.version()[..12], 16).unwrap();
        assert!(stamped_ms >= deadline_ms, "{stamped_ms} {deadline_ms}");
        // Without headers, by another client: it is stamped above what was acknowledged.
        written(&flock, 2, &key, "", "later");
        stopped.signal("-CONT");
        // It may be stamped in time, below the others. Then it lost, and is not stamped again: not
        // known. Beyond its deadline nothing was written.
        let answer = open.answer();
        assert!([504, 408].contains(&answer.status), "{}", answer.status);
        std::thread::sleep(SETTLE);
        assert_everywhere(&flock, &key, "later");
    }
}

#[test]
fn our_client_sends_deadlines_and_floors() {
    let flock = Flock::start(&[]);
    let stopped = flock.nodes[1].process();
    let servers = [1, 0].map(|node: usize| format!("http://{}", flock.nodes[node].address()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for round in 0..ROUNDS {
        let key = format!("key-{round}");
        let client = Client::with_timeout(&servers.join(","), Duration::from_millis(600)).unwrap();
        let keyspace = client.keyspace("default");
        let options = WriteOptions::default();
        let put = |value: &'static str| {
            let put = keyspace.put(key.as_bytes(), value.into(), &options);
            runtime.block_on(put).unwrap()
        };
        put("before");
        stopped.freeze();
        // The first attempt waits in the stopped node, the second is acknowledged by the other.
        put("early");
        written(&flock, 2, &key, "", "later");
        stopped.signal("-CONT");
        std::thread::sleep(SETTLE);
        assert_everywhere(&flock, &key, "later");
    }
}

/// The node that is asked hands the write to another, which is stopped, and then to a third.
#[test]
fn the_second_attempt_of_a_coordinator_is_above_the_first() {
    let flock = Flock::start(&[]);
    let settings = br#"{"name": "two", "replicas": 2}"#;
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", settings);
    assert_eq!(made.status, 201, "{}", made.text());
    std::thread::sleep(SETTLE);
    let path = |key: usize| format!("/v1/keyspaces/two/keys/k{key}?ack=1");
    let keys = 0..24;
    let stopped = flock.nodes[1].process();
    stopped.freeze();
    let put_all = |node: usize, value: &str| {
        std::thread::scope(|scope| {
            for key in keys.clone() {
                let (flock, path) = (&flock, &path);
                scope.spawn(move || {
                    let put = flock.nodes[node].request("PUT", &path(key), value.as_bytes());
                    assert_eq!(put.status, 201, "{}", put.text());
                });
            }
        });
    };
    put_all(0, "early");
    put_all(2, "later");
    stopped.signal("-CONT");
    std::thread::sleep(SETTLE * 3);
    for key in keys.clone() {
        for node in &flock.nodes {
            let got = node.request("GET", &path(key).replace("ack=1", "ack=2"), b"");
            assert_eq!(got.text(), "later", "{key} at {}", node.name);
        }
    }
}

#[test]
fn nothing_slips_through_on_many_connections() {
    const CONNECTIONS: usize = 400;
    let flock = Flock::start(&[]);
    let stopped = flock.nodes[1].process();
    let mut open: Vec<Wire> = Vec::new();
    for number in 0..CONNECTIONS / 2 {
        let mut wire = flock.nodes[1].wire();
        let key = path(&format!("k{number}"));
        assert_eq!(wire.request("GET", &key, "").status, 404);
        open.push(wire);
    }
    stopped.freeze();
    while open.len() < CONNECTIONS {
        // In the backlog; what does not fit in there waits in the client's machine.
        match Wire::try_open_at(flock.nodes[1].address()) {
            Ok(wire) => open.push(wire),
            Err(_) => break,
        }
    }
    assert!(open.len() > CONNECTIONS / 2 + 50, "{}", open.len());
    for (number, wire) in open.iter_mut().enumerate() {
        send(wire, &format!("k{number}"), "", "early");
    }
    let mut other = flock.nodes[0].wire();
    for number in 0..open.len() {
        let put = other.request("PUT", &path(&format!("k{number}")), "later");
        assert_eq!(put.status, 201);
    }
    std::thread::sleep(STOP);
    stopped.signal("-CONT");
    for (number, wire) in open.iter_mut().enumerate() {
        let answer = wire.answer();
        assert_eq!(answer.status, 503, "{number}: {}", answer.text());
    }
    std::thread::sleep(SETTLE);
    for number in 0..open.len() {
        let got = other.request("GET", &path(&format!("k{number}")), "");
        assert_eq!(got.text(), "later", "{number}");
    }
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let flock = Flock::start(&[]);
    let now_ms = now_ms();
    let hour_ms = 3_600_000;
    for (headers, status, says) in [
        (
            "Dunlin-Deadline: soon\r\n".to_owned(),
            400,
            "milliseconds since 1970",
        ),
        (
            format!("Dunlin-Deadline: {}\r\n", 1_u64 << 48),
            400,
            "milliseconds",
        ),
        (
            format!("Dunlin-Deadline: {}\r\n", now_ms + 2 * hour_ms),
            400,
            "Dunlin-Time",
        ),
        (
            format!("Dunlin-Deadline: {}\r\n", now_ms - 1_000),
            408,
            "nothing was written",
        ),
        (
            format!("Dunlin-After: {}\r\n", now_ms + hour_ms),
            400,
            "--clock-bound",
        ),
        (
            format!("Dunlin-After: {}\r\n", now_ms + 30_000),
            503,
            "wait until it is not",
        ),
        (
            format!(
                "Dunlin-After: {0}\r\nDunlin-Deadline: {0}\r\n",
                now_ms + 2_000
            ),
            400,
            "above Dunlin-After",
        ),
        (
            format!("Dunlin-Deadline: {}\r\n", now_ms + hour_ms / 2),
            201,
            "",
        ),
        (format!("Dunlin-After: {}\r\n", now_ms + 2_000), 201, ""),
    ] {
        let answer = put(&flock, 0, "key", &headers, "value");
        assert_eq!(answer.status, status, "{headers} {}", answer.text());
        assert!(answer.text().contains(says), "{headers} {}", answer.text());
        let time_ms: u64 = answer.header("dunlin-time").unwrap().parse().unwrap();
        assert!(time_ms.abs_diff(now_ms) < 20_000);
    }
    // Bodies of many pairs are told the same.
    let body = [0_u8; 4];
    let mut wire = flock.nodes[0].wire();
    for (deadline_ms, status) in [(now_ms - 1_000, 408), (now_ms + hour_ms / 2, 200)] {
        wire.send(format!(
            "POST /v1/keyspaces/default/bulk HTTP/1.1\r\nHost: d\r\nDunlin-Deadline: {deadline_ms}\r\nContent-Type: application/vnd.dunlin.pairs\r\nContent-Length: 4\r\n\r\n"
        ));
        wire.send(body);
        assert_eq!(wire.answer().status, status);
    }
}

#[test]
fn what_waited_in_the_backlog_of_a_starting_node_does_not_come_back() {
    let mut flock = Flock::start(&[]);
    flock.stop(1);
    // A start without an answer from etcd takes some seconds, and its door is there already.
    flock.etcd.process().freeze();
    flock.spawn(1);
    let address = flock.nodes[1].address();
    let mut early = None;
    eventually("its port is open", Duration::from_secs(20), || {
        early = Wire::try_open_at(address).ok();
        early.is_some()
    });
    let mut early = early.unwrap();
    send(&mut early, "start", "", "early");
    std::thread::sleep(STOP);
    written(&flock, 0, "start", "", "later");
    let answer = early.answer();
    assert_eq!(answer.status, 503, "{}", answer.text());
    flock.etcd.process().signal("-CONT");
    flock.ready(1);
    std::thread::sleep(SETTLE);
    assert_everywhere(&flock, "start", "later");
}

/// A refusal that is definite is no attempt given up: stamps are not pushed ahead by it.
#[test]
fn what_too_few_replicas_refuse_at_once_does_not_push_stamps_ahead() {
    let mut flock = Flock::start(&[]);
    flock.stop(1);
    flock.stop(2);
    eventually("it knows that nobody is there", STOP * 8, || {
        let answer = put(&flock, 0, "refused", "", "value");
        (answer.status, answer.header("dunlin-written")) == (504, Some("no"))
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = Client::new(&format!("http://{}", flock.nodes[0].address())).unwrap();
    let store = client.keyspace("default");
    runtime.block_on(async {
        for n in 0..30 {
            let value = bytes::Bytes::from_static(b"v");
            let options = WriteOptions::default();
            let key = format!("k{n}");
            let put = store.put(key.as_bytes(), value, &options);
            let error = put.await.unwrap_err();
            assert!(error.is_retryable(), "{error}");
        }
    });
    flock.spawn(1);
    flock.ready(1);
    runtime.block_on(async {
        let value = bytes::Bytes::from_static(b"v");
        eventually_async(async || {
            let options = WriteOptions::default();
            let put = store.put(b"later", value.clone(), &options);
            put.await.is_ok()
        })
        .await;
    });
    let answer = written(&flock, 0, "stamped", "", "value");
    let time_ms: u64 = answer.header("dunlin-time").unwrap().parse().unwrap();
    assert!(time_ms < now_ms() + 1_000, "{time_ms}");
}

async fn eventually_async(tried: impl AsyncFn() -> bool) {
    for _ in 0..200 {
        if tried().await {
            return;
        }
        tokio::time::sleep(SETTLE / 3).await;
    }
    panic!("never");
}

#[test]
fn a_drop_that_waited_in_the_socket_of_a_stopped_node_is_not_carried_out() {
    let flock = Flock::start(&[]);
    let made = flock.nodes[0].request("POST", "/v1/keyspaces", br#"{"name": "birds"}"#);
    assert_eq!(made.status, 201);
    let stopped = flock.nodes[1].process();
    let mut open = flock.nodes[1].wire();
    assert_eq!(open.request("GET", "/health/live", "").status, 200);
    stopped.freeze();
    open.send("DELETE /v1/keyspaces/birds HTTP/1.1\r\nHost: d\r\n\r\n");
    std::thread::sleep(STOP);
    stopped.signal("-CONT");
    let answer = open.answer();
    assert_eq!(answer.status, 503, "{}", answer.text());
    let kept = flock.nodes[0].request("GET", "/v1/keyspaces/birds", b"");
    assert_eq!(kept.status, 200);
}
