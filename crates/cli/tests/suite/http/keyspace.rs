//! `/v1/keyspaces`: made, listed, described, dropped; their keys apart from each other's.

use serde_json::json;

use crate::harness::up::Up;
use crate::harness::wire::Wire;

#[test]
fn keyspaces_are_made_listed_described_and_dropped() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    let body = json!({"name": "birds", "replicas": 2, "partitions": 16, "sync": "never"});
    let made = wire.request("POST", "/v1/keyspaces", body.to_string());
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.json()["name"], "birds");
    assert_eq!(made.json()["settings"]["replicas"], 2);
    assert_eq!(made.json()["settings"]["sync"], "never");
    assert_eq!(
        wire.request("POST", "/v1/keyspaces", body.to_string())
            .status,
        409
    );
    for port in &up.ports {
        let mut wire = Wire::open(*port);
        let list = wire.request("GET", "/v1/keyspaces", "").json();
        let names: Vec<&str> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|k| k["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 2);
        assert!(
            names.contains(&"birds") && names.contains(&"default"),
            "{names:?}"
        );
        let described = wire.request("GET", "/v1/keyspaces/birds", "");
        assert_eq!(described.status, 200);
        assert_eq!(described.json(), made.json());
        assert_eq!(wire.request("GET", "/v1/keyspaces/none", "").status, 404);
        assert_eq!(wire.request("DELETE", "/v1/keyspaces/none", "").status, 404);
        // The same key of two keyspaces is two keys.
        let path = "/v1/keyspaces/birds/keys/a";
        assert_eq!(wire.request("PUT", path, "knot").status, 201);
        assert_eq!(wire.request("GET", path, "").text(), "knot");
        assert_eq!(wire.request("GET", "/v0/entity?id=a", "").status, 404);
        // Two replicas of three nodes: from may still ask for the third, not a fourth.
        assert_eq!(
            wire.request("GET", &format!("{path}?from=3"), "").status,
            200
        );
        assert_eq!(
            wire.request("GET", &format!("{path}?from=4"), "").status,
            400
        );
        assert_eq!(
            wire.request("GET", &format!("{path}?ack=3"), "").status,
            400
        );
    }
    assert_eq!(
        wire.request("DELETE", "/v1/keyspaces/birds", "").status,
        204
    );
    assert_eq!(wire.request("GET", "/v1/keyspaces/birds", "").status, 404);
    for method in ["GET", "PUT", "DELETE"] {
        let answer = wire.request(method, "/v1/keyspaces/birds/keys/a", "x");
        assert_eq!(answer.status, 404, "{method}");
        assert!(answer.json()["error"].is_string());
    }
    let again = wire.request("POST", "/v1/keyspaces", body.to_string());
    assert_eq!(again.status, 201);
    assert_ne!(again.json()["id"], made.json()["id"]);
    assert_eq!(
        wire.request("GET", "/v1/keyspaces/birds/keys/a", "").status,
        404,
        "its data is gone"
    );
}

#[test]
fn settings_that_make_no_sense_are_refused_with_a_reason() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    for body in [
        "",
        "{",
        "[]",
        "\"birds\"",
        "{}",
        r#"{"name": 5}"#,
        r#"{"name": ""}"#,
        r#"{"name": "a/b"}"#,
        r#"{"name": "b", "replicas": 0}"#,
        r#"{"name": "b", "replicas": 17}"#,
        r#"{"name": "b", "replicas": 300}"#,
        r#"{"name": "b", "replicas": "3"}"#,
        r#"{"name": "b", "partitions": 3}"#,
        r#"{"name": "b", "partitions": 0}"#,
        r#"{"name": "b", "partitions": 8192}"#,
        r#"{"name": "b", "sync": "often"}"#,
        r#"{"name": "b", "sync": "interval:0ms"}"#,
        r#"{"name": "b", "mode": "transactional", "replicas": 2}"#,
        r#"{"name": "b", "mode": "serial"}"#,
        r#"{"name": "b", "tombstone_grace_s": -1}"#,
        r#"{"name": "b", "replicsa": 3}"#,
    ] {
        let answer = wire.request("POST", "/v1/keyspaces", body);
        assert_eq!(answer.status, 400, "{body}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.lines().count() == 1 && error.len() > 10,
            "{body}: {error:?}"
        );
    }
    let long = format!(r#"{{"name": "{}"}}"#, "n".repeat(1_000));
    assert_eq!(wire.request("POST", "/v1/keyspaces", long).status, 400);
    let padded = format!("{}{{\"name\": \"b\"}}", " ".repeat(100 << 10));
    assert_eq!(wire.request("POST", "/v1/keyspaces", padded).status, 413);
    let mut wire = Wire::open(up.ports[0]);
    for (method, path) in [
        ("PUT", "/v1/keyspaces"),
        ("DELETE", "/v1/keyspaces"),
        ("PUT", "/v1/keyspaces/default"),
        ("POST", "/v1/keyspaces/default"),
        ("POST", "/v1/keyspaces/default/keys/a"),
        ("PATCH", "/v1/keyspaces/default/keys/a"),
    ] {
        assert_eq!(
            wire.request(method, path, "").status,
            405,
            "{method} {path}"
        );
    }
    assert_eq!(
        wire.request("GET", "/v1/keyspaces/default/keys/", "")
            .status,
        400,
        "an empty key"
    );
    assert_eq!(wire.request("GET", "/v1/keyspaces/%FF", "").status, 400);
    let list = wire.request("GET", "/v1/keyspaces", "").json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
}

#[test]
fn more_replicas_than_nodes_wait_for_the_nodes() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    let body = json!({"name": "wide", "replicas": 5});
    assert_eq!(
        wire.request("POST", "/v1/keyspaces", body.to_string())
            .status,
        201
    );
    let path = "/v1/keyspaces/wide/keys/a";
    // A majority of five is three, and three there are.
    assert_eq!(wire.request("PUT", path, "x").status, 201);
    assert_eq!(wire.request("GET", path, "").text(), "x");
    let too_many = wire.request("PUT", &format!("{path}?ack=4"), "x");
    assert!([400, 504].contains(&too_many.status), "{too_many:?}");
}

#[test]
fn a_restart_finds_keyspaces_and_keys() {
    let data = tempfile::tempdir().unwrap();
    for start in 0..3 {
        let mut up = Up::on(data.path(), 3);
        let mut wire = Wire::open(up.ports[start]);
        if start == 0 {
            let body = json!({"name": "kept"}).to_string();
            assert_eq!(wire.request("POST", "/v1/keyspaces", body).status, 201);
        }
        for earlier in 0..start {
            let path = format!("/v1/keyspaces/kept/keys/{earlier}");
            assert_eq!(
                wire.request("GET", &path, "").text(),
                format!("start {earlier}")
            );
        }
        let path = format!("/v1/keyspaces/kept/keys/{start}");
        assert_eq!(
            wire.request("PUT", &path, format!("start {start}")).status,
            201
        );
        assert_eq!(up.process.stop(), Some(0), "{}", up.process.output());
        let output = up.process.output();
        assert!(
            !output.contains("ERROR"),
            "a clean stop is no error: {output}"
        );
    }
}
