//! Puts and deletes on a condition: `If-Match`, `If-None-Match`.

use crate::harness::curl::{curl, curl_with};
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const PATH: &str = "/v1/keyspaces/accounts/keys/c";

/// A cluster with a keyspace that keeps conditions.
fn cluster() -> Up {
    let up = Up::nodes(3);
    let body = br#"{"name": "accounts", "mode": "transactional"}"#;
    let made = curl_with(&["-d", "@-", &up.url(0, "/v1/keyspaces")], body);
    assert_eq!(made.status, 201, "{}", made.text());
    up
}

fn put_if(url: &str, header: &str, value: &str) -> crate::harness::answer::Answer {
    curl_with(
        &["-X", "PUT", "-H", header, "--data-binary", "@-", url],
        value.as_bytes(),
    )
}

#[test]
fn a_condition_decides_whether_a_write_happens() {
    let up = cluster();
    let url = |node| up.url(node, PATH);
    let absent = "If-None-Match: *";
    assert_eq!(
        put_if(&url(0), "If-Match: *", "a").status,
        412,
        "nothing to match yet"
    );
    let first = put_if(&url(0), absent, "a");
    assert_eq!(first.status, 201);
    let refused = put_if(&url(1), absent, "b");
    assert_eq!(refused.status, 412);
    assert_eq!(
        refused.version(),
        first.version(),
        "tells what is in the way"
    );
    let etag = first.header("etag").unwrap().to_owned();
    assert_eq!(etag, format!("\"{}\"", first.version()));
    let second = put_if(&url(2), &format!("If-Match: {etag}"), "b");
    assert_eq!(second.status, 201);
    assert_eq!(
        put_if(&url(1), &format!("If-Match: {etag}"), "c").status,
        412,
        "read before the last put"
    );
    assert_eq!(
        put_if(&url(1), &format!("If-Match: {}", second.version()), "d").status,
        201,
        "without quotes"
    );
    assert_eq!(put_if(&url(0), "If-Match: *", "e").status, 201);
    assert_eq!(curl(&[&url(2)]).text(), "e");
    let delete_if = |header: &str| curl(&["-X", "DELETE", "-H", header, &url(0)]).status;
    assert_eq!(delete_if(&format!("If-Match: {etag}")), 412);
    let current = curl(&[&url(1)]).version().to_owned();
    assert_eq!(delete_if(&format!("If-Match: \"{current}\"")), 202);
    assert_eq!(curl(&[&url(2)]).status, 404);
    assert_eq!(delete_if("If-Match: *"), 412);
    assert_eq!(
        put_if(&url(1), &format!("If-Match: {current}"), "f").status,
        412
    );
    assert_eq!(
        put_if(&url(1), absent, "g").status,
        201,
        "a deleted key is absent"
    );
    for header in [
        "If-Match: nonsense",
        "If-Match:  \"\"",
        "If-None-Match: \"1-1\"",
    ] {
        assert_eq!(put_if(&url(0), header, "x").status, 400, "{header}");
    }
    let both = [
        "-X",
        "PUT",
        "-H",
        absent,
        "-H",
        "If-Match: *",
        "-d",
        "x",
        &url(0),
    ];
    assert_eq!(curl(&both).status, 400);
    assert_eq!(curl(&[&url(0)]).text(), "g");
}

#[test]
fn other_keyspaces_take_no_conditions() {
    let up = Up::nodes(3);
    let url = up.url(0, "/v1/keyspaces/default/keys/c");
    for header in ["If-Match: *", "If-None-Match: *"] {
        let refused = put_if(&url, header, "a");
        assert_eq!(refused.status, 400);
        assert!(
            refused.text().contains("--mode transactional"),
            "{}",
            refused.text()
        );
        let delete = ["-X", "DELETE", "-H", header, &url];
        assert_eq!(curl(&delete).status, 400);
    }
    assert_eq!(curl(&[&url]).status, 404);
}

fn request_if(wire: &mut Wire, header: &str, value: &str) -> u16 {
    let length = value.len();
    wire.send(format!(
        "PUT {PATH} HTTP/1.1\r\nHost: d\r\n{header}\r\nContent-Length: {length}\r\n\r\n{value}"
    ));
    wire.answer().status
}

#[test]
fn of_many_that_race_to_create_one_wins() {
    let up = cluster();
    for round in 0..5 {
        let path = format!("/v1/keyspaces/accounts/keys/c{round}");
        let won: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..9)
                .map(|racer| {
                    let (path, port) = (&path, up.ports[racer % 3]);
                    scope.spawn(move || {
                        let mut wire = Wire::open(port);
                        wire.send(format!(
                            "PUT {path} HTTP/1.1\r\nHost: d\r\nIf-None-Match: *\r\nContent-Length: 1\r\n\r\n{racer}"
                        ));
                        let status = wire.answer().status;
                        assert!([201, 412].contains(&status), "{status}");
                        usize::from(status == 201)
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(won, 1, "round {round}");
    }
}

#[test]
fn no_increment_is_lost_among_clients_of_different_nodes() {
    let up = cluster();
    let mut wire = Wire::open(up.ports[0]);
    assert_eq!(wire.request("PUT", PATH, "0").status, 201);
    let done: u64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let port = up.ports[client % 3];
                scope.spawn(move || {
                    let mut wire = Wire::open(port);
                    let mut done = 0;
                    while done < 25 {
                        let read = wire.request("GET", PATH, "");
                        let next = read.text().parse::<u64>().unwrap() + 1;
                        let header = format!("If-Match: \"{}\"", read.version());
                        match request_if(&mut wire, &header, &next.to_string()) {
                            201 => done += 1,
                            412 => {}
                            status => panic!("{status}"),
                        }
                    }
                    done
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    assert_eq!(wire.request("GET", PATH, "").text(), done.to_string());
}
