//! A comparison of two linked clusters, from its beginning or where an earlier one ended, and its progress as lines of JSON.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_metadata::LinkRecord;
use dunlin_node::http::{Answer, Params, Rejected, stream};
use dunlin_node::{Failure, LinkedKeyspace, Services};
use dunlin_proto::api::{DifferentKey, HexVersion, LinkVerified, VerifyPhase};
use futures_util::{StreamExt, stream as streams};
use hyper::body::Frame;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use super::confirm::{Confirm, Confirmed};
use super::other::Other;
use super::outcome::Outcome;
use super::saved::{self, Saved};
use super::serve::KEYS_MAX;
use super::walk::Walk;
use crate::running::{LinksAtShard, times};

/// How often it reports its progress, repeats the last report where there is no progress, and saves it.
const REPORT: Duration = Duration::from_millis(500);
const REPEAT: Duration = Duration::from_secs(2);
const SAVE: Duration = Duration::from_secs(5);
/// How long it waits for the link, where the request does not say.
const TIMEOUT_S: u64 = 60;
/// Candidates that are gathered, and differences that are named, at most.
const CANDIDATES: usize = 4_096;
const EXAMPLES: usize = 1_000;
const EXAMPLE_BYTES: usize = 64 << 10;

/// The options of a request.
#[derive(Debug, Clone, Copy)]
struct Options {
    is_repair: bool,
    is_resume: bool,
    /// Bytes a second that are read at most.
    limit: Option<u64>,
    timeout: Duration,
}

impl Options {
    fn of(params: &Params) -> Result<Options, Rejected> {
        let flag = |name: &str| match params.get(name).map(|value| &value[..]) {
            None | Some(b"false") => Ok(false),
            Some(b"true" | b"") => Ok(true),
            Some(_) => Err(Rejected::bad(format!("{name} is true or false"))),
        };
        let timeout_s = params.number("timeout_s")?.unwrap_or(TIMEOUT_S);
        Ok(Options {
            is_repair: flag("repair")?,
            is_resume: flag("resume")?,
            limit: params.number("limit")?.filter(|limit| *limit > 0),
            timeout: Duration::from_secs(timeout_s.clamp(1, 86_400)),
        })
    }
}

/// `POST /v1/keyspaces/NAME/links/LINK/verify`.
pub(crate) fn answer(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    link: LinkRecord,
    params: &Params,
) -> Result<Answer, Rejected> {
    let options = Options::of(params)?;
    let own = LinksAtShard::of(services);
    let own = own.ok_or_else(|| Rejected::bad("links are not served here"))?;
    let (report, reports) = unbounded_channel::<LinkVerified>();
    let run = Run {
        confirm: Confirm {
            services: services.clone(),
            keyspace: keyspace.record.id,
            other: Other {
                transport: own.transport.clone(),
                link,
            },
            timeout: options.timeout,
        },
        options,
        verified: LinkVerified::default(),
        report,
        candidates: VecDeque::new(),
    };
    spawn_local(run.run());
    let lines = streams::unfold((reports, None), |(mut reports, mut last)| async move {
        // The same again where nothing new is known for a while: the client waits for each line only so long.
        if let Ok(report) = timeout(REPEAT, reports.recv()).await {
            last = Some(report?);
        }
        let mut line = serde_json::to_vec(&last.clone().unwrap_or_default()).unwrap_or_default();
        line.push(b'\n');
        let line = Ok::<_, Failure>(Frame::data(Bytes::from(line)));
        Some((line, (reports, last)))
    });
    Ok(stream(
        services,
        "application/x-ndjson",
        lines.boxed_local(),
    ))
}

struct Run {
    confirm: Confirm,
    options: Options,
    verified: LinkVerified,
    report: UnboundedSender<LinkVerified>,
    /// Keys whose ranges differ.
    candidates: VecDeque<Bytes>,
}

impl Run {
    async fn run(mut self) {
        let report = self.report.clone();
        let result = tokio::select! {
            result = self.compare() => result,
            // The client is gone: the saved state stays.
            () = report.closed() => return,
        };
        if let Err(line) = result {
            self.verified.why = Some(line);
            self.verified.not_known = self.verified.not_known.max(1);
        }
        self.verified.phase = VerifyPhase::Done;
        // The client may be gone.
        let _ = self.report.send(self.verified.clone());
    }

    fn send(&self) {
        let progress = LinkVerified {
            examples: Vec::new(),
            ..self.verified.clone()
        };
        // The client may be gone.
        let _ = self.report.send(progress);
    }

