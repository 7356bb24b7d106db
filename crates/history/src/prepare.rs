//! The operations of one key as steps of a search, and what their unknown ends can mean.
//!
//! An unknown write doubles the orders there are, so as many as possible are settled first. Let L be
//! an order that explains the history, and call an operation an *observer* of x when it needs the key
//! to hold x: a get that found x, a swap that expects x.
//!
//! - **Nobody observes what it writes.** Drop it. In an L that holds it, what comes right after it is
//!   a write without condition or nothing, for everything else would be an observer of its value; so
//!   L without it is an order too. (Not when a swap was unmet: that is content with any value but
//!   one, so what it found could be taken away from under it.)
//! - **It is the only writer of x, x is not "nothing", and an operation that certainly happened
//!   observes x.** Then it happened, in every L, before the first such observer: it is as certain as
//!   an acknowledged one that ended when the first of these observers ended.
//!
//! Deletes are never the only writer, for a key holds nothing at first. What is left over is
//! optional, and the search decides.

use std::collections::HashMap;

use crate::{Kind, Moment, Operation, Outcome, Value};

/// A value by a small number.
pub(crate) type Slot = u32;

/// The slot of "nothing".
pub(crate) const NOTHING: Slot = 0;

/// The end of what need not end.
pub(crate) const NEVER: Moment = Moment::MAX;

/// What a step needs of the value and makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    Write(Slot),
    Swap(Slot, Slot),
    See(Slot),
    /// Anything but this.
    SeeOther(Slot),
}

impl Effect {
    /// What it leaves, if it writes.
    pub(crate) fn writes(self) -> Option<Slot> {
        match self {
            Effect::Write(slot) | Effect::Swap(_, slot) => Some(slot),
            Effect::See(_) | Effect::SeeOther(_) => None,
        }
    }

    /// The one value it can follow, if it needs one.
    pub(crate) fn observes(self) -> Option<Slot> {
        match self {
            Effect::See(slot) | Effect::Swap(slot, _) => Some(slot),
            Effect::Write(_) | Effect::SeeOther(_) => None,
        }
    }

    /// Whether it can come next while the key holds `slot`.
    pub(crate) fn fits(self, slot: Slot) -> bool {
        match self {
            Effect::Write(_) => true,
            Effect::See(needed) | Effect::Swap(needed, _) => needed == slot,
            Effect::SeeOther(other) => other != slot,
        }
    }
}

/// One operation, as the search sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub effect: Effect,
    pub invoked: Moment,
    /// It happens before this, if it happens.
    pub end: Moment,
    /// It may never happen.
    pub optional: bool,
}

/// Everything about one key.
#[derive(Debug)]
pub(crate) struct Steps {
    /// With an end, by their beginnings.
    pub bounded: Vec<Step>,
    /// Optional without an end, one list an effect, each by their beginnings.
    pub open: Vec<(Effect, Vec<Moment>)>,
    /// How many slots there are.
    pub slots: usize,
    /// Whether anything is written under a condition, or one was found unmet.
    pub conditional: bool,
}

/// Operations of one key as steps.
pub(crate) fn prepare<'a>(operations: impl Iterator<Item = &'a Operation>) -> Steps {
    let mut slots = HashMap::from([(None, NOTHING)]);
    let mut steps: Vec<Step> = operations
        .filter_map(|operation| step(operation, &mut slots))
        .collect();
    while settle(&mut steps, slots.len()) {}
    steps.sort_by_key(|step| step.invoked);
    let conditional = steps
        .iter()
        .any(|step| matches!(step.effect, Effect::Swap(..) | Effect::SeeOther(_)));
    let mut open: Vec<(Effect, Vec<Moment>)> = Vec::new();
    let mut bounded = Vec::with_capacity(steps.len());
    for step in steps {
        if step.end < NEVER {
            bounded.push(step);
            continue;
        }
        match open.iter_mut().find(|(effect, _)| *effect == step.effect) {
            Some((_, moments)) => moments.push(step.invoked),
            None => open.push((step.effect, vec![step.invoked])),
        }
    }
    Steps {
        bounded,
        open,
        slots: slots.len(),
        conditional,
    }
}

fn step(operation: &Operation, slots: &mut HashMap<Option<Value>, Slot>) -> Option<Step> {
    let mut slot = |value| {
        let next = slots.len() as Slot;
        *slots.entry(value).or_insert(next)
    };
    let effect = match (operation.kind, operation.outcome) {
        (_, Outcome::Failed) | (Kind::Get(_), Outcome::Unknown { .. }) => return None,
        (Kind::Get(found), _) => Effect::See(slot(found)),
        (Kind::Put(value), _) => Effect::Write(slot(Some(value))),
        (Kind::Delete, _) => Effect::Write(NOTHING),
        (Kind::Swap { expected, .. }, Outcome::Unmet { .. }) => Effect::SeeOther(slot(expected)),
        (Kind::Swap { expected, value }, _) => Effect::Swap(slot(expected), slot(value)),
    };
    let (end, optional) = match operation.outcome {
        Outcome::Unknown { until } => (until.unwrap_or(NEVER), true),
        _ => (operation.returned().unwrap_or(NEVER), false),
    };
    Some(Step {
        effect,
        invoked: operation.invoked,
        end,
        optional,
    })
}

/// Applies both rules once; tells whether anything changed.
fn settle(steps: &mut Vec<Step>, slots: usize) -> bool {
    let mut writers = vec![0_u32; slots];
    let mut observed = vec![false; slots];
    // When the first certain observer ended.
    let mut certain = vec![NEVER; slots];
    let mut unmet = false;
    for step in steps.iter() {
        if let Some(slot) = step.effect.writes() {
            writers[slot as usize] += 1;
        }
        if let Some(slot) = step.effect.observes() {
            observed[slot as usize] = true;
            if !step.optional {
                let first = &mut certain[slot as usize];
                *first = step.end.min(*first);
            }
        }
        unmet |= matches!(step.effect, Effect::SeeOther(_));
    }
    let before = steps.len();
    let mut changed = false;
    steps.retain_mut(|step| {
        let Some(slot) = step.effect.writes().filter(|_| step.optional) else {
            return true;
        };
        let index = slot as usize;
        if slot != NOTHING && writers[index] == 1 && certain[index] < NEVER {
            step.end = step.end.min(certain[index]);
            step.optional = false;
            changed = true;
        }
        observed[index] || unmet
    });
    changed || steps.len() < before
}
