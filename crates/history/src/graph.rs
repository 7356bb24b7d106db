//! Who must come before whom, and whether that goes round in a circle.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Why one transaction must come before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// The other appended behind it.
    Write,
    /// The other read what it appended.
    Read,
    /// It did not see what the other appended.
    Missed,
    /// It had ended before the other began.
    RealTime,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Edge::Write => "that one appended behind it",
            Edge::Read => "that one read what it appended",
            Edge::Missed => "it did not see what that one appended",
            Edge::RealTime => "it had ended when that one began",
        })
    }
}

/// Edges between numbered transactions.
#[derive(Debug)]
pub(crate) struct Graph {
    next: Vec<BTreeMap<usize, Edge>>,
}

impl Graph {
    pub fn new(size: usize) -> Graph {
        Graph {
            next: vec![BTreeMap::new(); size],
        }
    }

    /// One comes before another. What data says is kept rather than what time says.
    pub fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            let known = self.next[from].entry(to).or_insert(edge);
            *known = (*known).min(edge);
        }
    }

    /// A cycle, if there is one: short, and of each why it comes before the next.
    pub fn cycle(&self) -> Option<Vec<(usize, Edge)>> {
        let mut before = vec![0_usize; self.next.len()];
        for to in self.next.iter().flat_map(BTreeMap::keys) {
            before[*to] += 1;
        }
        let is_first = |(_, count): &(usize, &usize)| **count == 0;
        let mut free: Vec<usize> = (before.iter().enumerate())
            .filter(is_first)
            .map(|(number, _)| number)
            .collect();
        let mut left = self.next.len();
        while let Some(number) = free.pop() {
            left -= 1;
            for to in self.next[number].keys() {
                before[*to] -= 1;
                if before[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        if left == 0 {
            return None;
        }
        let within: Vec<usize> = (0..before.len()).filter(|n| before[*n] > 0).collect();
        let cycles = within.iter().filter_map(|from| self.cycle_through(*from));
        cycles.min_by_key(Vec::len)
    }

    /// The shortest way from a transaction back to itself.
    fn cycle_through(&self, from: usize) -> Option<Vec<(usize, Edge)>> {
        let mut came_from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut waiting = VecDeque::from([from]);
        while let Some(number) = waiting.pop_front() {
            for to in self.next[number].keys() {
                if *to == from {
                    return Some(self.way(&came_from, from, number));
                }
                if !came_from.contains_key(to) {
                    came_from.insert(*to, number);
                    waiting.push_back(*to);
                }
            }
        }
        None
    }

    fn way(
        &self,
        came_from: &BTreeMap<usize, usize>,
        from: usize,
        last: usize,
    ) -> Vec<(usize, Edge)> {
        let mut numbers = vec![last];
        while let Some(before) = numbers
            .last()
            .filter(|n| **n != from)
            .and_then(|n| came_from.get(n))
        {
            numbers.push(*before);
        }
        numbers.reverse();
        let after = numbers.iter().skip(1).chain([&from]);
        let pairs = numbers.iter().zip(after);
        pairs
            .map(|(one, other)| (*one, self.next[*one][other]))
            .collect()
    }
}