    /// Where the walk begins.
    async fn begin(&mut self) -> Result<Walk, String> {
        let confirm = &self.confirm;
        let (services, keyspace) = (&confirm.services, confirm.keyspace);
        let link = &confirm.other.link;
        let own = services.partition_count(keyspace).unwrap_or(1);
        let unclear = |failure: Failure| format!("the clock is not trusted now: {failure}");
        let until = services.stamp_clock().map_err(unclear)?;
        let mut walk = Walk::new(until, &link.prefix, own);
        self.verified.until = HexVersion(until);
        if self.options.is_resume {
            let saved = saved::load(services, keyspace, link.id).await;
            let saved = saved.map_err(|failure| format!("its state cannot be read: {failure}"))?;
            let saved = saved.ok_or(
                "there is nothing to resume: no comparison of this link ended early; leave out --resume",
            )?;
            walk.of = saved.of;
            walk.partition = saved.partition;
            let start = STANDARD.decode(&saved.start_base64);
            walk.start = start.map_err(|error| error.to_string())?.into();
            // The earlier part is compared up to the earlier version.
            self.verified = saved.verified;
            self.verified.why = None;
        }
        self.verified.phase = VerifyPhase::Waiting;
        self.verified.partitions = walk.of.into();
        self.send();
        let all = (0..own).map(|partition| (partition, until));
        self.confirm
            .delivered(&all.collect::<BTreeMap<_, _>>())
            .await?;
        self.verified.phase = VerifyPhase::Comparing;
        Ok(walk)
    }

    async fn compare(&mut self) -> Result<(), String> {
        let mut walk = self.begin().await?;
        let mut report_at = Instant::now();
        let mut save_at = Instant::now() + SAVE;
        while !walk.is_done() {
            let start = Instant::now();
            let step = walk.step(&self.confirm).await?;
            self.verified.records += step.records;
            self.verified.compared = walk.partition.into();
            self.verified.partitions = walk.of.into();
            self.candidates.extend(step.differ);
            if let Some(limit) = self.options.limit {
                let cost = Duration::from_secs_f64(step.read_bytes as f64 / limit as f64);
                sleep(cost.saturating_sub(start.elapsed())).await;
            }
            let is_due = Instant::now() >= save_at;
            if self.candidates.len() >= CANDIDATES || is_due {
                self.confirm_all().await?;
            }
            if is_due {
                self.save(&walk).await;
                save_at = Instant::now() + SAVE;
            }
            if Instant::now() >= report_at {
                self.send();
                report_at = Instant::now() + REPORT;
            }
        }
        self.confirm_all().await?;
        let key = (self.confirm.keyspace, self.confirm.other.link.id);
        if let Err(failure) = saved::save(&self.confirm.services, key, None).await {
            tracing::info!(%failure, "the state of an ended comparison stays");
        }
        Ok(())
    }

    /// Saves where it goes on. All keys before are confirmed.
    async fn save(&self, walk: &Walk) {
        let state = Saved {
            partition: walk.partition,
            of: walk.of,
            start_base64: STANDARD.encode(&walk.start),
            verified: self.verified.clone(),
        };
        let key = (self.confirm.keyspace, self.confirm.other.link.id);
        if let Err(failure) = saved::save(&self.confirm.services, key, Some(&state)).await {
            tracing::info!(%failure, "the state of a comparison is not saved now");
        }
    }

    /// Reads all candidates on majorities of both clusters.
    async fn confirm_all(&mut self) -> Result<(), String> {
        while !self.candidates.is_empty() {
            let count = self.candidates.len().min(KEYS_MAX);
            let keys: Vec<Bytes> = self.candidates.drain(..count).collect();
            let confirmed = self.confirm.all(keys).await?;
            self.verified.confirmed += confirmed.len() as u64;
            for key in &confirmed {
                self.note(key);
            }
            if self.options.is_repair {
                let times = times(&self.confirm.services);
                let repaired = self.confirm.repair(&confirmed, times).await?;
                self.verified.repaired += repaired.equal;
                if repaired.why.is_some() {
                    self.verified.why = repaired.why;
                }
            }
            self.send();
        }
        Ok(())
    }

    fn note(&mut self, confirmed: &Confirmed) {
        let verified = &mut self.verified;
        let what = match confirmed.outcome {
            Some(Outcome::Equal) => return,
            Some(Outcome::Different(what)) => what,
            Some(Outcome::Again) | None => {
                verified.not_known += 1;
                verified.why =
                    Some("keys were written again and again, or are on their way".to_owned());
                return;
            }
        };
        *verified.differences.entry(what).or_default() += 1;
        let bytes = || verified.examples.iter().map(|e| e.key_base64.len());
        if verified.examples.len() < EXAMPLES && bytes().sum::<usize>() < EXAMPLE_BYTES {
            let version = |entry: &dunlin_entry::Entry| entry.stamp.to_string();
            verified.examples.push(DifferentKey {
                key_base64: STANDARD.encode(&confirmed.key),
                what,
                version_here: confirmed.here.as_ref().map(version),
                version_there: confirmed.there.as_ref().map(version),
            });
        }
    }
}
