//! `dunlin up` with other numbers of nodes.

use std::time::Duration;

use crate::harness::eventually;
use crate::harness::up::Up;
use crate::support::{dunlin, run};

fn at(up: &Up, arguments: &[&str]) -> crate::support::Ended {
    let mut command = dunlin(arguments);
    command.env("DUNLIN_SERVER", up.url(0, ""));
    command.output().unwrap().into()
}

fn members(up: &Up) -> serde_json::Value {
    at(up, &["node", "list", "--json"]).ok().json()
}

#[test]
fn all_nodes_of_a_first_start_hold_data_when_the_banner_comes() {
    for count in [2, 4, 5] {
        let up = Up::nodes(count);
        let members = members(&up);
        assert_eq!(
            members["members"].as_array().unwrap().len(),
            usize::from(count)
        );
        assert!(members["change"].is_null(), "{members}");
        assert!(
            !up.process.output().contains("dunlin node"),
            "{}",
            up.process.output()
        );
    }
}

#[test]
fn more_nodes_take_over_a_share_and_drained_ones_stay_out() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let mut up = Up::on(&data, 3);
    for number in 0..50 {
        let key = format!("k{number}");
        at(&up, &["put", &key, &key]).ok();
    }
    assert_eq!(up.process.stop(), Some(0));

    let mut up = Up::on(&data, 5);
    let line = "n4 and n5 take over a share of the data now";
    assert!(
        up.process.output().contains(line),
        "{}",
        up.process.output()
    );
    eventually("all hold data", Duration::from_secs(60), || {
        let members = members(&up);
        members["change"].is_null() && members["members"].as_array().unwrap().len() == 5
    });
    for number in 0..50 {
        let key = format!("k{number}");
        assert_eq!(at(&up, &["get", &key, "--ack", "3"]).ok().text(), key);
    }
    at(&up, &["node", "drain", "n5"]).ok();
    assert_eq!(up.process.stop(), Some(0));

    let port = up.ports[0].to_string();
    let data_text = data.to_str().unwrap();
    let fewer = run(&[
        "up",
        "--nodes",
        "3",
        "--http-port",
        &port,
        "--data",
        data_text,
    ]);
    let line = fewer.complaint(1);
    assert!(
        line.contains("n4 holds data, too: start with more --nodes"),
        "{line}"
    );

    let mut up = Up::on(&data, 5);
    let line = "n5 holds no data yet: dunlin node add n5";
    assert!(
        up.process.output().contains(line),
        "{}",
        up.process.output()
    );
    assert_eq!(members(&up)["spare"], serde_json::json!(["n5"]));
    assert_eq!(up.process.stop(), Some(0));

    // Without the one that holds nothing.
    let up = Up::on(&data, 4);
    for number in 0..50 {
        let key = format!("k{number}");
        assert_eq!(at(&up, &["get", &key, "--ack", "3"]).ok().text(), key);
    }
}
