//! One seed from beginning to verdict.

use dunlin_history::Outcome;
use dunlin_metadata::Phase as ChangePhase;
use dunlin_node::Sabotage;

use crate::checks::{self, Broken, Checked};
use crate::clients::{is_direct, is_session};
use crate::counts::Counts;
use crate::faults::Faults;
use crate::harness::chance;
use crate::harness::cluster::{Cluster, HarnessError, broken};
use crate::harness::host::Phase;
use crate::links::{self, LinkPlan};
use crate::plan::Plan;
use crate::report::report;

/// Clients go on for so long after the last fault.
const AFTERMATH_MS: u64 = 1_500;
/// A store is flushed within this, mostly.
const FLUSH_MS_MAX: u64 = 4_000;
/// Replicas must be equal within this after all is whole again.
const CONVERGE_MS_MAX: u64 = 90_000;
/// The same where only values count: then it is no more than a pause.
const SETTLE_MS_MAX: u64 = 30_000;
/// After so long an operator looks for stamps far ahead that keep them from it.
const MEND_AFTER_MS: u64 = 10_000;
/// A change that is beyond copying by then is given up for it.
const CANCEL_AFTER_MS: u64 = 30_000;
/// At one node after another, so long each.
const MENDER_MS: u64 = 6_000;
/// How often to look whether they are.
const LOOK_MS: u64 = 500;
/// They must stay equal for so long, through compactions.
const STAY_MS: u64 = 6_000;
/// Ranges have all their replicas within this.
const WHOLE_MS_MAX: u64 = 90_000;
/// Indexes of views have all of their logs within this, and how often they are compared before.
const INDEX_MS_MAX: u64 = 30_000;
const COMPARE_MS: u64 = 500;
/// The final reads are done within this, answered or not.
const READ_ALL_MS_MAX: u64 = 120_000;

/// What came of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The seed.
    pub seed: u64,
    /// What broke, told for people; none when all held.
    pub failure: Option<String>,
    /// Whether what broke is a value that a client was told; else it is something that did not come
    /// about, or that stands in a store.
    pub is_by_value: bool,
    /// One number for all that happened: the same seed gives the same.
    pub trace_hash: u64,
    /// Proof that something happened.
    pub counts: Counts,
    /// How much was judged.
    pub checked: Checked,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
    /// What clients did and saw, for outside checkers.
    pub operations: Vec<dunlin_history::Operation>,
}

/// Runs a seed.
///
/// # Errors
/// When the harness fails; a broken promise is a verdict, not an error.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Verdict, HarnessError> {
    if sabotage.is_of_links() {
        return links::run(seed, sabotage);
    }
    let plain = play(Plan::new(seed, sabotage))?;
    if plain.failure.is_some() || sabotage != Sabotage::None || !LinkPlan::is_drawn(seed) {
        return Ok(plain);
    }
    // A second run, so that the first is what it would be without.
    let linked = links::run(seed, sabotage)?;
    let mut checked = plain.checked;
    checked += linked.checked;
    Ok(Verdict {
        failure: linked.failure,
        is_by_value: linked.is_by_value,
        trace_hash: plain.trace_hash ^ linked.trace_hash.rotate_left(1),
        checked,
        simulated_ms: plain.simulated_ms + linked.simulated_ms,
        ..plain
    })
}

/// Runs a plan.
///
/// # Errors
/// As `run`.
pub(crate) fn play(plan: Plan) -> Result<Verdict, HarnessError> {
    chance::from_seed(plan.seed, move || judged(plan)).map_err(broken)?
}

/// Runs a seed twice: that the second run differs from the first is a failure, too.
///
/// # Errors
/// When the harness fails.
pub fn run_twice(seed: u64, sabotage: Sabotage) -> Result<Verdict, HarnessError> {
    let first = run(seed, sabotage)?;
    let second = run(seed, sabotage)?;
    if first == second {
        return Ok(first);
    }
    let failure = format!(
        "seed {seed} is no run: its trace is {:016x}, then {:016x}",
        first.trace_hash, second.trace_hash
    );
    Ok(Verdict {
        failure: Some(failure),
        ..second
    })
}

