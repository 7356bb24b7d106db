//! Who may read once which round has ended. Pure.
//!
//! A leader that reads must know that it still leads: it asks a majority. One round serves all that came before it
//! began; who comes later waits for the next, for in between another may have begun to lead.

use std::collections::VecDeque;

/// A round takes no longer than this many ticks: its messages were lost, and it is begun anew.
const TICKS_MAX: u32 = 3;

struct Round<W> {
    number: u64,
    waiters: Vec<W>,
    ticks: u32,
}

/// Those that wait to read; `W` is where they wait.
pub(crate) struct Reads<W> {
    waiting: Vec<W>,
    round: Option<Round<W>>,
    /// Rounds that have ended, by the index that must be applied first.
    confirmed: VecDeque<(u64, Vec<W>)>,
    last_number: u64,
    /// A deliberate bug, for the simulation to find: who comes later joins the round that has just ended.
    pub joins_older: bool,
    /// What was committed when that began, and how many ticks ago it ended.
    last: Option<(u64, u32)>,
}

impl<W> Default for Reads<W> {
    fn default() -> Self {
        Reads {
            waiting: Vec::new(),
            round: None,
            confirmed: VecDeque::new(),
            last_number: 0,
            joins_older: false,
            last: None,
        }
    }
}

impl<W> Reads<W> {
    /// One more waits.
    pub fn add(&mut self, waiter: W) {
        match self.last {
            Some((index, ticks)) if self.joins_older && ticks <= TICKS_MAX => {
                self.confirmed.push_back((index, vec![waiter]));
            }
            _ => self.waiting.push(waiter),
        }
    }

    /// Whether anybody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.round.is_none() && self.confirmed.is_empty()
    }

    /// The number of the round to begin now, for all who wait; none while one is under way, or nobody waits.
    pub fn begin(&mut self) -> Option<u64> {
        if self.round.is_some() || self.waiting.is_empty() {
            return None;
        }
        self.last_number += 1;
        self.round = Some(Round {
            number: self.last_number,
            waiters: std::mem::take(&mut self.waiting),
            ticks: 0,
        });
        Some(self.last_number)
    }

    /// A majority has answered a round; what was committed when it began has this index.
    pub fn confirm(&mut self, number: u64, index: u64) {
        if let Some(round) = self.round.take_if(|round| round.number == number) {
            self.confirmed.push_back((index, round.waiters));
            self.last = Some((index, 0));
        }
    }

    /// Time passes.
    pub fn tick(&mut self) {
        if let Some((_, ticks)) = &mut self.last {
            *ticks += 1;
        }
        let Some(round) = &mut self.round else { return };
        round.ticks += 1;
        if round.ticks > TICKS_MAX
            && let Some(mut lost) = self.round.take()
        {
            lost.waiters.append(&mut self.waiting);
            self.waiting = lost.waiters;
        }
    }

    /// Those that may read, now that so much is applied.
    pub fn take(&mut self, applied: u64) -> Vec<W> {
        let mut may = Vec::new();
        while self
            .confirmed
            .front()
            .is_some_and(|(index, _)| *index <= applied)
        {
            may.extend(
                self.confirmed
                    .pop_front()
                    .into_iter()
                    .flat_map(|(_, waiters)| waiters),
            );
        }
        may
    }

    /// All that wait: somebody else leads.
    pub fn drain(&mut self) -> Vec<W> {
        let mut all = std::mem::take(&mut self.waiting);
        all.extend(
            self.round
                .take()
                .into_iter()
                .flat_map(|round| round.waiters),
        );
        all.extend(self.confirmed.drain(..).flat_map(|(_, waiters)| waiters));
        all
    }
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;
