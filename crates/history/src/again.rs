//! A weaker register: one on which a write may happen more than once before it is over.

use std::collections::{BTreeSet, HashMap};

use crate::{Kind, Limits, Moment, Operation, Outcome, Report, Value, check};

/// How often a write may happen again, at first: it is seldom more, and each time costs states.
const TIMES_FIRST: usize = 2;
/// How many times some writes are granted more.
const ROUNDS_MAX: usize = 16;

/// Judges the keys once more that `report` found to be no registers, with this granted: a write that
/// is under way may be repeated by whoever carries it out, so it may be seen, be covered, and be seen
/// again, until it is acknowledged; never after that. `once` tells those that are granted nothing.
///
/// Each may be repeated a few times; the writes that show what is found even so, as often as can
/// matter, until nothing is found or they have all been granted that.
pub fn grant_again(
    report: &mut Report,
    operations: &[Operation],
    once: impl Fn(&Operation) -> bool,
    limits: Limits,
) {
    let mut often: BTreeSet<(String, u64, Moment)> = BTreeSet::new();
    let name = |o: &Operation| (o.key.clone(), o.process, o.invoked);
    for _ in 0..ROUNDS_MAX {
        let keys: BTreeSet<&str> = report.violations.iter().map(|v| v.key.as_str()).collect();
        let suspects = operations.iter().filter(|o| keys.contains(o.key.as_str()));
        let suspects: Vec<&Operation> = suspects.collect();
        let times = |o: &Operation| match often.contains(&name(o)) {
            _ if once(o) => 0,
            true => usize::MAX,
            false => TIMES_FIRST,
        };
        let found = check(&may_happen_again(&suspects, times), limits);
        report.violations = found.violations;
        report.undecided.extend(found.undecided);
        let proofs = report.violations.iter().flat_map(|v| &v.proof);
        let writes = proofs.filter(|o| o.writes().is_some()).map(name);
        let before = often.len();
        often.extend(writes);
        if often.len() == before {
            return;
        }
    }
}

/// The operations, and for each that writes as many more that may happen between its beginning and
/// its end as can matter, but no more than `times` says.
///
/// How many matter: let an order hold more of them than there are operations that see what they
/// write, and were not over before it began. One of them is seen by none, and what comes right after
/// it is a write or nothing; without it the order is an order too. If that one is the operation
/// itself, which must happen, it changes places with one that is seen.
fn may_happen_again(
    operations: &[&Operation],
    times: impl Fn(&Operation) -> usize,
) -> Vec<Operation> {
    let seen = Seen::of(operations);
    let with_more = |operation: &&Operation| {
        let more = match operation.writes() {
            Some(value) => seen.times(operation, value).saturating_sub(1),
            None => 0,
        };
        let until = match operation.outcome {
            Outcome::Unknown { until } => until,
            _ => operation.returned(),
        };
        let again = Operation {
            outcome: Outcome::Unknown { until },
            note: "may have happened again".to_owned(),
            ..(*operation).clone()
        };
        let again = std::iter::repeat_n(again, more.min(times(operation)));
        std::iter::once((*operation).clone()).chain(again)
    };
    operations.iter().flat_map(with_more).collect()
}

/// When what saw each value of each key was over; operations that are content with many values are
/// counted for each.
struct Seen<'a> {
    of: HashMap<(&'a str, Option<Value>), Vec<Moment>>,
    of_any: HashMap<&'a str, Vec<Moment>>,
}

impl<'a> Seen<'a> {
    fn of(operations: &[&'a Operation]) -> Seen<'a> {
        let mut seen = Seen {
            of: HashMap::new(),
            of_any: HashMap::new(),
        };
        for operation in operations {
            let key = operation.key.as_str();
            let over = operation.returned().unwrap_or(Moment::MAX);
            let value = match (operation.kind, operation.outcome) {
                (_, Outcome::Failed) | (Kind::Get(_), Outcome::Unknown { .. }) => continue,
                (Kind::Swap { .. }, Outcome::Unmet { .. }) => {
                    seen.of_any.entry(key).or_default().push(over);
                    continue;
                }
                (Kind::Get(found), _) => found,
                (Kind::Swap { expected, .. }, _) => expected,
                (Kind::Put(_) | Kind::Delete, _) => continue,
            };
            seen.of.entry((key, value)).or_default().push(over);
        }
        seen
    }

    /// How many may have seen what `operation` wrote.
    fn times(&self, operation: &Operation, value: Option<Value>) -> usize {
        let key = operation.key.as_str();
        let of = self.of.get(&(key, value)).into_iter();
        let all = of.chain(self.of_any.get(key)).flatten();
        all.filter(|over| **over >= operation.invoked).count()
    }
}
