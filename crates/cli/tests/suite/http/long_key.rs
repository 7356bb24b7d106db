//! Keys for which a URI is too short: what bulk takes can be read, overwritten, listed and deleted.

use crate::harness::up::Up;
use crate::harness::wire::Wire;

const PATH: &str = "/v1/keyspaces/default/key";

fn encoded(key: &[u8]) -> String {
    key.iter().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn the_longest_key_is_put_read_listed_and_deleted() {
    let up = Up::nodes(3);
    let key: Vec<u8> = (0..65_536u32).map(|i| (i % 251) as u8).collect();
    let of = format!("Dunlin-Query: key={}\r\n", encoded(&key));
    let at = |port: usize, method: &str, path: &str, headers: &str, body: &[u8]| {
        let mut wire = Wire::open(up.ports[port]);
        wire.try_request_with(method, path, headers, body).unwrap()
    };
    assert_eq!(at(0, "PUT", PATH, &of, b"long").status, 201);
    let found = at(1, "GET", &format!("{PATH}?ack=2"), &of, b"");
    assert_eq!((found.status, &*found.body), (200, &b"long"[..]));
    let version = found.header("dunlin-version").unwrap().to_owned();
    let unless = format!("{of}If-None-Match: \"{version}\"\r\n");
    assert_eq!(at(1, "GET", PATH, &unless, b"").status, 304);
    // A range that begins there.
    let start = format!("Dunlin-Query: start={}&limit=1\r\n", encoded(&key));
    let range = at(2, "GET", "/v1/keyspaces/default/keys", &start, b"");
    assert_eq!(range.status, 200);
    assert!(
        range.text().contains("\"value\":\"long\""),
        "{}",
        range.text()
    );
    assert_eq!(at(2, "DELETE", PATH, &of, b"").status, 202);
    assert_eq!(at(0, "GET", PATH, &of, b"").status, 404);
    let longer = format!("{}%00", of.trim_end()) + "\r\n";
    for (headers, words) in [
        ("", "key is missing"),
        ("Dunlin-Query: key=\r\n", "key is missing"),
        ("Dunlin-Query: key=a&key=b\r\n", "given twice"),
        ("Dunlin-Query: key=a&id=b\r\n", "id is not known"),
        (&longer, "65536"),
    ] {
        let answer = at(0, "PUT", PATH, headers, b"v");
        assert_eq!(answer.status, 400, "{words}");
        assert!(answer.text().contains(words), "{}", answer.text());
    }
}
