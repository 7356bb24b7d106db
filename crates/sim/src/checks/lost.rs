//! Which acknowledged writes the faults of a run may take, by the README's table: what `always` has
//! acknowledged survives the loss of fewer than `ack` disks; `interval` loses what was acknowledged
//! within its time before the power went at `ack` hosts, `never` all that is in memory there.

use std::collections::BTreeSet;

use dunlin_metadata::Sync;

use crate::history::{History, Loss, Write};
use crate::plan::Plan;

/// A sync at an interval may come this much late: what it takes to notice that it is due, and what
/// the simulated disk takes to do it.
const SYNC_SLACK_MS: u64 = 600;

/// Whether the run's faults may have taken this write although it was acknowledged.
pub fn may_be_lost(plan: &Plan, history: &History, write: &Write) -> bool {
    let Some(acknowledged_ms) = write.acknowledged_ms() else {
        return false;
    };
    let sync = plan.keyspaces.get(write.place.0).map(|(_, s)| s.sync);
    let within_ms = match sync {
        Some(Sync::IntervalMs(interval_ms)) => u64::from(interval_ms) + SYNC_SLACK_MS,
        Some(Sync::Never) => u64::MAX,
        _ => 0,
    };
    // Hosts that may not have it any more. One that was given back what it lost has it again.
    let mut without = BTreeSet::new();
    for (at_ms, host, loss) in &history.losses {
        let after = *at_ms >= write.begun_ms;
        match loss {
            Loss::Disk if after => {
                without.insert(*host);
            }
            Loss::Power if after && within_ms > 0 => {
                if *at_ms <= acknowledged_ms.saturating_add(within_ms) {
                    without.insert(*host);
                }
            }
            Loss::Refilled => {
                without.remove(host);
            }
            Loss::Disk | Loss::Power => {}
        }
        if without.len() >= write.ack.into() {
            return true;
        }
    }
    false
}
