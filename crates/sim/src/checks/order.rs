//! A write that begins after another was acknowledged, by replicas that meet its own, is the newer one.

use super::{Broken, may_be_buried, may_be_hidden, meets};
use crate::history::{History, Place, Write};
use crate::plan::Plan;

/// Checks every pair of acknowledged writes to a key.
///
/// # Errors
/// The first pair whose stamps contradict the order in which they happened.
pub fn order(plan: &Plan, history: &History) -> Result<(), Broken> {
    for keyspace in 0..plan.keyspaces.len() {
        if !plan.is_durable(keyspace) {
            continue;
        }
        for key in 0..plan.keys {
            key_order(plan, history, (keyspace, key))?;
        }
    }
    Ok(())
}

fn key_order(plan: &Plan, history: &History, place: Place) -> Result<(), Broken> {
    let writes: Vec<&Write> = history
        .writes
        .iter()
        .filter(|w| w.place == place && w.stamp().is_some())
        .collect();
    for later in &writes {
        for earlier in &writes {
            let before = earlier.acknowledged().is_some_and(|end| end < later.begun);
            // A forgotten delete can no longer tell a slow clock that it is slow.
            let remembered = !(earlier.delete && plan.forgets_deletes(place.0));
            if before
                && remembered
                && !may_be_hidden(plan, history, earlier)
                && !may_be_buried(plan, earlier)
                && meets(later.ack, later.from, earlier.ack, earlier.from)
                && earlier.stamp() >= later.stamp()
            {
                return Err(Broken {
                    text: format!(
                        "write {} began after write {} was acknowledged, but is stamped before it",
                        later.id, earlier.id
                    ),
                    place: Some(place),
                    at: later.acknowledged(),
                });
            }
        }
    }
    Ok(())
}
