//! One seed of several clusters, from start to outcome.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use dunlin_node::Sabotage;

use super::build::build;
use super::faults::LinkFaults;
use super::history::{Values, check};
use super::names::link_name;
use super::plan::{Forgets, LATE_MS, LinkPlan, Shape};
use super::scene::Scene;
use super::verify::Comparisons;
use crate::checks::Checked;
use crate::counts::Counts;
use crate::harness::chance;
use crate::harness::cluster::{Cluster, HarnessError, broken};
use crate::run::Verdict;

/// All links are made within this.
const LINK_MS_MAX: u64 = 120_000;
/// All writes have arrived within this after all faults ended.
const ARRIVE_MS_MAX: u64 = 90_000;
/// Values stay, and nothing is sent, for so long.
const STAY_MS: u64 = 6_000;
/// Clusters with nothing left to send do so within this.
const REST_MS: u64 = 4_000;
/// All links are compared within this.
const COMPARE_MS_MAX: u64 = 150_000;
/// Most lines of notes to print.
const LINES_MAX: usize = 80;

/// Runs a seed.
///
/// # Errors
/// When the harness fails.
pub fn run(seed: u64, sabotage: Sabotage) -> Result<Verdict, HarnessError> {
    let plan = LinkPlan::new(seed, sabotage);
    chance::from_seed(seed, move || outcome(plan)).map_err(broken)?
}

fn outcome(plan: LinkPlan) -> Result<Verdict, HarnessError> {
    let (mut cluster, scene) = build(plan)?;
    let outcome = drive(&mut cluster, &scene)?;
    let history = cluster.shared.history.borrow();
    let failure = outcome.err().map(|what| {
        let plan = &scene.plan;
        let mut text = format!("seed {}: linked clusters: {what}\n{plan:?}", plan.seed);
        let skipped = history.notes.len().saturating_sub(LINES_MAX);
        for (_, at_ms, line) in history.notes.iter().skip(skipped) {
            let _ = write!(text, "\n  {at_ms:>7} ms: {line}");
        }
        let _ = write!(text, "\n  links: {:?}", scene.states.borrow());
        text
    });
    let written = scene.writes.borrow().len() as u64;
    Ok(Verdict {
        seed: scene.plan.seed,
        is_by_value: failure.is_some(),
        failure,
        trace_hash: history.trace_hash(),
        counts: Counts::default(),
        checked: Checked {
            linked: written,
            comparisons: scene.comparisons.ended.get(),
            batches: scene.batches.load(Ordering::Relaxed),
            ..Checked::default()
        },
        simulated_ms: cluster.now_ms(),
        operations: Vec::new(),
    })
}

fn drive(cluster: &mut Cluster, scene: &Rc<Scene>) -> Result<Result<(), String>, HarnessError> {
    while scene.linked_ms.get().is_none() {
        step(cluster)?;
        if cluster.now_ms() > LINK_MS_MAX {
            let made = scene.made.get();
            return Ok(Err(format!("only {made} links are made")));
        }
    }
    let linked_ms = cluster.now_ms();
    cluster.shared.note("all links are made".to_owned());
    let mut faults = LinkFaults::new(&scene.plan);
    let end_ms = linked_ms + scene.plan.faults_ms;
    while cluster.now_ms() < end_ms {
        step(cluster)?;
        let since_ms = cluster.now_ms() - linked_ms;
        if since_ms >= scene.plan.work_ms {
            scene.is_working.set(false);
        }
        let is_late = since_ms.abs_diff(scene.plan.lost_ms()) < LATE_MS;
        scene
            .is_late
            .set(is_late && scene.plan.forgets == Forgets::BeforeLoss);
        faults.tick(cluster, since_ms)?;
        if let Some(wrong) = scene.comparisons.wrong.take() {
            return Ok(Err(wrong));
        }
    }
    faults.heal(cluster);
    scene.is_working.set(false);
    // The last attempts end.
    wait(cluster, 5_000)?;
    let end_ms = cluster.now_ms() + ARRIVE_MS_MAX;
    loop {
        let checked = read(cluster, scene)?.and_then(|values| check_all(scene, &values));
        match checked {
            Ok(()) => break,
            Err(what) if cluster.now_ms() >= end_ms => return Ok(Err(what)),
            Err(_) => {}
        }
    }
    wait(cluster, STAY_MS)?;
    let checked = read(cluster, scene)?.and_then(|values| check_all(scene, &values));
    if checked.is_err() {
        return Ok(checked);
    }
    if Comparisons::are_made(&scene.plan) {
        let compared = compare_all(cluster, scene)?;
        if compared.is_err() {
            return Ok(compared);
        }
    }
    // Nothing circles.
    let sent = scene.batches.load(Ordering::Relaxed);
    wait(cluster, REST_MS)?;
    let more = scene.batches.load(Ordering::Relaxed) - sent;
    if more > 0 {
        return Ok(Err(format!(
            "{more} batches are sent though no client has written for long"
        )));
    }
    Ok(Ok(()))
}

