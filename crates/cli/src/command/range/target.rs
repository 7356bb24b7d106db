//! `dunlin range lead` and `dunlin range move`: where the replicas of a range should be, and waiting until they are.

use std::time::{Duration, Instant};

use clap::Args;
use dunlin_client::{
    Client, KeyspaceDescription, RangeDescription, RangeStatus, RangeTarget, Status,
};

use crate::connect::Server;
use crate::failure::Failure;
use crate::signal::Stop;

/// How often the cluster is polled.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long no node may answer before the waiting is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments of `range lead`.
#[derive(Debug, Args)]
pub struct Lead {
    /// Keyspace
    keyspace: String,
    /// Number of the range, as dunlin range list shows it
    range: u64,
    /// Name of the node whose replica is to lead
    node: String,
    #[command(flatten)]
    follow: Follow,
}

/// Arguments of `range move`.
#[derive(Debug, Args)]
pub struct Move {
    /// Keyspace
    keyspace: String,
    /// Number of the range, as dunlin range list shows it
    range: u64,
    /// Name of the node whose replica goes
    #[arg(long, value_name = "NODE")]
    from: String,
    /// Name of the node that gets one, and its shard if it matters
    #[arg(long, value_name = "NODE[/SHARD]", value_parser = place)]
    to: (String, Option<u16>),
    /// Replace a change of the range that is under way
    #[arg(long)]
    instead: bool,
    #[command(flatten)]
    follow: Follow,
}

/// Whether a command waits.
#[derive(Debug, Args)]
pub struct Follow {
    /// Return at once
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    server: Server,
}

fn place(text: &str) -> Result<(String, Option<u16>), String> {
    match text.split_once('/') {
        None => Ok((text.to_owned(), None)),
        Some((node, shard)) => match shard.parse() {
            Ok(shard) => Ok((node.to_owned(), Some(shard))),
            Err(_) => Err(format!("{shard:?} is no number of a shard: write n4/0")),
        },
    }
}

impl Lead {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        let wish = RangeTarget::Lead {
            lead: self.node.clone(),
        };
        let range = (&*self.keyspace, self.range);
        let is_done = |status: &Status| {
            let leader = leader(status, range);
            leader.is_some_and(|leader| is_whole(status, leader) && is_on(&leader.at, &self.node))
        };
        let client = self.follow.server.client()?;
        let planned = client
            .retarget_range(&self.keyspace, self.range, &wish)
            .await?;
        self.follow.wait(&client, range, planned, is_done).await
    }
}

impl Move {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        let (to, shard) = self.to.clone();
        let wish = RangeTarget::Move {
            from: self.from.clone(),
            to: to.clone(),
            shard,
            instead: self.instead,
        };
        let range = (&*self.keyspace, self.range);
        let is_there = |at: &str| match shard {
            Some(shard) => at == format!("{to}/{shard}"),
            None => is_on(at, &to),
        };
        let is_done = |status: &Status| {
            leader(status, range).is_some_and(|leader| {
                let mut replicas = leader.led.replicas.iter();
                let mut others = replicas.clone();
                let has_come = replicas.any(|replica| is_there(&replica.at));
                let stays = to != self.from && others.any(|replica| is_on(&replica.at, &self.from));
                is_whole(status, leader) && has_come && !stays
            })
        };
        let client = self.follow.server.client()?;
        let planned = client
            .retarget_range(&self.keyspace, self.range, &wish)
            .await?;
        self.follow.wait(&client, range, planned, is_done).await
    }
}

fn is_on(at: &str, node: &str) -> bool {
    at.split('/').next() == Some(node)
}

/// The row of the leader of a range; a former one that is cut off may believe for a moment that it leads still.
pub fn leader<'a>(status: &'a Status, (keyspace, range): (&str, u64)) -> Option<&'a RangeStatus> {
    let rows = status.ranges.iter();
    let led = rows.filter(|row| row.keyspace == keyspace && row.range == range);
    led.filter(|row| row.role == "leader")
        .max_by_key(|row| row.term)
}

/// A range, as the metadata names it.
fn described<'a>(
    status: &'a Status,
    (keyspace, range): (&str, u64),
) -> Option<&'a RangeDescription> {
    let same = |described: &&KeyspaceDescription| described.name == keyspace;
    let ranges = status.keyspaces.iter().filter(same);
    let mut ranges = ranges.flat_map(|keyspace| &keyspace.ranges);
    ranges.find(|described| described.number == range)
}

/// Why a target will not be reached any more: the range has a newer one.
fn replaced(status: &Status, range: (&str, u64), planned: u64) -> Option<String> {
    let now = described(status, range)?.planned;
    let (keyspace, number) = range;
    (now > planned).then(|| {
        format!(
            "range {keyspace}/{number} was given another target meanwhile, by another command or because the members \
             changed: see dunlin range list"
        )
    })
}

/// Whether a range has all its replicas, as its leader and each of them says, and the metadata names them.
pub fn is_whole(status: &Status, leader: &RangeStatus) -> bool {
    let named = described(status, (&leader.keyspace, leader.range));
    named.is_some_and(|range| range.config == leader.config)
        && RangeStatus::is_whole(leader, &status.ranges)
}

impl Follow {
    /// Waits until the cluster is as wanted, and shows the steps of a range. Fails once the range has a newer target.
    async fn wait(
        self,
        client: &Client,
        range: (&str, u64),
        planned: u64,
        is_done: impl Fn(&Status) -> bool,
    ) -> Result<(), Failure> {
        if self.no_wait {
            return Ok(());
        }
        let doing = |status: &Status| {
            let leader = leader(status, range);
            let Some(leader) = leader else {
                return vec![format!("{}/{}: no leader is heard", range.0, range.1)];
            };
            let doing = leader.led.doing.iter();
            doing
                .map(|doing| format!("{}/{}: {doing}", range.0, range.1))
                .collect()
        };
        let newer = |status: &Status| replaced(status, range, planned);
        wait(client, doing, is_done, newer).await
    }
}

/// Waits until the cluster is as wanted, and shows each new step. Fails once it is known that it will not be so.
pub async fn wait(
    client: &Client,
    doing: impl Fn(&Status) -> Vec<String>,
    is_done: impl Fn(&Status) -> bool,
    why_never: impl Fn(&Status) -> Option<String>,
) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let (mut answered, mut before) = (Instant::now(), Vec::new());
    loop {
        let status = tokio::select! {
            status = client.status() => status,
            () = stop.asked() => return Err(goes_on()),
        };
        match status {
            Ok(status) if is_done(&status) => return Ok(()),
            Ok(status) => {
                if let Some(why) = why_never(&status) {
                    return Err(Failure::Failed(why));
                }
                answered = Instant::now();
                let now = doing(&status);
                if now != before {
                    now.iter().for_each(|line| eprintln!("{line}"));
                }
                before = now;
            }
            Err(error) if error.is_retryable() && answered.elapsed() < PATIENCE => {}
            Err(error) => {
                return Err(Failure::Failed(format!(
                    "it goes on, and no node says how far it is: {error}"
                )));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stop.asked() => return Err(goes_on()),
        }
    }
}

fn goes_on() -> Failure {
    Failure::Failed("it goes on: dunlin range list shows how far it is".to_owned())
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
