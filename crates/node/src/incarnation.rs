//! Of two processes with one name the later one counts. Pure: who is served, who is refused, who
//! ends. A node's incarnation grows at every start, and the metadata store gives none twice.

use std::collections::BTreeMap;

/// What follows from a meeting of two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing speaks against it.
    Serve,
    /// A later start of the other is known: this one is told, and neither heard nor asked.
    Refuse,
    /// A later start of this node is known to the other: this one ends.
    Stop,
}

/// Judges another node that says it is of incarnation `said` and knows of one of this node's of
/// incarnation `wanted` (0: of none), where `known` is the latest known of it and `mine` this node's own.
pub(crate) fn judge(known: u32, said: u32, mine: u32, wanted: u32) -> Verdict {
    if wanted > mine {
        // Whatever the other is: these numbers come from the metadata store alone.
        return Verdict::Stop;
    }
    if said < known {
        Verdict::Refuse
    } else {
        Verdict::Serve
    }
}

/// The latest incarnation known of each node.
#[derive(Debug, Default)]
pub(crate) struct Latest(BTreeMap<u16, u32>);

impl Latest {
    /// 0 when none is known.
    pub fn of(&self, node: u16) -> u32 {
        self.0.get(&node).copied().unwrap_or(0)
    }

    /// Whether this is later than what was known; then it is what is known.
    pub fn learn(&mut self, node: u16, incarnation: u32) -> bool {
        let known = self.0.entry(node).or_default();
        let is_news = incarnation > *known;
        *known = incarnation.max(*known);
        is_news
    }
}

#[cfg(test)]
#[path = "incarnation_tests.rs"]
mod tests;