/// All links are compared again, and their clusters are equal.
fn compare_all(cluster: &mut Cluster, scene: &Scene) -> Result<Result<(), String>, HarnessError> {
    let comparisons = &scene.comparisons;
    comparisons.equal.borrow_mut().clear();
    let end_ms = cluster.now_ms() + COMPARE_MS_MAX;
    let count = Comparisons::links(&scene.plan).len();
    while comparisons.equal.borrow().len() < count {
        wait(cluster, 100)?;
        if let Some(wrong) = comparisons.wrong.take() {
            return Ok(Err(wrong));
        }
        if cluster.now_ms() >= end_ms {
            let equal = comparisons.equal.borrow().len();
            return Ok(Err(format!(
                "comparisons call the clusters of only {equal} of {count} links equal"
            )));
        }
    }
    Ok(Ok(()))
}

fn step(cluster: &mut Cluster) -> Result<(), HarnessError> {
    cluster.step()?;
    for number in 0..cluster.hosts.len() {
        let failure = cluster.hosts[number].failure.borrow_mut().take();
        if let Some(failure) = failure {
            let name = cluster.hosts[number].name.clone();
            return Err(HarnessError(format!("{name} does not start: {failure}")));
        }
    }
    Ok(())
}

fn wait(cluster: &mut Cluster, for_ms: u64) -> Result<(), HarnessError> {
    let end_ms = cluster.now_ms() + for_ms;
    while cluster.now_ms() < end_ms {
        step(cluster)?;
    }
    Ok(())
}

/// The values of all clusters, as they are from now on.
fn read(cluster: &mut Cluster, scene: &Scene) -> Result<Result<Vec<Values>, String>, HarnessError> {
    scene.values.borrow_mut().clear();
    let end_ms = cluster.now_ms() + 20_000;
    while scene.values.borrow().len() < scene.plan.clusters {
        wait(cluster, 100)?;
        if cluster.now_ms() >= end_ms {
            return Ok(Err("a cluster does not answer a scan".to_owned()));
        }
    }
    Ok(Ok(scene.values.borrow().values().cloned().collect()))
}

fn check_all(scene: &Scene, values: &[Values]) -> Result<(), String> {
    let plan = &scene.plan;
    let states = scene.states.borrow();
    let is_broken = |(from, to): &(usize, usize)| {
        let state = states.get(&(*from, link_name(*from, *to)));
        state.is_some_and(|state| state == "broken")
    };
    let all = plan.links();
    let links: Vec<(usize, usize)> = all.iter().copied().filter(|l| !is_broken(l)).collect();
    if links.len() < all.len() && plan.forgets == Forgets::Never {
        return Err("a link is broken though no line was cut for long".to_owned());
    }
    let apart_ms = 2 * plan.skew_ms_max as u64 + 2;
    let writes = scene.writes.borrow();
    for (cluster, of_cluster) in values.iter().enumerate() {
        let reaching = plan.reaching(cluster, &links);
        check(
            &writes,
            (cluster, &reaching),
            plan.keys,
            of_cluster,
            apart_ms,
        )?;
    }
    let is_whole = plan.shape != Shape::Line && links.len() == all.len();
    if is_whole && let Some(other) = values.iter().position(|v| *v != values[0]) {
        let differs = |key: &u16| values[0].get(key) != values[other].get(key);
        let key = (0..plan.keys).find(differs).unwrap_or_default();
        let of = |at: usize| values[at].get(&key);
        return Err(format!(
            "clusters 0 and {other} differ in key {key}: {:?} and {:?}",
            of(0),
            of(other)
        ));
    }
    Ok(())
}
