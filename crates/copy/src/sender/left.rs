//! What is left to send.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::watch::Watch;

/// The units that are not done, after telling who watches of them all.
pub(crate) fn left(plan: &Plan, done: &[u32], watch: &Watch) -> Vec<u32> {
    let done: BTreeSet<u32> = done.iter().copied().collect();
    let mut left = Vec::new();
    let mut units = watch.lock();
    for (number, unit) in plan.units.iter().enumerate() {
        let number = number as u32;
        units.total += 1;
        units.total_size_bytes += unit.size_bytes();
        if done.contains(&number) {
            units.done += 1;
            units.done_size_bytes += unit.size_bytes();
        } else {
            left.push(number);
        }
    }
    (units.done_before, units.done_before_size_bytes) = (units.done, units.done_size_bytes);
    left
}
