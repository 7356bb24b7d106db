//! Large bodies of pairs, which go to the replicas as files.

use std::collections::BTreeMap;
use std::time::Duration;

use super::pairs::{PAIRS, all_of, crc32c};
use crate::harness::curl::curl_with;
use crate::harness::eventually;
use crate::harness::up::Up;
use crate::harness::wire::Wire;

const VALUE_BYTES: usize = 16 << 10;
const PAIRS_EACH: usize = 640;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn some(round: usize) -> Content {
    let pairs = (0..PAIRS_EACH).map(|number| {
        let key = format!("{round}/{:05}", number * 7_919 % 100_000);
        let value = key.as_bytes().iter().cycle().take(VALUE_BYTES);
        (key.clone().into_bytes(), value.copied().collect())
    });
    pairs.collect()
}

fn body(pairs: &Content) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in pairs {
        body.extend((key.len() as u32).to_le_bytes());
        body.extend((value.len() as u32).to_le_bytes());
        body.extend(key);
        body.extend(value);
    }
    let checksum = crc32c(&body);
    body.extend(checksum.to_le_bytes());
    body
}

/// Of four nodes one holds nothing of a quarter of the partitions, and each of its two shards only a part of the rest.
#[test]
fn a_body_goes_as_files_whole_whichever_shard_it_comes_to() {
    let up = Up::with(4, &["--shards=2"]);
    let created = r#"{"name":"birds","replicas":3,"partitions":16,"sync":"always"}"#;
    let created = Wire::open(up.ports[0]).request("POST", "/v1/keyspaces", created);
    assert_eq!(created.status, 201, "{created:?}");
    let (mut all, mut round) = (Content::new(), 0);
    // Until all have heard of one another, some is put.
    eventually("all goes as files", Duration::from_secs(60), || {
        let pairs = some(round);
        let url = up.url(round % up.ports.len(), "/v1/keyspaces/birds/bulk?ack=3");
        let content_type = format!("Content-Type: {PAIRS}");
        let answer = curl_with(
            &[
                "-H",
                &content_type,
                "-H",
                "Expect:",
                "--data-binary",
                "@-",
                &url,
            ],
            &body(&pairs),
        );
        assert_eq!(answer.status, 200, "{answer:?}");
        let stored: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        all.extend(pairs);
        round += 1;
        round > up.ports.len() && stored["loaded"] == stored["bytes"]
    });
    for port in &up.ports {
        let found = all_of(*port, "birds");
        assert_eq!(found.len(), all.len());
        assert!(
            found
                .into_iter()
                .all(|(key, value)| all.get(&key) == Some(&value))
        );
    }
}
