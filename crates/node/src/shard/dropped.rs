//! Keyspaces that are not served here because they are dropped: by the own topology, or as others say
//! whose topology is newer (decision 21). Their data stays where it is.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dunlin_proto::{Order, Word};

use super::Shard;
use crate::hearsay::{Source, unserved};
use crate::quorum::Failure;

/// What is known of drops.
#[derive(Default)]
pub(super) struct Drops {
    /// What other nodes said last, those whose topology was newer than the one here.
    said: RefCell<BTreeMap<u16, Word>>,
    /// What follows: asked for each entry and read, so it is judged beforehand.
    unserved: RefCell<BTreeMap<u32, Source>>,
}

impl Shard {
    /// Whether a keyspace is dropped, as far as is known here: nothing of it is answered, and no
    /// write to it acknowledged.
    pub(crate) fn is_dropped(&self, keyspace: u32) -> bool {
        self.drops.unserved.borrow().contains_key(&keyspace)
    }

    /// Fails when a keyspace is dropped, as far as is known here.
    pub(crate) fn serves(&self, keyspace: u32) -> Result<(), Failure> {
        let source = self.drops.unserved.borrow().get(&keyspace).copied();
        match source {
            None => Ok(()),
            Some(Source::Own) => Err(Failure::UnknownKeyspace),
            Some(Source::Node(node)) => Err(Failure::Dropped(self.told_by_node(keyspace, node))),
        }
    }

    /// Which keyspaces others say are dropped, a line each.
    pub(crate) fn drops_told(&self) -> Vec<String> {
        let unserved = self.drops.unserved.borrow();
        let told = unserved.iter().filter_map(|(id, source)| match source {
            Source::Own => None,
            Source::Node(node) => Some(self.told_by_node(*id, *node)),
        });
        told.collect()
    }

    /// The same, their numbers.
    pub(super) fn drops_heard(&self) -> Vec<u32> {
        let unserved = self.drops.unserved.borrow();
        let heard = unserved
            .iter()
            .filter(|(_, source)| matches!(source, Source::Node(_)));
        heard.map(|(id, _)| *id).collect()
    }

    fn told_by_node(&self, keyspace: u32, node: u16) -> String {
        let placement = self.placement();
        let name = placement.nodes.get(&node).map_or("another", |n| &n.name);
        let problems = self.metadata.problems();
        let why = problems.borrow().first().cloned();
        let why = why.unwrap_or_else(|| "the store has not said so yet".to_owned());
        format!(
            "keyspace {} is dropped, as {name} says; until this node hears from the metadata store whether that is so, it neither serves the keyspace nor removes anything: {why}",
            self.name_of(keyspace),
        )
    }

    /// What the own topology has of drops, for who goes by an older one.
    pub(crate) fn drops_after(&self, theirs: Order) -> Option<Word> {
        let placement = self.placement.borrow();
        let own = &placement.drops;
        (own.order > theirs).then(|| own.clone())
    }

    /// Takes note of what a node says of drops; `None` when its topology is not newer than the one
    /// here.
    pub(super) fn hear_of_drops(&self, node: u16, word: Option<Word>) {
        {
            let mut said = self.drops.said.borrow_mut();
            if said.get(&node) == word.as_ref() {
                return;
            }
            match word {
                Some(word) => drop(said.insert(node, word)),
                None => drop(said.remove(&node)),
            }
        }
        self.judge_drops();
    }

    /// Decides anew which keyspaces are served, by the topology in force and what others said.
    pub(super) fn judge_drops(&self) {
        let placement = self.placement();
        let mut said = self.drops.said.borrow_mut();
        said.retain(|node, _| placement.nodes.contains_key(node));
        let placed = placement.keyspaces().map(|placed| placed.keyspace.id);
        let placed = placed.chain(placement.transactional().keys().copied());
        let now = unserved(&placement.drops, placed, &said);
        let before = self.drops.unserved.replace(now);
        let after = self.drops.unserved.borrow();
        for (id, source) in after.iter() {
            if let Source::Node(node) = source
                && !before.contains_key(id)
            {
                tracing::warn!("{}", self.told_by_node(*id, *node));
            }
        }
    }
}
