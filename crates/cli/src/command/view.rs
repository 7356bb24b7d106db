//! `dunlin view`: indexes that a map function makes of a keyspace's records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dunlin_client::{Keyspace, View as Kept, ViewVerified};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::connect::{DEFAULT_KEYSPACE, Server};
use crate::failure::Failure;
use crate::output::{Output, coloured};
use crate::runtime;
use crate::table::{Align, Cell, Colour, Table};
use crate::units::grouped;

const EXAMPLES: &str = "\
A map function is JavaScript in a file, one function:
  function (doc, meta) { emit(doc.section, null) }
doc is the value as JSON, else as text, else null; meta has id, version and expiry.

Examples:
  dunlin view try section.js                              what it emits for the first documents
  dunlin view create default by-section --map section.js --reduce _count --wait
  dunlin view query default by-section --group            a count for each section
  dunlin view query default by-section --key '\"net\"' --no-reduce --limit 3 --include-docs";

/// How often a view that is being built is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What is done with views.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum View {
    /// Make one; it is built in the background
    Create(Create),
    /// Give one other functions; it answers as before until it is built
    Change(Change),
    /// List those of a keyspace
    List(Of),
    /// Show one: its functions, how far it is, what was skipped
    Show(Named),
    /// Ask one
    Query(Box<Query>),
    /// Drop one
    Drop(Named),
    /// Build one anew; it answers as before until then
    Rebuild(Rebuild),
    /// Compare one with what the records make of it, while writes go on
    Verify(Named),
    /// Show what a map function emits for the first documents, and change nothing
    Try(Try),
}

/// Which keyspace.
#[derive(Debug, Args)]
pub struct Of {
    /// Keyspace
    keyspace: String,
    #[command(flatten)]
    asked: Asked,
}

/// Of whom, and how it is told.
#[derive(Debug, Args)]
pub struct Asked {
    #[command(flatten)]
    server: Server,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Which view.
#[derive(Debug, Args)]
pub struct Named {
    /// Keyspace
    keyspace: String,
    /// View
    name: String,
    #[command(flatten)]
    asked: Asked,
}

/// A view that is to be made.
#[derive(Debug, Args)]
pub struct Create {
    #[command(flatten)]
    view: Named,
    /// File with the map function
    #[arg(long, value_name = "FILE.js")]
    map: PathBuf,
    /// _count, _sum, _stats, _first, _last, _top_N, _bottom_N, _approx_count_distinct, or a file with a reduce function
    #[arg(long, value_name = "REDUCE")]
    reduce: Option<String>,
    /// Wait until it is built
    #[arg(long)]
    wait: bool,
}

/// A view that is to be changed.
#[derive(Debug, Args)]
pub struct Change {
    #[command(flatten)]
    create: Create,
    /// Even if the new map function fails for every document
    #[arg(long)]
    force: bool,
}

/// A view that is to be built anew.
#[derive(Debug, Args)]
pub struct Rebuild {
    #[command(flatten)]
    view: Named,
    /// Wait until it is built
    #[arg(long)]
    wait: bool,
}

/// A map function that is to be tried.
#[derive(Debug, Args)]
pub struct Try {
    /// File with the map function
    map: PathBuf,
    /// Keyspace
    #[arg(long, short = 'k', env = "DUNLIN_KEYSPACE", value_name = "NAME", default_value = DEFAULT_KEYSPACE)]
    keyspace: String,
    /// As of create: whether the values of the rows fit is shown, too
    #[arg(long, value_name = "REDUCE")]
    reduce: Option<String>,
    /// Documents that it is tried on
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    #[command(flatten)]
    asked: Asked,
}

/// How fresh an answer is to be.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Stale {
    /// As the index is
    Ok,
    /// The same: the index is always being brought up to date
    #[value(name = "update_after")]
    UpdateAfter,
    /// With all that was acknowledged before
    False,
}

