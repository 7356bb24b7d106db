//! Clients without HTTP between find the shards that lead, and programs with several threads use them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_client::{Client, ClientError, DirectThread, DirectTransaction};
use dunlin_proto::{DirectKey, DirectLeader, DirectRequest, DirectResponse};

use crate::harness::direct::{Raw, local};
use crate::harness::proxy::Proxy;
use crate::harness::up::Up;

use super::txn::bank;

fn read(name: &str) -> DirectRequest {
    DirectRequest::Read {
        at: None,
        lock: false,
        keys: vec![DirectKey {
            keyspace: "bank".into(),
            key: Bytes::copy_from_slice(name.as_bytes()),
        }],
    }
}

/// Waits for what there is in the end.
async fn until<T>(what: &str, within: Duration, look: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Where the range of a key is led, by the word of all nodes.
async fn leader(up: &Up, name: &str) -> DirectLeader {
    let what = "all nodes name one leader";
    until(what, Duration::from_secs(60), async || {
        named(up, name).await
    })
    .await
}

/// The same; none while they do not agree.
async fn named(up: &Up, name: &str) -> Option<DirectLeader> {
    let (mut named, mut own) = (None, BTreeSet::new());
    for node in 0..3 {
        let raw = Raw::at(&up.url(node, ""), "");
        let reply = raw.reply(read(name)).await.ok()?;
        match (reply.response, reply.leader) {
            (DirectResponse::Values(..), Some(leader)) => named = Some(leader),
            (DirectResponse::Values(..), None) => drop(own.insert(raw.shard.clone())),
            _ => return None,
        }
    }
    let named = named?;
    let at = format!("{}/{}", named.at.node, named.at.shard);
    (own == BTreeSet::from([at])).then_some(named)
}

/// The number of the node that serves HTTP here.
fn node_at(up: &Up, http: &str) -> usize {
    let found = (0..3).find(|node| up.url(*node, "").ends_with(http));
    found.expect("an answer names the address of a node")
}

#[test]
fn answers_name_the_shard_that_leads() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let leader = leader(&up, "5").await;
        assert_eq!(leader.span.keyspace, "bank");
        assert!(leader.span.start <= "5" && leader.span.end.is_none_or(|end| end > "5"));
        assert_eq!(leader.shards, 1);
        // Its HTTP address leads to it.
        let raw = Raw::at(&format!("http://{}", leader.http), "");
        assert_eq!(raw.shard, format!("{}/{}", leader.at.node, leader.at.shard));
    });
}

#[test]
fn a_client_goes_on_at_the_leader_when_its_only_server_is_gone() {
    let up = Up::nodes(3);
    bank(&up);
    local(async {
        let led_at = node_at(&up, &leader(&up, "5").await.http);
        // It knows of no other server than this.
        let proxy = Proxy::to(up.ports[(led_at + 1) % 3]);
        let direct = Client::new(&proxy.url()).unwrap().direct();
        let put = async |value: &'static str| {
            let body = async |txn: DirectTransaction| {
                txn.get("bank", b"5").await?;
                txn.put("bank", b"5", value.into())
            };
            direct.transact(body).await
        };
        // The connection to the leader comes behind an answer, and leaders change.
        let through = async || {
            proxy.open();
            put("a").await.ok()?;
            proxy.close();
            put("b").await.ok()
        };
        until("the leader is spoken to", Duration::from_secs(60), through).await;
    });
}

/// Adds one so many times, from a thread that has no connection.
fn add(bank: &DirectThread, times: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut done = 0;
    while done < times {
        let added = bank.transact(async |txn| {
            let before = txn.get("bank", b"5").await?.unwrap_or_default();
            let before: u32 = String::from_utf8_lossy(&before).parse().unwrap_or(0);
            txn.put("bank", b"5", (before + 1).to_string().into())
        });
        match runtime.block_on(added) {
            Ok(()) => done += 1,
            Err(ClientError::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_thread_of_its_own_serves_all_threads() {
    let up = Up::nodes(3);
    bank(&up);
    let client = Client::new(&up.url(0, "")).unwrap();
    let bank = client.direct_thread().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| add(&bank, 10));
        }
    });
    let value = local(bank.transact(async |txn| txn.get("bank", b"5").await));
    assert_eq!(value.unwrap().as_deref(), Some(&b"40"[..]));
}
