//! Is there an order? Wing and Gong's search with Lowe's memory of where it has been.
//!
//! From the steps that may come next (those that begin before any waiting one has ended) one is
//! taken, until none waits or no way is left. All steps that may come next overlap each other, which
//! is why so little has to be tried; each rule below turns an order that begins otherwise (L) into
//! one that begins as the rule says:
//!
//! - **A step that changes nothing and fits comes first.** Moved to the front of L it changes nothing
//!   there, and is not missed where it was.
//! - **Where no such step is, a write whose value nobody waits to see comes first**, if nothing in
//!   the key is conditional, and none that sees the value may come once an optional step is given up.
//!   L begins with a write then, which covers this one; where it was, what
//!   comes next is a write again, or nothing. An optional one may as well not happen.
//! - **Of steps with the same effect, the one that ends first comes first.** Where L has them the
//!   other way round, they change places: the later one could stand where the earlier stood, and the
//!   earlier, since it ends later, where the later stood.
//! - **An optional step without an end is taken only for an observer that comes right behind it**;
//!   another would not be missed in L. It is taken only where no certain step does the same.
//! - **An optional step with an end is given up only when its end is what the others wait for.**
//! - **A value that somebody waits to see, and nobody will write again, is not left.**

use crate::Moment;
use crate::memo::{Behind, Memo};
use crate::prepare::{Effect, NEVER, NOTHING, Slot, Steps};
use crate::waiting::Waiting;

/// What a search found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is an order.
    Order,
    /// There is none.
    None,
    /// Too much to try.
    Undecided,
}

/// Searches, looking at `states` configurations at most. The second is how many it looked at.
pub(crate) fn search(steps: &Steps, states: u64) -> (Found, u64) {
    let mut search = Search::new(steps);
    let mut looked_at = 0;
    loop {
        looked_at += 1;
        if looked_at > states {
            return (Found::Undecided, states);
        }
        match search.look() {
            Look::Done => return (Found::Order, looked_at),
            Look::Forced(step) => search.apply(step),
            Look::Branch => search.branch(),
            Look::Dead => {}
        }
        if search.stuck && !search.back() {
            return (Found::None, looked_at);
        }
    }
}

/// One move.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// A bounded step happens.
    Take(u32),
    /// An optional bounded step never happens.
    GiveUp(u32),
    /// The next of an open list happens.
    Open(u32),
}

enum Look {
    Done,
    Forced(Move),
    Branch,
    Dead,
}

/// A move made, and what it changed.
struct Made {
    step: Move,
    value: Slot,
    was_open: bool,
}

/// A place to come back to.
struct Fork {
    made: usize,
    left: Vec<Move>,
}

struct Search<'a> {
    steps: &'a Steps,
    waiting: Waiting,
    behind: Behind,
    /// Of each open list, how many have happened.
    used: Vec<u32>,
    value: Slot,
    /// Whether the last move was of an open list: an observer must come next.
    was_open: bool,
    /// Of each slot, how many certain steps wait to see it.
    observers: Vec<u32>,
    /// Of each slot, how many steps could still write it.
    writers: Vec<u32>,
    eligible: Vec<usize>,
    earliest_end: Moment,
    made: Vec<Made>,
    forks: Vec<Fork>,
    memo: Memo,
    stuck: bool,
    moves: Vec<Move>,
}