/// A query. Keys are JSON.
#[derive(Debug, Args)]
pub struct Query {
    #[command(flatten)]
    view: Named,
    /// Rows with this key
    #[arg(long, value_name = "JSON")]
    key: Option<String>,
    /// Rows with these keys, in this order: a JSON array
    #[arg(long, value_name = "JSON")]
    keys: Option<String>,
    /// Rows from this key on
    #[arg(long, value_name = "JSON")]
    startkey: Option<String>,
    /// Rows up to this key
    #[arg(long, value_name = "JSON")]
    endkey: Option<String>,
    /// Of the rows with the start key, from this document on
    #[arg(long, value_name = "ID")]
    startkey_docid: Option<String>,
    /// Of the rows with the end key, up to this document
    #[arg(long, value_name = "ID")]
    endkey_docid: Option<String>,
    /// Without the end key
    #[arg(long)]
    exclusive_end: bool,
    /// From the greatest key to the least
    #[arg(long)]
    descending: bool,
    /// No more rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Without the first rows
    #[arg(long, value_name = "N")]
    skip: Option<u64>,
    /// Rows, not what they are reduced to
    #[arg(long)]
    no_reduce: bool,
    /// Reduce the rows of each key
    #[arg(long)]
    group: bool,
    /// Reduce the rows whose keys begin with the same N elements
    #[arg(long, value_name = "N")]
    group_level: Option<u64>,
    /// With each row its document, as it is now
    #[arg(long)]
    include_docs: bool,
    /// How fresh the answer is
    #[arg(long, value_enum, default_value = "ok")]
    stale: Stale,
}

impl View {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        runtime::block_on(async move {
            match self {
                View::Create(create) => create.run(None).await,
                View::Change(change) => change.create.run(Some(change.force)).await,
                View::List(of) => {
                    let views = keyspace(&of.asked, &of.keyspace)?.views().await?;
                    list(&views, of.asked.json)
                }
                View::Show(view) => {
                    let shown = view.keyspace()?.view(&view.name).await?;
                    show(&shown, view.asked.json)
                }
                View::Query(query) => query.run().await,
                View::Drop(view) => Ok(view.keyspace()?.drop_view(&view.name).await?),
                View::Rebuild(rebuild) => {
                    let view = &rebuild.view;
                    view.keyspace()?.rebuild_view(&view.name).await?;
                    if rebuild.wait {
                        wait(view).await
                    } else {
                        Ok(())
                    }
                }
                View::Verify(view) => verify(&view).await,
                View::Try(tried) => tried.run().await,
            }
        })
    }
}

fn keyspace(asked: &Asked, name: &str) -> Result<Keyspace, Failure> {
    Ok(asked.server.client()?.keyspace(name))
}

