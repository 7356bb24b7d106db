//! Values that go away by themselves.

use std::time::Duration;

use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

#[test]
fn an_expired_value_is_gone_everywhere() {
    let up = Up::nodes(3);
    let path = "/v1/keyspaces/default/keys/e";
    let mut wires: Vec<Wire> = up.ports.iter().map(|port| Wire::open(*port)).collect();
    let stored = wires[0].request("PUT", &format!("{path}?expires_in=2"), "soon gone");
    assert_eq!(stored.status, 201);
    assert_eq!(
        wires[1].request("PUT", "/v0/entity?id=f", "stays").status,
        201
    );
    for wire in &mut wires {
        assert_eq!(wire.request("GET", path, "").text(), "soon gone");
        assert_eq!(
            wire.request("GET", "/v0/entities?start=e", "").body,
            b"e\nsoon gonef\nstays"
        );
    }
    for wire in &mut wires {
        eventually("the value expires", Duration::from_secs(6), || {
            wire.request("GET", path, "").status == 404
        });
        assert_eq!(wire.request("HEAD", path, "").status, 404);
        assert_eq!(
            wire.request("GET", "/v0/entities?start=e", "").body,
            b"f\nstays"
        );
    }
    let wire = &mut wires[2];
    wire.send(format!(
        "PUT {path} HTTP/1.1\r\nHost: d\r\nIf-None-Match: *\r\nContent-Length: 3\r\n\r\nnew"
    ));
    assert_eq!(wire.answer().status, 201, "an expired key is absent");
    assert_eq!(wire.request("GET", path, "").text(), "new");
    // A put without expiry takes an earlier one away.
    assert_eq!(
        wire.request("PUT", &format!("{path}?expires_in=1"), "x")
            .status,
        201
    );
    assert_eq!(wire.request("PUT", path, "for ever").status, 201);
    std::thread::sleep(Duration::from_millis(1_300));
    assert_eq!(wire.request("GET", path, "").text(), "for ever");
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let up = Up::nodes(1);
    let mut wire = Wire::open(up.ports[0]);
    for time in [
        "0",
        "-1",
        "",
        "soon",
        "1.5",
        "18446744073709551615",
        "99999999999999999999",
    ] {
        let path = format!("/v1/keyspaces/default/keys/e?expires_in={time}");
        assert_eq!(wire.request("PUT", &path, "x").status, 400, "{time}");
    }
    let far = wire.request(
        "PUT",
        "/v1/keyspaces/default/keys/e?expires_in=3155760000",
        "x",
    );
    assert_eq!(far.status, 201);
    assert_eq!(
        wire.request("GET", "/v1/keyspaces/default/keys/e", "")
            .text(),
        "x"
    );
}
