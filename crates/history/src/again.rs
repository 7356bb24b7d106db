//! A weaker register: one on which a write may happen more than once before it is over.

use crate::{Kind, Operation, Outcome};

/// The operation, and if it writes, `times` more that may happen between its beginning and its end.
/// So it is where a write that is under way is repeated by whoever carries it out: it may be seen,
/// be covered, and be seen again, until it is acknowledged; never after that.
pub fn may_happen_again(operation: &Operation, times: usize) -> Vec<Operation> {
    let until = match (operation.kind, operation.outcome) {
        (Kind::Get(_), _) | (_, Outcome::Failed | Outcome::Unmet { .. }) => {
            return vec![operation.clone()];
        }
        (_, Outcome::Ok { returned }) => Some(returned),
        (_, Outcome::Unknown { until }) => until,
    };
    let mut all = vec![operation.clone(); times + 1];
    for again in &mut all[1..] {
        again.outcome = Outcome::Unknown { until };
        again.note = "may have happened again".to_owned();
    }
    all
}
