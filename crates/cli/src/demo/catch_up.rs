//! Waits until no replica misses anything, by the cluster's own account.

use std::time::Duration;

use dunlin_client::{Client, Status};
use tokio::time::{Instant, sleep};

use crate::demo::cluster::NODES;
use crate::failure::Failure;

const TIMEOUT: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(100);

/// Resolves when all nodes are up and no follower is broken or has anything left to send.
pub async fn wait(client: &Client) -> Result<(), Failure> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let missing = match client.status().await {
            Ok(status) => missing(&status),
            Err(error) => Some(error.to_string()),
        };
        let Some(missing) = missing else {
            return Ok(());
        };
        if Instant::now() > deadline {
            return Err(Failure::Failed(format!(
                "no catch-up within {} s: {missing}",
                TIMEOUT.as_secs()
            )));
        }
        sleep(POLL).await;
    }
}

/// What a caught-up cluster would have and this one has not.
fn missing(status: &Status) -> Option<String> {
    let up = status.nodes.iter().filter(|node| node.alive).count();
    if up < NODES {
        return Some(format!("{up} of {NODES} nodes are up"));
    }
    // Each node follows each other one, with at least one shard.
    if status.followers.len() < NODES * (NODES - 1) {
        return Some(format!(
            "only {} followers are known",
            status.followers.len()
        ));
    }
    let behind = status.followers.iter().find(|follower| {
        let broken = follower.state == "down" || follower.state == "backfilling";
        !follower.connected || broken || follower.items_remaining > 0
    })?;
    Some(format!(
        "{} to {} is {} with {} entries remaining",
        behind.from, behind.to, behind.state, behind.items_remaining
    ))
}

#[cfg(test)]
#[path = "catch_up_tests.rs"]
mod tests;
