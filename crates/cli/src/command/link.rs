//! `dunlin link`: links of a keyspace to other clusters.

mod verify;

use std::time::Duration;

use clap::{Args, Subcommand};
use dunlin_client::{AlterLink, Client, CreateLink, InboundLink, LinkState, LinkStatus};
use indicatif::{HumanBytes, ProgressBar};
use tokio::time::{Instant, sleep};

use crate::command::copy::Rate;
use crate::connect::Server;
use crate::failure::Failure;
use crate::output::Output;
use crate::runtime;
use crate::units::grouped;

const EXAMPLES: &str = "\
A link sends the records and changes of a keyspace to one of another cluster; the newest version wins there as here.
It begins with a keyspace there that holds nothing, or whose own entries have all arrived here by other links: so a link
can lead back, and close a ring.

Examples:
  dunlin link create east --from orders --to http://10.1.0.1:8080,http://10.1.0.2:8080/orders --create
  dunlin link create pair --from orders --to http://10.1.0.1:8080/orders --both-ways
  dunlin link show east
  dunlin link pause east
  dunlin link verify east

A login is an entry of the file that each node has by --link-logins:
  [east]
  token = \"...\"        # or user and password
  ca = \"/etc/dunlin/east-ca.pem\"";

/// How long a new link is waited for.
const CREATE_WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// Commands for links.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Link {
    /// Make one, and wait until the other cluster has acknowledged something
    Create(CreateArgs),
    /// List them
    List(LinkOutput),
    /// Show one: how far it is, and how it is doing at each shard
    Show(LinkName),
    /// Send nothing for now
    Pause(LinkName),
    /// Go on sending
    Resume(LinkName),
    /// Set other servers, another limit or another login
    Set(SetArgs),
    /// Compare the two clusters while both are written to
    Verify(verify::VerifyArgs),
    /// Drop one; what the other cluster has stays there
    Drop(DropArgs),
}

/// The link that is dropped.
#[derive(Debug, Args)]
pub struct DropArgs {
    #[command(flatten)]
    link: LinkName,
    /// Refuse a link of this name that comes from another cluster
    #[arg(long)]
    inbound: bool,
    /// Id of that cluster, where several have one of this name
    #[arg(long, value_name = "ID", requires = "inbound")]
    cluster: Option<String>,
}

/// The cluster, and the form of the output.
#[derive(Debug, Args)]
pub struct LinkOutput {
    #[command(flatten)]
    server: Server,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Which link.
#[derive(Debug, Args)]
pub struct LinkName {
    /// Link
    name: String,
    #[command(flatten)]
    output: LinkOutput,
}

/// A link that is to be made.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    link: LinkName,
    /// The keyspace here
    #[arg(long, value_name = "KEYSPACE")]
    from: String,
    /// Servers of the other cluster, and the keyspace there
    #[arg(long, value_name = "URL[,URL..]/KEYSPACE")]
    to: String,
    /// Send only keys that begin with this
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// Send at most so much a second
    #[arg(long, value_name = "RATE")]
    limit: Option<Rate>,
    /// Login there: an entry of the file of --link-logins
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
    /// Make the keyspace there, with the settings of the one here, if it is missing
    #[arg(long)]
    create: bool,
    /// Make a link of the same name back, too, once all that is here has arrived there
    #[arg(long)]
    both_ways: bool,
    /// Servers of this cluster, as the other one reaches them; those of --server, if absent
    #[arg(long, value_name = "URL[,URL..]", requires = "both_ways")]
    back: Option<String>,
    /// Do not wait until anything was acknowledged
    #[arg(long)]
    no_wait: bool,
}

/// New settings of a link.
#[derive(Debug, Args)]
pub struct SetArgs {
    #[command(flatten)]
    link: LinkName,
    /// Servers of the other cluster
    #[arg(long, value_name = "URL[,URL..]")]
    to: Option<String>,
    /// Send at most so much a second
    #[arg(long, value_name = "RATE", conflicts_with = "no_limit")]
    limit: Option<Rate>,
    /// Send as fast as it goes
    #[arg(long)]
    no_limit: bool,
    /// Login there; an empty name for none
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
}

impl Link {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                Link::Create(create) => create.run().await,
                Link::List(output) => {
                    let client = output.server.client()?;
                    list(
                        &client.links().await?,
                        &client.inbound_links().await?,
                        output.json,
                    )
                }
                Link::Show(LinkName { name, output }) => {
                    let link = output.server.client()?.link(&name).await?;
                    show(&link, output.json)
                }
                Link::Pause(link) => link.alter(&paused(true)).await,
                Link::Resume(link) => link.alter(&paused(false)).await,
                Link::Set(set) => {
                    let change = AlterLink {
                        paused: None,
                        to: set.to.as_deref().map(servers),
                        limit_bytes_per_s: if set.no_limit {
                            Some(0)
                        } else {
                            set.limit.map(|rate| rate.0)
                        },
                        login: set.login,
                    };
                    set.link.alter(&change).await
                }
                Link::Verify(verify) => verify.run().await,
                Link::Drop(drop) => drop.run().await,
            }
        })
    }
}