fn judged(plan: Plan) -> Result<Verdict, HarnessError> {
    let seed = plan.seed;
    let mut cluster = Cluster::start(plan)?;
    let outcome = drive(&mut cluster)?;
    cluster.count_live();
    cluster.counts.count(&cluster.shared.followers);
    if let Err(Broken {
        place: Some(place), ..
    }) = &outcome
    {
        let held = checks::held_now(&cluster, *place);
        cluster.shared.note(held);
    }
    let history = cluster.shared.history.borrow();
    let checked = outcome.as_ref().copied().unwrap_or_default();
    cluster.counts.ranges.operations = cluster.shared.ranges.operations().len() as u64;
    for txn in cluster.shared.txns.history.borrow().iter() {
        if matches!(txn.outcome, Outcome::Ok { .. }) {
            let kind =
                usize::from(is_session(txn.process)) + 2 * usize::from(is_direct(txn.process));
            cluster.counts.ranges.txns[kind] += 1;
        }
    }
    let is_by_value = outcome.is_err()
        && (checks::judge(&cluster.shared.plan, &history).is_err()
            || checks::ranges(&cluster).is_err()
            || cluster.shared.followers.missed().is_some());
    let failure = outcome
        .err()
        .map(|broken| report(&cluster.shared.plan, &history, &broken));
    Ok(Verdict {
        seed,
        failure,
        is_by_value,
        trace_hash: history.trace_hash(),
        counts: cluster.counts,
        checked,
        operations: checks::operations(&cluster.shared.plan, &history),
        simulated_ms: cluster.now_ms(),
    })
}

fn drive(cluster: &mut Cluster) -> Result<Result<Checked, Broken>, HarnessError> {
    let mut faults = Faults::new(cluster);
    let chaos_ms = cluster.shared.plan.chaos_ms;
    let (mut compare_ms, mut look_ms) = (COMPARE_MS, LOOK_MS);
    while cluster.now_ms() < chaos_ms {
        cluster.step()?;
        faults.tick(cluster)?;
        if cluster.now_ms() >= cluster.shared.plan.rest_ms {
            cluster.shared.phase.set(Phase::Quiet);
        }
        if let Some(broken) = start_failure(cluster).or_else(|| missed(cluster)) {
            return Ok(Err(broken));
        }
        if cluster.now_ms() >= look_ms {
            look_ms = cluster.now_ms() + LOOK_MS;
            if let Err(broken) = checks::timestamps(cluster) {
                return Ok(Err(broken));
            }
        }
        if cluster.shared.plan.views && cluster.now_ms() >= compare_ms {
            compare_ms = cluster.now_ms() + COMPARE_MS;
            if let Err(broken) = compare_views(cluster) {
                return Ok(Err(broken));
            }
        }
    }
    let values_only = cluster.shared.plan.values_only;
    if cluster.shared.plan.dark_end {
        darken(cluster, &mut faults)?;
    }
    faults.heal(cluster)?;
    wait(cluster, AFTERMATH_MS)?;
    cluster.shared.phase.set(Phase::Quiet);
    if let Err(broken) = converge(cluster, &mut faults)?
        && !values_only
    {
        return Ok(Err(broken));
    }
    wait(cluster, STAY_MS)?;
    if cluster.shared.plan.ends && checks::converged(cluster).is_err() {
        // The end of a value may be on its way in this moment.
        wait(cluster, LOOK_MS)?;
    }
    if let Err(broken) = checks::converged(cluster)
        && !values_only
    {
        return Ok(Err(broken));
    }
    if let Err(broken) = make_whole(cluster, &mut faults)? {
        return Ok(Err(broken));
    }
    if let Err(broken) = checks::replicas(cluster) {
        cluster.shared.followers.miss(broken.text.clone());
        return Ok(Err(broken));
    }
    let read = read_all(cluster)?;
    if let Some(broken) = missed(cluster) {
        return Ok(Err(broken));
    }
    if let Err(broken) = checks::shown(cluster) {
        cluster.shared.followers.miss(broken.text.clone());
        return Ok(Err(broken));
    }
    if let Err(broken) = index_all(cluster)? {
        return Ok(Err(broken));
    }
    // What clients saw tells more than that they saw too little.
    Ok(verify(cluster).and_then(|checked| read.map(|()| checked)))
}

