//! Which keyspaces are dropped, for a node that may not see the metadata store and hears of it from
//! others. Pure; decision 21 says why.

use std::collections::BTreeMap;

use dunlin_proto::Word;

/// Who says that a keyspace is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The own topology.
    Own,
    /// The node with this number.
    Node(u16),
}

/// The keyspaces that are not to be served, by number, each with who says so, from the own `word`,
/// the numbers in its topology that are `placed` (in use, or dropped and not purged), and what other
/// nodes said last.
pub fn unserved(
    word: &Word,
    placed: impl Iterator<Item = u32>,
    said: &BTreeMap<u16, Word>,
) -> BTreeMap<u32, Source> {
    let own = |id: u32| word.fates.get(&id).copied().unwrap_or_default();
    let dropped = word.fates.iter().filter(|(_, fate)| fate.is_dropped);
    let mut unserved: BTreeMap<u32, Source> = dropped.map(|(id, _)| (*id, Source::Own)).collect();
    let mut newer: Vec<(&u16, &Word)> = said
        .iter()
        .filter(|(_, said)| said.order > word.order)
        .collect();
    if newer.is_empty() {
        return unserved;
    }
    newer.sort_by_key(|(node, said)| (std::cmp::Reverse(said.order), **node));
    // What is purged here is gone, whatever is said: it is not placed.
    for id in placed {
        let told = newer.iter().find_map(|(node, said)| {
            let fate = said.fates.get(&id).copied().unwrap_or_default();
            // Less than is known here is an old copy's, whose topology may count as newer.
            (fate >= own(id)).then_some((**node, fate))
        });
        match told {
            Some((node, fate)) if fate.is_dropped && !own(id).is_dropped => {
                unserved.insert(id, Source::Node(node));
            }
            Some((_, fate)) if !fate.is_dropped => {
                unserved.remove(&id);
            }
            _ => {}
        }
    }
    unserved
}

#[cfg(test)]
#[path = "hearsay_tests.rs"]
mod tests;