fn paused(paused: bool) -> AlterLink {
    AlterLink {
        paused: Some(paused),
        ..AlterLink::default()
    }
}

impl DropArgs {
    async fn run(self) -> Result<(), Failure> {
        let name = self.link.name;
        let client = self.link.output.server.client()?;
        if !self.inbound {
            let link = client.link(&name).await?;
            return Ok(client.drop_link(&link.from, &name).await?);
        }
        let is_it = |link: &InboundLink| {
            let cluster = self.cluster.as_ref();
            link.name == name && cluster.is_none_or(|cluster| link.cluster == *cluster)
        };
        let links = client.inbound_links().await?;
        let mut found = links.iter().filter(|link| is_it(link));
        match (found.next(), found.next()) {
            (Some(link), None) => Ok(client.refuse_link(link).await?),
            (Some(_), Some(_)) => Err(Failure::Usage(format!(
                "several links {name} come from other clusters: say which by --cluster ID, as dunlin link list shows it"
            ))),
            (None, _) => Err(Failure::Failed(format!(
                "no link {name} comes from another cluster: dunlin link list shows which there are"
            ))),
        }
    }
}

impl LinkName {
    async fn alter(self, change: &AlterLink) -> Result<(), Failure> {
        let client = self.output.server.client()?;
        let link = client.link(&self.name).await?;
        let changed = client.alter_link(&link.from, &self.name, change).await?;
        show(&changed, self.output.json)
    }
}

/// Servers as they are given, each with a scheme.
fn servers(list: &str) -> Vec<String> {
    let list = list.split(',').map(str::trim).filter(|s| !s.is_empty());
    list.map(|server| {
        let server = server.trim_end_matches('/');
        if server.contains("://") {
            server.to_owned()
        } else {
            format!("http://{server}")
        }
    })
    .collect()
}

/// Servers and keyspace out of `URL[,URL..]/KEYSPACE`.
fn target(to: &str) -> Result<(Vec<String>, String), Failure> {
    let wrong = || {
        let line =
            format!("--to {to}: give servers and a keyspace, as in http://10.1.0.1:8080/orders");
        Failure::Usage(line)
    };
    let (list, keyspace) = to.rsplit_once('/').ok_or_else(wrong)?;
    // The last slash may be that of a scheme.
    if keyspace.is_empty() || list.ends_with('/') || list.ends_with(':') {
        return Err(wrong());
    }
    let servers = servers(list);
    if servers.is_empty() {
        return Err(wrong());
    }
    // A wrong address is an error before any request.
    Client::new(&servers.join(","))?;
    Ok((servers, keyspace.to_owned()))
}

impl CreateArgs {
    async fn run(self) -> Result<(), Failure> {
        let (to, keyspace) = target(&self.to)?;
        let options = self.link.output;
        let client = options.server.client()?;
        let wanted = CreateLink {
            name: self.link.name,
            to,
            keyspace,
            prefix: self.prefix,
            limit_bytes_per_s: self.limit.map(|rate| rate.0),
            login: self.login,
            create: self.create,
            both_ways: self.both_ways,
            back: if self.both_ways {
                servers(self.back.as_deref().unwrap_or(&options.server.server))
            } else {
                Vec::new()
            },
        };
        let mut link = client.create_link(&self.from, &wanted).await?;
        if let Some(why) = &link.back_waits {
            let line = format!("link {} is made; the link back waits: {why}", wanted.name);
            eprintln!("{line}");
        }
        let progress = ProgressBar::new_spinner();
        while link.back_waits.is_some() {
            let counts = &link.counts;
            progress.set_message(format!(
                "{} entries are sent, {} to come",
                grouped(counts.sent),
                grouped(counts.entries_behind)
            ));
            sleep(LOOK).await;
            progress.tick();
            link = client.create_link(&self.from, &wanted).await?;
        }
        progress.finish_and_clear();
        let until = Instant::now() + CREATE_WAIT;
        while !self.no_wait && !is_acknowledged(&link) {
            if Instant::now() >= until {
                let why = link.why.unwrap_or_else(|| link.state.to_string());
                return Err(Failure::Failed(format!(
                    "link {} is made, and the other cluster has acknowledged nothing yet: {why}",
                    link.name
                )));
            }
            sleep(LOOK).await;
            link = client.link(&wanted.name).await?;
        }
        show(&link, options.json)
    }
}