/// Takes the power from all at once, in the moment in which a store has just been flushed if there is
/// one soon. Clients have gone, so what was left is what is read in the end.
fn darken(cluster: &mut Cluster, faults: &mut Faults) -> Result<(), HarnessError> {
    let end_ms = cluster.now_ms() + FLUSH_MS_MAX;
    let before = flushed(cluster);
    while cluster.now_ms() < end_ms && flushed(cluster) == before {
        cluster.step()?;
    }
    cluster.shared.phase.set(Phase::Quiet);
    faults.black_out(cluster)
}

/// The last log record in the files of each running shard's store.
fn flushed(cluster: &Cluster) -> Vec<u64> {
    let live = cluster.hosts.iter().flat_map(|host| host.live());
    live.map(|shard| shard.store().flushed_applied()).collect()
}

/// The checks of the history.
fn verify(cluster: &Cluster) -> Result<Checked, Broken> {
    let history = cluster.shared.history.borrow();
    let plan = &cluster.shared.plan;
    checks::ranges(cluster)?;
    checks::judge(plan, &history)
}

fn wait(cluster: &mut Cluster, for_ms: u64) -> Result<(), HarnessError> {
    let end_ms = cluster.now_ms() + for_ms;
    while cluster.now_ms() < end_ms {
        cluster.step()?;
    }
    Ok(())
}

/// Waits until all ranges are whole.
fn make_whole(
    cluster: &mut Cluster,
    faults: &mut Faults,
) -> Result<Result<(), Broken>, HarnessError> {
    let end_ms = cluster.now_ms() + WHOLE_MS_MAX;
    loop {
        match checks::whole(cluster) {
            Ok(()) => return Ok(Ok(())),
            Err(broken) if cluster.now_ms() >= end_ms && !cluster.shared.plan.values_only => {
                return Ok(Err(broken));
            }
            Err(_) if cluster.now_ms() >= end_ms => return Ok(Ok(())),
            Err(_) => {
                faults.restart_failed_ranges(cluster)?;
                wait(cluster, LOOK_MS)?;
            }
        }
    }
}

/// Compares indexes of views with the stores beside them; how many are late.
fn compare_views(cluster: &mut Cluster) -> Result<u64, Broken> {
    match checks::views(cluster) {
        Ok(compared) => {
            cluster.counts.indexes_compared += compared.indexes;
            Ok(compared.late)
        }
        Err(broken) => {
            cluster.shared.followers.miss(broken.text.clone());
            Err(broken)
        }
    }
}

/// The same once none is late.
fn index_all(cluster: &mut Cluster) -> Result<Result<(), Broken>, HarnessError> {
    if !cluster.shared.plan.views {
        return Ok(Ok(()));
    }
    let end_ms = cluster.now_ms() + INDEX_MS_MAX;
    loop {
        match compare_views(cluster) {
            Ok(0) => return Ok(Ok(())),
            Ok(_) if cluster.shared.plan.values_only && cluster.now_ms() >= end_ms => {
                return Ok(Ok(()));
            }
            Ok(late) if cluster.now_ms() >= end_ms => {
                return Ok(Err(Broken {
                    text: format!("{late} indexes of views do not come to the end of their logs"),
                    place: None,
                    at: None,
                }));
            }
            Ok(_) => wait(cluster, LOOK_MS)?,
            Err(broken) => return Ok(Err(broken)),
        }
    }
}

/// What a follower was not given.
fn missed(cluster: &Cluster) -> Option<Broken> {
    let text = cluster.shared.followers.missed()?;
    Some(Broken {
        text,
        place: None,
        at: None,
    })
}

