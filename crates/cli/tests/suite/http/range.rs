//! `/v0/entities` and `/v1/keyspaces/{name}/keys`: ranges over the whole cluster.

use std::collections::BTreeMap;

use crate::harness::percent;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

fn records(answer: &crate::harness::answer::Answer) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pair = |chunk: &Vec<u8>| {
        let end = chunk
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("no newline");
        (chunk[..end].to_vec(), chunk[end + 1..].to_vec())
    };
    answer.chunks.iter().map(pair).collect()
}

#[test]
fn a_range_is_ordered_whole_and_the_same_on_every_node() {
    let up = Up::nodes(3);
    let mut wires: Vec<Wire> = up.ports.iter().map(|port| Wire::open(*port)).collect();
    let mut expected = BTreeMap::new();
    for number in 0..3_000_u32 {
        let mixed = number.wrapping_mul(2_654_435_761);
        let key = match number % 4 {
            0 => format!("k{mixed}"),
            1 => format!("k/{}/{number}", mixed % 7),
            2 => format!("ü{mixed:x}"),
            _ => format!("k{number:06}"),
        };
        let value = format!("{mixed}\n").repeat((number % 5) as usize);
        let path = format!("/v0/entity?id={}", percent(&key));
        let wire = &mut wires[number as usize % 3];
        assert_eq!(wire.request("PUT", &path, &value).status, 201);
        expected.insert(key.into_bytes(), value.into_bytes());
    }
    // Some are deleted, some of those put again.
    let keys: Vec<Vec<u8>> = expected.keys().cloned().collect();
    for (at, key) in keys.iter().enumerate().step_by(3) {
        let path = format!("/v0/entity?id={}", percent(key));
        assert_eq!(wires[at % 2].request("DELETE", &path, "").status, 202);
        expected.remove(key);
        if at % 2 == 0 {
            assert_eq!(wires[2].request("PUT", &path, "back").status, 201);
            expected.insert(key.clone(), b"back".to_vec());
        }
    }
    let (low, high) = (keys[100].clone(), keys[2_000].clone());
    let cases = [
        (b"\x01".to_vec(), None),
        (low.clone(), Some(high.clone())),
        (low.clone(), Some([&low[..], b"\0"].concat())),
        (keys[1_000].clone(), None),
        (b"k/".to_vec(), Some(b"k0".to_vec())),
        ("ü".as_bytes().to_vec(), Some(b"\xff\xff".to_vec())),
    ];
    for (start, end) in cases {
        let query = match &end {
            Some(end) => format!("?start={}&end={}", percent(&start), percent(end)),
            None => format!("?start={}", percent(&start)),
        };
        let wanted: Vec<(Vec<u8>, Vec<u8>)> = expected
            .range(start..)
            .take_while(|(key, _)| end.as_ref().is_none_or(|end| *key < end))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for wire in &mut wires {
            let answer = wire.request("GET", &format!("/v0/entities{query}"), "");
            assert_eq!(answer.status, 200);
            assert!(
                records(&answer) == wanted,
                "{query}: other records than were put"
            );
        }
    }
}

#[test]
fn an_empty_range_has_no_body_and_a_missing_start_is_refused() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[2]);
    let get =
        |wire: &mut Wire, query: &str| wire.request("GET", &format!("/v0/entities{query}"), "");
    assert_eq!(get(&mut wire, "?start=a").status, 200);
    for key in ["m", "n", "o"] {
        let path = format!("/v0/entity?id={key}");
        assert_eq!(wire.request("PUT", &path, key).status, 201);
    }
    for query in [
        "?start=a&end=m",
        "?start=p",
        "?start=n&end=n",
        "?start=o&end=m",
    ] {
        let answer = get(&mut wire, query);
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{query}");
    }
    assert_eq!(get(&mut wire, "?start=m&end=o").body, b"m\nmn\nn");
    assert_eq!(
        get(&mut wire, "?start=n&end=").body,
        b"n\nno\no",
        "an empty end is no end"
    );
    for query in ["", "?", "?start", "?start=", "?end=z", "?start=&end=z"] {
        let answer = get(&mut wire, query);
        assert_eq!(answer.status, 400, "{query}");
    }
    for query in ["?start=a&ack=0", "?start=a&from=4", "?start=a&ack=2&from=1"] {
        assert_eq!(get(&mut wire, query).status, 400, "{query}");
    }
    let head = wire.request("HEAD", "/v0/entities?start=a", "");
    assert_eq!(head.status, 200);
    assert_eq!(wire.request("DELETE", "/v0/entity?id=n", "").status, 202);
    assert_eq!(get(&mut wire, "?start=m").body, b"m\nmo\no");
}

#[test]
fn lines_of_json_carry_text_bytes_and_versions() {
    let up = Up::nodes(3);
    let mut wire = Wire::open(up.ports[0]);
    let keys: [&[u8]; 5] = [b"a", b"b\n", b"b\xff", b"c/d", "é".as_bytes()];
    let mut versions = Vec::new();
    for key in keys {
        let path = format!("/v1/keyspaces/default/keys/{}", percent(key));
        versions.push(
            wire.request("PUT", &path, [b'v', key[0]])
                .version()
                .to_owned(),
        );
    }
    let mut lines = |query: &str| -> Vec<serde_json::Value> {
        let path = format!("/v1/keyspaces/default/keys{query}");
        let answer = wire.request("GET", &path, "");
        assert_eq!(answer.status, 200, "{query}");
        let lines = answer.text().lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all = lines("");
    assert_eq!(all.len(), keys.len());
    assert_eq!(all[1]["key"], "b\n");
    assert_eq!(all[2]["key_base64"], "Yv8=");
    assert_eq!(all[4]["value_base64"], "dsM=");
    for (line, version) in all.iter().zip(&versions) {
        assert_eq!(line["version"], version.as_str());
    }
    let count =
        |query: &str, lines: &mut dyn FnMut(&str) -> Vec<serde_json::Value>| lines(query).len();
    assert_eq!(count("?prefix=b", &mut lines), 2);
    assert_eq!(count("?prefix=b&limit=1", &mut lines), 1);
    assert_eq!(count("?limit=0", &mut lines), 0);
    assert_eq!(count("?start=b&end=c", &mut lines), 2);
    assert_eq!(count("?prefix=zz", &mut lines), 0);
    for (path, status) in [
        ("/v1/keyspaces/none/keys", 404),
        ("/v1/keyspaces/default/keys?limit=x", 400),
        ("/v1/keyspaces/default/keys?ack=9", 400),
    ] {
        assert_eq!(wire.request("GET", path, "").status, status, "{path}");
    }
    assert_eq!(
        wire.request("POST", "/v1/keyspaces/default/keys", "")
            .status,
        405
    );
}