impl<'a> Search<'a> {
    fn new(steps: &'a Steps) -> Search<'a> {
        let count = steps.bounded.len();
        let mut observers = vec![0; steps.slots];
        let mut writers = vec![0; steps.slots];
        let certain = steps.bounded.iter().filter(|step| !step.optional);
        for slot in certain.filter_map(|step| step.effect.observes()) {
            observers[slot as usize] += 1;
        }
        for slot in steps.bounded.iter().filter_map(|step| step.effect.writes()) {
            writers[slot as usize] += 1;
        }
        for (effect, invoked) in &steps.open {
            if let Some(slot) = effect.writes() {
                writers[slot as usize] += invoked.len() as u32;
            }
        }
        Search {
            steps,
            waiting: Waiting::new(count),
            behind: Behind::new(count),
            used: vec![0; steps.open.len()],
            value: NOTHING,
            was_open: false,
            observers,
            writers,
            eligible: Vec::new(),
            earliest_end: NEVER,
            made: Vec::new(),
            forks: Vec::new(),
            memo: Memo::default(),
            stuck: false,
            moves: Vec::new(),
        }
    }

    /// What follows from where the search stands. Sets `stuck` when nothing does.
    fn look(&mut self) -> Look {
        self.stuck = false;
        let steps = &self.steps.bounded;
        if self.waiting.is_empty() {
            return Look::Done;
        }
        self.earliest_end = self.waiting.eligible(steps, &mut self.eligible);
        let value = self.value;
        let changes_nothing = |index: &&usize| match steps[**index].effect {
            Effect::Write(_) => false,
            Effect::Swap(expected, new) => expected == value && new == value,
            effect => effect.fits(value),
        };
        if let Some(index) = self.eligible.iter().find(changes_nothing) {
            return Look::Forced(Move::Take(*index as u32));
        }
        let unseen = |index: &&usize| match steps[**index].effect {
            Effect::Write(slot) => self.observers[slot as usize] == 0,
            _ => false,
        };
        if !self.steps.conditional
            && !self.was_open
            && let Some(index) = self.eligible.iter().find(unseen)
        {
            let step = &steps[*index];
            if step.optional {
                return Look::Forced(Move::GiveUp(*index as u32));
            }
            if !self.may_still_be_seen() {
                if self.may_follow(step.effect) {
                    return Look::Forced(Move::Take(*index as u32));
                }
                // Any other write leaves the value as well.
                self.stuck = true;
                return Look::Dead;
            }
        }
        let state = u64::from(value) << 1 | u64::from(self.was_open);
        let first = self.waiting.first();
        if !self.memo.insert(&self.behind, first, &self.used, state) {
            self.stuck = true;
            return Look::Dead;
        }
        Look::Branch
    }

    /// Whether an order may go on with a step that sees the value and could not come yet, because one that
    /// may as well not happen ends before it begins.
    fn may_still_be_seen(&self) -> bool {
        let holds_up = |index: &usize| {
            let step = &self.steps.bounded[*index];
            step.optional && step.end == self.earliest_end
        };
        self.observers[self.value as usize] > 0 && self.eligible.iter().any(holds_up)
    }

    /// Tries the first way from here, and remembers the others.
    fn branch(&mut self) {
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        self.bounded_moves(&mut moves);
        self.open_moves(&mut moves);
        // The last is tried first.
        moves.reverse();
        match moves.pop() {
            None => self.stuck = true,
            Some(step) => {
                self.forks.push(Fork {
                    made: self.made.len(),
                    left: moves.clone(),
                });
                self.apply(step);
            }
        }
        self.moves = moves;
    }

    fn bounded_moves(&self, moves: &mut Vec<Move>) {
        let steps = &self.steps.bounded;
        for index in &self.eligible {
            let step = &steps[*index];
            if step.optional && step.end == self.earliest_end {
                moves.push(Move::GiveUp(*index as u32));
            }
            // Its own kind, and before it in the list at the same end.
            let better = self.eligible.iter().any(|other| {
                let of = &steps[*other];
                of.effect == step.effect
                    && of.optional == step.optional
                    && (of.end, *other) < (step.end, *index)
            });
            if !better && self.may_follow(step.effect) {
                moves.push(Move::Take(*index as u32));
            }
        }
        // What is seen next is most likely to be right; what ends first, after that.
        moves.sort_by_key(|step| match step {
            Move::Take(index) => {
                let step = &steps[*index as usize];
                let slot = step.effect.writes();
                let is_awaited = slot.is_some_and(|slot| self.is_awaited(slot));
                (u8::from(!is_awaited), step.end)
            }
            Move::GiveUp(_) | Move::Open(_) => (2, 0),
        });
    }

    fn open_moves(&self, moves: &mut Vec<Move>) {
        for (number, (effect, invoked)) in self.steps.open.iter().enumerate() {
            let next = invoked.get(self.used[number] as usize);
            let may_come = next.is_some_and(|moment| *moment <= self.earliest_end);
            let Some(slot) = effect.writes().filter(|_| may_come) else {
                continue;
            };
            let is_useful = slot != self.value && self.is_awaited(slot);
            let same_is_certain = || {
                self.eligible.iter().any(|index| {
                    let step = &self.steps.bounded[*index];
                    step.effect == *effect && !step.optional
                })
            };
            if is_useful && self.may_follow(*effect) && !same_is_certain() {
                moves.push(Move::Open(number as u32));
            }
        }
    }

    /// Whether a step with this effect may come next.
    fn may_follow(&self, effect: Effect) -> bool {
        if !effect.fits(self.value) {
            return false;
        }
        if self.was_open && effect.observes() != Some(self.value) {
            return false;
        }
        let value = self.value as usize;
        let Some(slot) = effect.writes() else {
            return true;
        };
        // A swap sees the value itself before it leaves it. (An optional one is not counted among the
        // observers, so for one that waits it is taken for another: nothing is lost by it.)
        let own = u32::from(effect.observes() == Some(self.value));
        slot == self.value || self.observers[value] <= own || self.writers[value] > 0
    }

    /// Whether something that may come next needs the key to hold this.
    fn is_awaited(&self, slot: Slot) -> bool {
        let fits = |effect: Effect| match effect {
            Effect::Write(_) => false,
            effect => effect.fits(slot) && !effect.fits(self.value),
        };
        let mut bounded = self.eligible.iter();
        bounded.any(|index| fits(self.steps.bounded[*index].effect))
            || self.steps.open.iter().any(|(effect, _)| fits(*effect))
    }

    fn apply(&mut self, step: Move) {
        self.made.push(Made {
            step,
            value: self.value,
            was_open: self.was_open,
        });
        let effect = self.count(step, u32::wrapping_sub);
        match step {
            Move::Take(index) | Move::GiveUp(index) => {
                self.waiting.remove(index as usize);
                self.behind.insert(index as usize);
            }
            Move::Open(number) => self.used[number as usize] += 1,
        }
        // What is given up leaves everything as it was, also what must come next.
        if matches!(step, Move::GiveUp(_)) {
            return;
        }
        self.was_open = matches!(step, Move::Open(_));
        if let Some(slot) = effect.writes() {
            self.value = slot;
        }
    }

    /// Goes back to the last place with a way that was not tried, and takes it.
    fn back(&mut self) -> bool {
        loop {
            let Some(fork) = self.forks.last_mut() else {
                return false;
            };
            let (made, next) = (fork.made, fork.left.pop());
            while self.made.len() > made {
                self.undo();
            }
            match next {
                Some(step) => {
                    self.apply(step);
                    return true;
                }
                None => drop(self.forks.pop()),
            }
        }
    }

    fn undo(&mut self) {
        let Some(made) = self.made.pop() else {
            return;
        };
        match made.step {
            Move::Take(index) | Move::GiveUp(index) => {
                self.waiting.put_back(index as usize);
                self.behind.remove(index as usize);
            }
            Move::Open(number) => self.used[number as usize] -= 1,
        }
        self.count(made.step, u32::wrapping_add);
        (self.value, self.was_open) = (made.value, made.was_open);
    }

    /// Keeps the books on who observes and who writes what; returns the step's effect.
    fn count(&mut self, step: Move, change: fn(u32, u32) -> u32) -> Effect {
        let (effect, optional) = match step {
            Move::Take(index) | Move::GiveUp(index) => {
                let step = &self.steps.bounded[index as usize];
                (step.effect, step.optional)
            }
            Move::Open(number) => (self.steps.open[number as usize].0, true),
        };
        if let Some(slot) = effect.observes().filter(|_| !optional) {
            let observers = &mut self.observers[slot as usize];
            *observers = change(*observers, 1);
        }
        if let Some(slot) = effect.writes() {
            let writers = &mut self.writers[slot as usize];
            *writers = change(*writers, 1);
        }
        effect
    }
}
