//! What the browser of a page is told that another server sent.

use crate::harness::up::Up;
use crate::harness::wire::Wire;

const KEY: &str = "/v1/keyspaces/default/keys/k";
const PAGE: &str = "https://app.example.net";

#[test]
fn the_page_of_a_named_origin_may_use_it_and_no_other() {
    let up = Up::with(
        1,
        &["--cors-origin", PAGE, "--cors-origin", "http://[::1]:3000"],
    );
    let mut wire = Wire::open(up.ports[0]);
    let asks =
        "Access-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: dunlin-deadline\r\n";
    for (origin, allowed) in [
        (PAGE, Some(PAGE)),
        ("http://[::1]:3000", Some("http://[::1]:3000")),
        ("https://other.example.net", None),
    ] {
        let of = format!("Origin: {origin}\r\n");
        let answer = wire
            .try_request_with("OPTIONS", KEY, &(of.clone() + asks), b"")
            .unwrap();
        assert_eq!(answer.status, 204);
        assert_eq!(answer.header("access-control-allow-origin"), allowed);
        let methods = answer.header("access-control-allow-methods");
        assert_eq!(
            methods.is_some_and(|m| m.contains("PUT") && !m.contains("POST")),
            allowed.is_some()
        );
        // What is refused is told to the page too, with why.
        for (method, path, status) in [
            ("PUT", KEY, 201),
            ("GET", KEY, 200),
            ("GET", "/v1/none", 404),
        ] {
            let answer = wire.try_request_with(method, path, &of, b"v").unwrap();
            assert_eq!(answer.status, status);
            assert_eq!(
                answer.header("access-control-allow-origin"),
                allowed,
                "{method} {path}"
            );
            assert_eq!(answer.header("vary"), Some("origin"));
        }
    }
}

#[test]
fn a_page_that_is_not_named_changes_nothing_unasked() {
    let up = Up::with(1, &["--cors-origin", PAGE]);
    let mut wire = Wire::open(up.ports[0]);
    let plain = "Content-Type: text/plain\r\n";
    let made = |name: &str| format!("{{\"name\":\"{name}\",\"replicas\":1}}");
    for (origin, status) in [
        ("Origin: https://evil.example.net\r\n", 403),
        ("Origin: null\r\n", 403),
        ("", 201),
        ("Origin: https://app.example.net\r\n", 201),
    ] {
        let name = format!("k{}", origin.len());
        let headers = format!("{origin}{plain}");
        let answer = wire
            .try_request_with("POST", "/v1/keyspaces", &headers, made(&name))
            .unwrap();
        assert_eq!(answer.status, status, "{origin}: {}", answer.text());
        let found = wire
            .request("GET", &format!("/v1/keyspaces/{name}"), b"")
            .status;
        assert_eq!(found == 200, status == 201, "{origin}");
    }
}

#[test]
fn without_the_setting_nothing_is_said_of_origins() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    let of = format!("Origin: {PAGE}\r\nAccess-Control-Request-Method: PUT\r\n");
    for method in ["OPTIONS", "PUT", "GET"] {
        let answer = wire.try_request_with(method, KEY, &of, b"v").unwrap();
        assert!(answer.status < 300, "{method}: {answer:?}");
        for name in [
            "access-control-allow-origin",
            "access-control-allow-methods",
            "vary",
        ] {
            assert_eq!(answer.header(name), None, "{method}");
        }
    }
}
