//! Whether this shard's clock may decide anything: pure, out of its distances to the others'.
//!
//! Decision 24: who differs from a majority of the members, itself included, by more than the bound
//! is fenced, ahead or behind. Who has just started waits until a majority agrees with it; what
//! patience alone gave is lost to the first who differs.

/// How far another node's clock is ahead of this one's, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    /// Milliseconds; negative when it is behind.
    pub ahead_ms: i64,
    /// By how much that may be wrong: half of the way there and back.
    pub error_ms: u64,
}

impl Offset {
    /// Whether it is beyond a bound: within what the measurement may be wrong by, nobody is accused.
    pub fn is_beyond(&self, bound_ms: u64) -> bool {
        self.ahead_ms.unsigned_abs() > bound_ms.saturating_add(self.error_ms)
    }
}

/// What a shard's clock is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It started, and has not been compared with a majority yet.
    #[default]
    Starting,
    /// It started, reaches no majority, and nobody it reaches says otherwise: it goes on, until
    /// somebody does.
    Alone,
    /// A majority agrees, or did when last asked.
    Trusted,
    /// A majority is further away than the bound.
    Fenced {
        /// How far this clock is ahead of the others' median, in milliseconds.
        ahead_ms: i64,
    },
}

/// The verdict on a clock.
///
/// `others` has an element for each other member: its offset, `None` while it has not told.
/// `waited` says that a start has been patient.
pub(crate) fn judge(
    before: Trust,
    others: &[Option<Offset>],
    bound_ms: u64,
    waited: bool,
) -> Trust {
    let members = others.len() + 1;
    let majority = members / 2 + 1;
    let told = || others.iter().flatten();
    let differs = |offset: &&Offset| offset.is_beyond(bound_ms);
    let differing = told().filter(differs).count();
    let agreeing = 1 + told().count() - differing;
    if agreeing >= majority {
        return Trust::Trusted;
    }
    if differing >= majority {
        let mut ahead_ms: Vec<i64> = told().filter(differs).map(|o| o.ahead_ms).collect();
        ahead_ms.sort_unstable();
        let median_ms = ahead_ms.get(ahead_ms.len() / 2).copied().unwrap_or(0);
        return Trust::Fenced {
            ahead_ms: median_ms.saturating_neg(),
        };
    }
    match before {
        // Nobody it reaches says otherwise: alone.
        Trust::Starting if waited && differing == 0 => Trust::Alone,
        Trust::Alone if differing > 0 => Trust::Starting,
        before => before,
    }
}

/// The distance between two clocks: `sent_ms` and `received_ms` here, `there_ms` in between.
pub(crate) fn measure(sent_ms: u64, received_ms: u64, there_ms: u64, way_ms: u64) -> Offset {
    let middle_ms = sent_ms.saturating_add(received_ms.saturating_sub(sent_ms) / 2);
    let ahead_ms = i128::from(there_ms) - i128::from(middle_ms);
    Offset {
        ahead_ms: ahead_ms.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
        error_ms: way_ms.div_ceil(2),
    }
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
