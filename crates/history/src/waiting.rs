//! The steps that have not happened yet, by their beginnings: a list that forgets and remembers.

use crate::Moment;
use crate::prepare::{NEVER, Step};

/// Indices of bounded steps, linked. Removals are undone in the opposite order.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// One more entry than steps: the last is both ends of the list.
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Waiting {
    pub(crate) fn new(count: usize) -> Waiting {
        let (end, around) = (count as u32, count as u32 + 1);
        Waiting {
            next: (0..=end).map(|index| (index + 1) % around).collect(),
            previous: (0..=end).map(|index| (index + end) % around).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first() == self.end()
    }

    /// The first step that waits, or the number of steps.
    pub(crate) fn first(&self) -> usize {
        self.next[self.end()] as usize
    }

    pub(crate) fn remove(&mut self, index: usize) {
        let (next, previous) = (self.next[index], self.previous[index]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }

    /// Undoes the latest [`Waiting::remove`], which was of `index`.
    pub(crate) fn put_back(&mut self, index: usize) {
        let (next, previous) = (self.next[index], self.previous[index]);
        self.next[previous as usize] = index as u32;
        self.previous[next as usize] = index as u32;
    }

    /// Collects into `found` the steps that may come next, and returns the earliest end of all that
    /// wait: what begins after it must wait for the step that ends there.
    pub(crate) fn eligible(&self, steps: &[Step], found: &mut Vec<usize>) -> Moment {
        found.clear();
        let mut earliest = NEVER;
        let mut index = self.first();
        while index != self.end() && steps[index].invoked <= earliest {
            earliest = earliest.min(steps[index].end);
            found.push(index);
            index = self.next[index] as usize;
        }
        // A step that must end before it begins is never eligible, and nothing after it is.
        found.retain(|index| steps[*index].invoked <= earliest);
        earliest
    }

    fn end(&self) -> usize {
        self.next.len() - 1
    }
}