/// Whether all shards that send have been acknowledged something.
fn is_acknowledged(link: &LinkStatus) -> bool {
    let mut sending = link.shards.iter().filter(|shard| shard.partitions > 0);
    sending.clone().count() > 0 && sending.all(|shard| shard.is_acknowledged)
}

fn list(links: &[LinkStatus], inbound: &[InboundLink], json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    for link in links {
        if json {
            output.json(link)?;
        } else {
            output.line(line(link))?;
        }
    }
    for link in inbound {
        if json {
            output.json(link)?;
        } else {
            output.line(inbound_line(link))?;
        }
    }
    output.flush()
}

/// Links that do not send, or are late: a line each. Without the right to see any there are none.
pub(crate) async fn warnings(client: &Client) -> String {
    let (links, inbound) = (client.links().await, client.inbound_links().await);
    let links = links.unwrap_or_default();
    let links = links.iter().filter(|link| link.state > LinkState::Loading);
    let inbound = inbound.unwrap_or_default();
    let inbound = inbound
        .iter()
        .filter(|link| link.state > LinkState::Loading && !link.is_dropped);
    let lines = links.map(line).chain(inbound.map(inbound_line));
    lines.map(|line| format!("\nlink {line}\n")).collect()
}

fn inbound_line(link: &InboundLink) -> String {
    let name = if link.name.is_empty() {
        "(not reported yet)"
    } else {
        &link.name
    };
    let prefix = if link.prefix.is_empty() {
        String::new()
    } else {
        format!("  keys that begin with {:?}", link.prefix)
    };
    let why = link.why.as_ref().map(|why| format!(": {why}"));
    if link.is_dropped {
        let (cluster, keyspace) = (&link.cluster, &link.keyspace);
        return format!("{name}  from cluster {cluster} -> {keyspace}  dropped");
    }
    format!(
        "{name}  from cluster {} -> {}{prefix}  {}, all has arrived up to {} s ago{}",
        link.cluster,
        link.keyspace,
        link.state,
        grouped(link.age_s),
        why.unwrap_or_default()
    )
}

fn line(link: &LinkStatus) -> String {
    let why = link.why.as_ref().map(|why| format!(": {why}"));
    format!(
        "{}  {} -> {}/{}  {}{}",
        link.name,
        link.from,
        link.to.join(","),
        link.keyspace,
        link.state,
        why.unwrap_or_default()
    )
}

fn show(link: &LinkStatus, json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        output.json(link)?;
        return output.flush();
    }
    output.line(line(link))?;
    let counts = &link.counts;
    output.line(format!(
        "  behind: {} entries, {}; sent: {} entries, {} ({}/s)",
        grouped(counts.entries_behind),
        HumanBytes(counts.bytes_behind),
        grouped(counts.sent),
        HumanBytes(counts.sent_bytes),
        HumanBytes(counts.bytes_per_s),
    ))?;
    output.line(format!(
        "  not written there: {} held, {} older, {} of its own, {} with future timestamps; not sent: {}; sent again: {}",
        grouped(counts.held),
        grouped(counts.older),
        grouped(counts.own),
        grouped(counts.future),
        grouped(counts.filtered),
        grouped(counts.retries),
    ))?;
    output.line(format!(
        "  latency: 80 % {} ms, 95 % {} ms, 99 % {} ms",
        counts.latency_ms_p80, counts.latency_ms_p95, counts.latency_ms_p99
    ))?;
    let age_max = grouped(link.age_s_max);
    for (home, progress) in &link.homes {
        let age = match progress.delivered {
            Some(delivered) => {
                let age_ms = link.now_ms.saturating_sub(delivered.0.millis());
                format!("up to {} s ago", grouped(age_ms / 1_000))
            }
            None => "not known yet".to_owned(),
        };
        output.line(format!("  entries of cluster {home}: acknowledged {age}"))?;
    }
    output.line(format!("  broken when that is {age_max} s"))?;
    if !link.prefix.is_empty() {
        output.line(format!("  keys that begin with {:?}", link.prefix))?;
    }
    if let Some(limit) = link.limit_bytes_per_s {
        output.line(format!("  at most {}/s", HumanBytes(limit)))?;
    }
    for shard in &link.shards {
        if shard.partitions > 0 || shard.state > LinkState::Loading {
            let why = shard.why.as_ref().map(|why| format!(": {why}"));
            output.line(format!(
                "  {}  {} partitions, {} loading  {}{}",
                shard.at,
                shard.partitions,
                shard.loading,
                shard.state,
                why.unwrap_or_default()
            ))?;
        }
        for error in &shard.errors {
            output.line(format!("    {} ms since 1970: {}", error.at_ms, error.line))?;
        }
    }
    for shard in &link.unreachable {
        output.line(format!("  {shard}  does not answer"))?;
    }
    output.flush()
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
