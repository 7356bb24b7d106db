//! The token in the middle of an item: all before it has been told, the rest comes again. Pure.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, Vector};
use dunlin_node::Scope;
use dunlin_proto::{Token, Within};

use crate::item::{Item, What};

/// Leaves so many changes of an item, and the token that says so. `before` is where the item's partitions were
/// gone on with before it.
pub(crate) fn cut(item: &mut Item, before: &Token, count: usize) {
    if count == 0 {
        (item.what, item.token) = (What::Beat, Rc::new(before.clone()));
        return;
    }
    let after = &item.token;
    match &mut item.what {
        What::Beat | What::PutBack | What::Stands(_) => {}
        What::Entries(entries) if entries.len() <= count => {}
        What::Entries(entries) => {
            entries.truncate(count);
            // What was read of the log up to here stays read: its hints stay as they were.
            let mut token = before.clone();
            for entry in entries.iter().filter(|entry| !entry.copy) {
                let mut vector = vector_of(&token, entry.partition);
                let position = entry.position();
                vector.advance(position.origin, position.sequence);
                token.set_vector(entry.partition, vector);
            }
            item.token = Rc::new(token);
        }
        What::Records { records, .. } if records.len() <= count => {}
        What::Records {
            partition,
            begins,
            records,
            ends,
        } => {
            records.truncate(count);
            *ends = false;
            let mut token = before.clone();
            let is_complete = match (*begins, before.within(*partition)) {
                (Some(scope), _) => scope == Scope::Complete,
                (None, Some(within)) => within.is_complete,
                // What is behind the first page stands within it.
                (None, None) => true,
            };
            if begins.is_some() && is_complete {
                token.forget(*partition);
            }
            let reflects = match after.within(*partition) {
                Some(within) => within.vector.clone(),
                None => vector_of(after, *partition),
            };
            let next = match records.last() {
                Some(last) => behind(last),
                None => Bytes::new(),
            };
            token.set_within(
                *partition,
                Some(Within {
                    is_complete,
                    vector: reflects,
                    next,
                }),
            );
            item.token = Rc::new(token);
        }
    }
}

fn vector_of(token: &Token, partition: u16) -> Vector {
    token.vector(partition).cloned().unwrap_or_default()
}

/// The least key behind that of an entry.
fn behind(entry: &Entry) -> Bytes {
    let mut key = entry.key.to_vec();
    key.push(0);
    key.into()
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