fn source(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

/// The name of a reduce, or the function in a file.
fn reduce(given: Option<String>) -> Result<Option<String>, Failure> {
    match given {
        Some(file) if !file.starts_with('_') => source(Path::new(&file)).map(Some),
        named => Ok(named),
    }
}

impl Named {
    fn keyspace(&self) -> Result<Keyspace, Failure> {
        keyspace(&self.asked, &self.keyspace)
    }
}

impl Create {
    /// Makes it; where one is changed, with force or without.
    async fn run(self, change: Option<bool>) -> Result<(), Failure> {
        let map = source(&self.map)?;
        let view = &self.view;
        let reduce = reduce(self.reduce)?;
        let reduce = reduce.as_deref();
        let keyspace = view.keyspace()?;
        let made = match change {
            None => keyspace.create_view(&view.name, &map, reduce).await,
            Some(force) => keyspace.change_view(&view.name, &map, reduce, force).await,
        };
        made.map_err(|error| match Failure::from(error) {
            Failure::Failed(line) => Failure::Failed(format!("{}: {line}", self.map.display())),
            other => other,
        })?;
        if self.wait { wait(view).await } else { Ok(()) }
    }
}

/// Waits until a view is built, and shows how far it is.
async fn wait(view: &Named) -> Result<(), Failure> {
    let keyspace = view.keyspace()?;
    let bar = bar(!view.asked.json);
    loop {
        let now = keyspace.view(&view.name).await?;
        bar.set_position((now.built * 1000.0) as u64);
        let left = now.left_ms.map(|ms| format!(", {} s left", ms / 1000 + 1));
        bar.set_message(format!("building{}", left.unwrap_or_default()));
        if now.is_whole && !now.takes_over {
            bar.finish_and_clear();
            return if view.asked.json {
                show(&now, true)
            } else {
                list(std::slice::from_ref(&now), false)
            };
        }
        if let Some(why) = now.held_back {
            bar.finish_and_clear();
            return Err(Failure::Failed(why.replace("with force", "with --force")));
        }
        if let Some(error) = now.shards.iter().find_map(|shard| shard.error.as_ref()) {
            bar.println(format!("dunlin: {error}"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A bar of thousandths on standard error; it shows only on a terminal.
fn bar(is_shown: bool) -> ProgressBar {
    let bar = if is_shown {
        ProgressBar::new(1000)
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %  {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn list(views: &[Kept], json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        for view in views {
            output.json(view)?;
        }
        return output.flush();
    }
    let mut table = Table::new(&[
        ("view", Align::Left),
        ("reduce", Align::Left),
        ("state", Align::Left),
        ("skipped", Align::Right),
    ]);
    for view in views {
        let skipped: u64 = view
            .shards
            .iter()
            .map(|shard| shard.failed)
            .max()
            .unwrap_or(0);
        let state = if view.is_whole {
            Cell::coloured("built", Colour::Green)
        } else {
            Cell::coloured(
                format!("building {:.0} %", view.built * 100.0),
                Colour::Yellow,
            )
        };
        table.row(vec![
            Cell::plain(&view.name),
            Cell::plain(view.reduce.as_deref().unwrap_or("-")),
            state,
            Cell::plain(grouped(skipped)),
        ]);
    }
    output.bytes(table.render(coloured()).as_bytes())?;
    output.flush()
}

fn show(view: &Kept, json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        output.json(view)?;
        return output.flush();
    }
    output.line(view.map.trim_end())?;
    if let Some(reduce) = &view.reduce {
        output.line(format!("reduce: {reduce}"))?;
    }
    output.line("")?;
    let mut table = Table::new(&[
        ("shard", Align::Left),
        ("partitions", Align::Right),
        ("built", Align::Right),
        ("documents", Align::Right),
        ("rows", Align::Right),
        ("skipped", Align::Right),
        ("bytes behind", Align::Right),
    ]);
    for shard in &view.shards {
        let behind = shard.bytes_behind.map(grouped);
        table.row(vec![
            Cell::plain(&shard.at),
            Cell::plain(format!("{}/{}", shard.whole, shard.partitions)),
            Cell::plain(format!("{:.0} %", shard.built * 100.0)),
            Cell::plain(grouped(shard.documents)),
            Cell::plain(grouped(shard.rows)),
            Cell::plain(grouped(shard.failed)),
            Cell::plain(behind.unwrap_or_else(|| "-".to_owned())),
        ]);
    }
    output.bytes(table.render(coloured()).as_bytes())?;
    for at in &view.unreachable {
        output.line(format!("{at} does not answer"))?;
    }
    for shard in &view.shards {
        if let Some(error) = &shard.error {
            output.line(format!("{}: {error}", shard.at))?;
        }
        for skipped in &shard.skipped {
            output.line(format!(
                "{} skipped {}: {}",
                shard.at, skipped.id, skipped.reason
            ))?;
        }
    }
    output.flush()
}

impl Query {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let text = |name, value: &Option<String>| value.clone().map(|value| (name, value));
        let number = |name, value: Option<u64>| value.map(|value| (name, value.to_string()));
        let flag = |name, is_given: bool| is_given.then(|| (name, "true".to_owned()));
        let stale = match self.stale {
            Stale::Ok => "ok",
            Stale::UpdateAfter => "update_after",
            Stale::False => "false",
        };
        let all = [
            text("key", &self.key),
            text("keys", &self.keys),
            text("startkey", &self.startkey),
            text("endkey", &self.endkey),
            text("startkey_docid", &self.startkey_docid),
            text("endkey_docid", &self.endkey_docid),
            self.exclusive_end
                .then(|| ("inclusive_end", "false".to_owned())),
            flag("descending", self.descending),
            number("limit", self.limit),
            number("skip", self.skip),
            self.no_reduce.then(|| ("reduce", "false".to_owned())),
            flag("group", self.group),
            number("group_level", self.group_level),
            flag("include_docs", self.include_docs),
            Some(("stale", stale.to_owned())),
        ];
        all.into_iter().flatten().collect()
    }

    async fn run(self) -> Result<(), Failure> {
        let keyspace = self.view.keyspace()?;
        let mut rows = keyspace
            .query_view(&self.view.name, &self.parameters())
            .await?;
        let mut output = Output::new();
        if self.view.asked.json {
            while let Some(row) = rows.next().await? {
                output.line(row)?;
            }
            output.json(&json!({ "token": rows.token() }))?;
            return output.flush();
        }
        while let Some(row) = rows.row().await? {
            let id = row.id.or(row.id_base64);
            let id = id.map(|id| format!("\t{id}")).unwrap_or_default();
            let doc = row.doc.map(|doc| format!("\t{doc}")).unwrap_or_default();
            output.line(format!("{}\t{}{id}{doc}", row.key, row.value))?;
        }
        output.flush()
    }
}

impl Try {
    async fn run(self) -> Result<(), Failure> {
        let map = source(&self.map)?;
        let keyspace = keyspace(&self.asked, &self.keyspace)?;
        let (reduce, limit) = (reduce(self.reduce)?, usize::from(self.limit));
        let tried = keyspace.try_view(&map, reduce.as_deref(), limit).await?;
        let mut output = Output::new();
        for document in &tried {
            if self.asked.json {
                output.json(document)?;
                continue;
            }
            if let Some(error) = &document.error {
                output.line(format!("{}: skipped: {error}", document.id))?;
            }
            for row in document.rows.iter().flatten() {
                output.line(format!("{}\t{}\t{}", row.key, row.value, document.id))?;
            }
        }
        if tried.is_empty() && !self.asked.json {
            output.line("the keyspace has no documents")?;
        }
        output.flush()
    }
}

async fn verify(view: &Named) -> Result<(), Failure> {
    let mut verification = view.keyspace()?.verify_view(&view.name).await?;
    let bar = bar(!view.asked.json);
    let mut results: Vec<ViewVerified> = Vec::new();
    while let Some(said) = verification.next().await? {
        if said.is_done {
            results.push(said);
            continue;
        }
        bar.set_position((said.read * 1000.0) as u64);
        bar.set_message(format!("{} reads all records again", said.at));
    }
    bar.finish_and_clear();
    let mut output = Output::new();
    for result in &results {
        if view.asked.json {
            output.json(result)?;
            continue;
        }
        match &result.error {
            Some(error) => output.line(format!("{}: not verified: {error}", result.at))?,
            None if result.at == "replicas" => output.line(format!(
                "replicas: {} partitions compared, {} differ ({} were being written)",
                grouped(result.documents),
                grouped(result.differences),
                grouped(result.changed)
            ))?,
            None => output.line(format!(
                "{}: {} documents, {} rows, {} differences ({} changed meanwhile)",
                result.at,
                grouped(result.documents),
                grouped(result.rows),
                grouped(result.differences),
                grouped(result.changed)
            ))?,
        }
        for difference in &result.examples {
            output.line(format!("  {}: {}", difference.of, difference.what))?;
        }
    }
    output.flush()?;
    let differences: u64 = results.iter().map(|result| result.differences).sum();
    if differences > 0 {
        let line = format!("{differences} differences: dunlin view rebuild makes the index anew");
        return Err(Failure::Failed(line));
    }
    if results.iter().any(|result| result.error.is_some()) {
        Err(Failure::Failed("not all shards were verified".to_owned()))
    } else {
        Ok(())
    }
}
