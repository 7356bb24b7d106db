#![allow(clippy::unwrap_used)]
use super::*;
use crate::node::NodeRecord;

fn topology() -> Topology {
    let node = NodeRecord {
        id: 1,
        name: "n1".to_owned(),
        http: "127.0.0.1:1".to_owned(),
        listen: "127.0.0.1:2".to_owned(),
        shards: 1,
        incarnation: 7,
    };
    Topology {
        revision: 1_234,
        nodes: vec![node],
        ..Topology::default()
    }
    .ordered()
}

#[test]
fn a_cache_is_read_back_and_a_changed_digit_is_noticed() {
    let written = write(&topology()).unwrap();
    assert_eq!(read(&written).unwrap(), topology());
    let digits = (0..written.len()).filter(|at| written[*at].is_ascii_digit());
    let mut changed = 0;
    for at in digits {
        let mut other = written.clone();
        other[at] = if other[at] == b'9' {
            b'8'
        } else {
            other[at] + 1
        };
        // The digits of the checksum's own name make it a field that nobody knows.
        let read = read(&other);
        assert!(read.is_err() || read.unwrap() == topology(), "at {at}");
        changed += 1;
    }
    assert!(changed > 20);
}

#[test]
fn a_cache_without_a_checksum_is_refused() {
    let written = serde_json::to_vec_pretty(&topology()).unwrap();
    assert!(read(&written).is_err());
}
