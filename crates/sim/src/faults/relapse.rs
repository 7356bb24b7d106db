//! A replica that loses what it has just acknowledged, and is asked to acknowledge more before it has
//! heard of that again (decision 22, "Whose word counts"). Of three nodes, one is *away*: cut off from
//! the others, while what they acknowledge is stamped by the clock of the one that is *ahead*. Then the
//! third, the *forgetful* one, is put back as it was before, and now the one that is ahead is cut off:
//! what the other two acknowledge has lower stamps than what they do not know of.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::Faults;
use crate::harness::cluster::{Cluster, Crash, HarnessError};
use crate::harness::directory::DirectoryCopy;

/// More than hybrid clocks are ahead in between, and less than others put up with.
const AHEAD_MS: i64 = 9_500;
/// A node that was copied is up, and has heard what it missed, for so long before it goes on.
const WHOLE_MS: u64 = 300;
/// Acknowledged writes that are enough of each kind.
const ENOUGH: u64 = 30;
/// A node that is down meanwhile is not started by others.
const LATER_MS: u64 = u64::MAX - 1;

/// Relapses in a run.
pub(super) struct Relapse {
    /// Decides about this alone, so that no other fault depends on it.
    random: StdRng,
    next_ms: u64,
    under_way: Option<UnderWay>,
}

/// Nodes by their places.
struct UnderWay {
    away: usize,
    ahead: usize,
    forgetful: usize,
    copy: DirectoryCopy,
    step: Step,
    /// When it goes on at the latest.
    until_ms: u64,
    /// How many writes were acknowledged when the step began.
    acknowledged: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The forgetful one is down, copied.
    Copied,
    /// It is up again, and is to become whole.
    Whole,
    /// One is away.
    Away,
    /// The forgetful one is down, put back.
    Forgotten,
    /// The one that is ahead is cut off.
    Relapsed,
}

impl Relapse {
    pub(super) fn new(seed: u64) -> Relapse {
        Relapse {
            random: StdRng::seed_from_u64(seed ^ 0x0e1a_95e6),
            // Before other faults.
            next_ms: 600,
            under_way: None,
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }
}

impl Faults {
    /// Takes the next step if it is due.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn go_on_relapsing(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if !cluster.shared.plan.relapses {
            return Ok(());
        }
        let acknowledged = cluster.shared.history.borrow().acknowledged;
        let Some(mut relapse) = self.relapse.under_way.take() else {
            return self.begin_relapse(cluster, now_ms);
        };
        let (away, ahead, forgetful) = (relapse.away, relapse.ahead, relapse.forgetful);
        let is_enough = acknowledged >= relapse.acknowledged + ENOUGH;
        let is_due = now_ms >= relapse.until_ms;
        let for_ms = match relapse.step {
            Step::Copied if is_due => {
                self.down_until_ms[forgetful] = None;
                cluster.restart(forgetful);
                relapse.step = Step::Whole;
                WHOLE_MS
            }
            Step::Whole if is_due && self.is_all_well(cluster) => {
                cluster.cut(away, ahead);
                cluster.cut(away, forgetful);
                cluster.hosts[ahead].set_clock(AHEAD_MS);
                relapse.step = Step::Away;
                self.relapse.random.random_range(1_000..=2_500)
            }
            Step::Away if is_due || is_enough => {
                let why = "its directory is an old copy, and nobody tells it";
                self.crash(cluster, forgetful, Crash::Kill, now_ms, why)?;
                self.down_until_ms[forgetful] = Some(LATER_MS);
                cluster.hosts[forgetful].put_back_directory(&relapse.copy)?;
                self.lack(cluster, forgetful, now_ms);
                relapse.step = Step::Forgotten;
                self.relapse.random.random_range(20..=200)
            }
            Step::Forgotten if is_due => {
                self.down_until_ms[forgetful] = None;
                // Whole again are the ways of who starts, and so the one to who was away.
                cluster.restart(forgetful);
                cluster.cut(ahead, forgetful);
                relapse.step = Step::Relapsed;
                self.relapse.random.random_range(3_000..=6_000)
            }
            Step::Relapsed if is_due || is_enough => {
                self.relapse.under_way = Some(relapse);
                return self.end_relapse(cluster);
            }
            _ => {
                self.relapse.under_way = Some(relapse);
                return Ok(());
            }
        };
        relapse.until_ms = now_ms + for_ms;
        relapse.acknowledged = acknowledged;
        self.relapse.under_way = Some(relapse);
        Ok(())
    }

    fn begin_relapse(&mut self, cluster: &mut Cluster, now_ms: u64) -> Result<(), HarnessError> {
        if now_ms < self.relapse.next_ms || !self.is_all_well(cluster) {
            return Ok(());
        }
        let mut nodes: Vec<usize> = (0..cluster.hosts.len()).collect();
        nodes.shuffle(&mut self.relapse.random);
        let [away, ahead, forgetful, ..] = nodes[..] else {
            return Ok(());
        };
        let names = [away, ahead].map(|number| cluster.hosts[number].name.clone());
        let why = format!(
            "to be put back as it is while {} is away and {} ahead",
            names[0], names[1]
        );
        for host in &cluster.hosts {
            host.set_clock(0);
        }
        self.crash(cluster, forgetful, Crash::Kill, now_ms, &why)?;
        self.down_until_ms[forgetful] = Some(LATER_MS);
        self.relapse.under_way = Some(UnderWay {
            away,
            ahead,
            forgetful,
            copy: cluster.hosts[forgetful].copy_directory()?,
            step: Step::Copied,
            until_ms: now_ms + self.relapse.random.random_range(20..=200),
            acknowledged: 0,
        });
        Ok(())
    }

    /// All hear one another again.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn end_relapse(&mut self, cluster: &mut Cluster) -> Result<(), HarnessError> {
        let Some(relapse) = self.relapse.under_way.take() else {
            return Ok(());
        };
        let (away, ahead, forgetful) = (relapse.away, relapse.ahead, relapse.forgetful);
        if self.down_until_ms[forgetful] == Some(LATER_MS) {
            self.down_until_ms[forgetful] = None;
            cluster.restart(forgetful);
        }
        for (a, b) in [(away, ahead), (away, forgetful), (ahead, forgetful)] {
            cluster.mend(a, b);
        }
        cluster.hosts[ahead].set_clock(0);
        // Until then hybrid clocks are ahead.
        let now_ms = cluster.now_ms();
        self.relapse.next_ms = now_ms + AHEAD_MS as u64;
        cluster.shared.note("all hear one another again".into());
        Ok(())
    }
}
