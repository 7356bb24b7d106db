//! Two processes with one name: an operator starts a node again on another machine, with an empty
//! or an older directory, while the first one runs, is held, or hears nothing of it.
//!
//! To the cluster that is the loss of the earlier one's disk, so it comes like one: when nothing
//! else is lacking. Who is cut off from the metadata store and from all who know of the later start
//! cannot be told, so only the earlier one is, and nobody else is held (decision 23).

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::Faults;
use crate::harness::cluster::{Cluster, HarnessError};

/// What there is twice, and what may be.
pub(super) struct Twins {
    /// Decides about twins alone, so that no other fault depends on it.
    random: StdRng,
    /// When the next node is started a second time.
    next_ms: u64,
    /// The node of which an earlier process runs on the spare machine.
    earlier: Option<Earlier>,
    /// The node whose old directory is on the spare machine.
    old: Option<usize>,
}

struct Earlier {
    number: usize,
    /// When it goes on, if it is held.
    held_until_ms: Option<u64>,
    /// When the operator ends it, if it has not ended by itself.
    until_ms: u64,
}

impl Twins {
    pub(super) fn new(seed: u64) -> Twins {
        Twins {
            random: StdRng::seed_from_u64(seed ^ 0x0071_1125),
            next_ms: 2_000,
            earlier: None,
            old: None,
        }
    }

    /// Whether two processes of one name run.
    pub(super) fn are_there(&self) -> bool {
        self.earlier.is_some()
    }
}

impl Faults {
    /// Starts a node a second time if it is time for it and nothing else is wrong.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn start_twin(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        if !cluster.shared.plan.twins || now_ms < self.twins.next_ms || !self.may_start(cluster) {
            return Ok(());
        }
        let Some(spare) = cluster.spare.clone() else {
            return Ok(());
        };
        let number = self.twins.random.random_range(0..cluster.hosts.len());
        if cluster.shared.buried.get() == Some(number) {
            return Ok(());
        }
        let earlier = cluster.hosts[number].clone();
        let is_old = self.twins.old == Some(number) && self.twins.random.random_bool(0.5);
        if !is_old {
            spare.wipe_directory()?;
        }
        // Whoever set the machine up set its clock.
        spare.set_clock(0);
        let is_deaf = self.twins.random.random_bool(0.8);
        cluster.shared.store.cut(&earlier.name, is_deaf);
        let is_held = self.twins.random.random_bool(0.3);
        let held_until_ms = is_held.then(|| now_ms + self.twins.random.random_range(100..=4_000));
        if is_held {
            earlier.pause.hold();
        }
        self.twins.earlier = Some(Earlier {
            number,
            held_until_ms,
            until_ms: now_ms + self.twins.random.random_range(2_000..=8_000),
        });
        self.twins.old = Some(number);
        cluster.shared.note(format!(
            "the node of {} is started again on {}, with {} directory{}{}",
            earlier.name,
            spare.name,
            if is_old { "an old" } else { "an empty" },
            if is_deaf {
                "; it does not hear of it"
            } else {
                ""
            },
            if is_held { "; it is held" } else { "" },
        ));
        {
            let mut history = cluster.shared.history.borrow_mut();
            history.earlier(now_ms, spare.machine, false);
            history.earlier(now_ms, earlier.machine, true);
        }
        self.lack(cluster, number, now_ms);
        cluster.start_twin(number);
        Ok(())
    }

    /// Nothing is lacking, and nothing is wrong that would keep others from hearing of it.
    fn may_start(&self, cluster: &Cluster) -> bool {
        !self.twins.are_there() && self.is_all_well(cluster)
    }

    /// Lets the earlier process go on, and ends it when it has ended by itself or its time is over.
    ///
    /// # Errors
    /// When the harness cannot do it.
    pub(super) fn end_twin(
        &mut self,
        cluster: &mut Cluster,
        now_ms: u64,
    ) -> Result<(), HarnessError> {
        let (Some(earlier), Some(machine)) = (&mut self.twins.earlier, cluster.spare.clone())
        else {
            return Ok(());
        };
        if earlier.held_until_ms.is_some_and(|until| until <= now_ms) {
            earlier.held_until_ms = None;
            machine.pause.release();
            cluster.shared.note(format!("{} goes on", machine.name));
        }
        if !machine.stopped.get() && now_ms < earlier.until_ms {
            return Ok(());
        }
        let number = earlier.number;
        self.twins.earlier = None;
        cluster.end_earlier()?;
        cluster.shared.store.cut(&machine.name, false);
        cluster
            .shared
            .note(format!("the earlier process on {} is gone", machine.name));
        // With what it alone acknowledged.
        let now_ms = cluster.now_ms();
        self.twins.next_ms = now_ms + self.twins.random.random_range(500..=4_000);
        self.lack(cluster, number, now_ms);
        Ok(())
    }
}