fn start_failure(cluster: &Cluster) -> Option<Broken> {
    if cluster.shared.plan.values_only {
        return None;
    }
    cluster.hosts.iter().find_map(|host| {
        let error = host.failure.borrow();
        // A disk that was made to fail is the operator's business: see `faults`.
        let error = error.as_ref().filter(|e| !is_disk_fault(e))?;
        Some(Broken {
            text: format!("{} does not start: {error}", host.name),
            place: None,
            at: None,
        })
    })
}

/// Whether a node's error comes from a fault of its disk that this run made.
pub fn is_disk_fault(error: &str) -> bool {
    ["simulated", "no storage space", "Too many open files"]
        .iter()
        .any(|words| error.contains(words))
}

fn converge(
    cluster: &mut Cluster,
    faults: &mut Faults,
) -> Result<Result<(), Broken>, HarnessError> {
    let within_ms = if cluster.shared.plan.values_only {
        SETTLE_MS_MAX
    } else {
        CONVERGE_MS_MAX
    };
    let begun_ms = cluster.now_ms();
    let end_ms = begun_ms + within_ms;
    loop {
        wait(cluster, LOOK_MS)?;
        if let Some(broken) = start_failure(cluster) {
            return Ok(Err(broken));
        }
        let now_ms = cluster.now_ms();
        faults.restart_failed(cluster, now_ms)?;
        faults.restart_failed_ranges(cluster)?;
        faults.bury(cluster)?;
        operate(cluster, now_ms.saturating_sub(begun_ms))?;
        match checks::converged(cluster) {
            Ok(()) => return Ok(Ok(())),
            Err(mut broken) if cluster.now_ms() >= end_ms => {
                broken.text = format!(
                    "{} s after all faults ended: {}",
                    within_ms / 1_000,
                    broken.text
                );
                return Ok(Err(broken));
            }
            Err(_) => {}
        }
    }
}

/// What an operator does who sees that nodes refuse stamps: a node whose clock is wrong and that reached
/// nobody has stored some, which nobody can copy (decision 24).
fn operate(cluster: &mut Cluster, since_ms: u64) -> Result<(), HarnessError> {
    let mut live = cluster.hosts.iter().flat_map(|host| host.live());
    if since_ms < MEND_AFTER_MS || !live.any(|shard| shard.status().refused_stamps > 0) {
        return Ok(());
    }
    let topology = cluster.shared.metadata.topology().borrow().clone();
    let change = topology.members.change.as_ref();
    let is_joint = change.is_some_and(|change| change.phase == ChangePhase::Joint);
    if is_joint && since_ms >= CANCEL_AFTER_MS && cluster.cancel_change()? {
        let text = "the change of members is given up, for stamps to be mended";
        cluster.shared.note(text.into());
    }
    let turn = (since_ms / MENDER_MS) as usize % cluster.hosts.len();
    cluster.shared.mender.set(Some(turn));
    Ok(())
}

fn read_all(cluster: &mut Cluster) -> Result<Result<(), Broken>, HarnessError> {
    cluster.shared.phase.set(Phase::FinalReads);
    let end_ms = cluster.now_ms() + READ_ALL_MS_MAX;
    let buried = cluster.shared.buried.get();
    let is_left = |number: usize| buried != Some(number);
    let is_read =
        |number: usize, cluster: &Cluster| cluster.shared.read_all.borrow().contains(&number);
    while cluster
        .hosts
        .iter()
        .any(|h| is_left(h.number()) && !is_read(h.number(), cluster))
    {
        cluster.step()?;
        if cluster.now_ms() >= end_ms {
            break;
        }
    }
    let unanswered = cluster.shared.unanswered.borrow().clone();
    let unanswered = unanswered.or_else(|| {
        (cluster.now_ms() >= end_ms).then(|| "a read does not come to an end".to_owned())
    });
    Ok(unanswered.map_or(Ok(()), |what| {
        Err(Broken {
            text: format!("after all was whole again, {what}"),
            place: None,
            at: None,
        })
    }))
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
