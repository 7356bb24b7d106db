//! Which version a write gets, and whether it happens. Pure: every replica applies the same entries in the same
//! order, and so comes to the same verdict; a leader that judged before would let two in flight both win.

use dunlin_entry::{Origin, Stamp, Version};
use dunlin_proto::Condition;

use crate::command::Command;

/// The origin of all versions of ranges: order is by the log, not by who wrote.
pub const ORIGIN: Origin = Origin(0);

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It happens, with this version.
    Done(Version),
    /// Its condition does not hold; the version there is, if there is a value.
    ConditionFailed(Option<Version>),
    /// The version that it would get is above its deadline.
    TooLate(Version),
}

/// Judges a write beside the greatest version applied in its range so far, and that of its key where that has
/// a value. A leader's clock may be behind that of the one before: versions never go backwards.
pub(crate) fn judge(command: &Command, greatest: Version, current: Option<Version>) -> Verdict {
    let above = greatest.max(command.floor);
    let version = command.clock.max(Version(above.0.saturating_add(1)));
    if version > command.deadline || version == Version::MAX {
        return Verdict::TooLate(version);
    }
    match holds(command.condition, current) {
        true => Verdict::Done(version),
        false => Verdict::ConditionFailed(current),
    }
}

/// Whether a condition holds of a key that has this version, where it has a value.
pub fn holds(condition: Condition, current: Option<Version>) -> bool {
    match condition {
        Condition::None => true,
        Condition::Absent => current.is_none(),
        Condition::Present => current.is_some(),
        Condition::Is(stamp) => current.map(|version| Stamp::new(version, ORIGIN)) == Some(stamp),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
