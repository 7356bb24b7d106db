//! Pins: what still needs part of the log, so that it is kept beyond what is kept anyway. A pin is a lease:
//! who needs it says so again and again. Decision 35.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use dunlin_log::Index;
use dunlin_proto::api::PinStatus;
use tokio::time::Instant;

use super::Class;
use crate::limits::{PIN_LEASE, PIN_STILL};

/// Who holds a pin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    pub class: Class,
    /// Whose entries it reads, where they are those of one keyspace.
    pub keyspace: Option<u32>,
    /// For people; one pin a name.
    pub name: String,
}

/// One pin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pin {
    /// First record needed.
    position: Index,
    /// When it was first held.
    since: Instant,
    /// When its holder last asked for it.
    renewed: Instant,
    /// When it last moved.
    moved: Instant,
    /// Nothing is kept for it, before it moves: it stood still, or held more than it may.
    let_go: bool,
}

impl Pin {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.renewed) >= PIN_LEASE
    }

    fn stands_still(&self, now: Instant) -> bool {
        now.duration_since(self.moved) >= PIN_STILL
    }
}

/// The pins of a shard.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    held: RefCell<BTreeMap<Holder, Pin>>,
    cut: Cell<u64>,
}

impl Pins {
    /// `holder` needs the log from `position` on.
    pub fn hold(&self, holder: Holder, position: Index, now: Instant) {
        let mut held = self.held.borrow_mut();
        let stands_by_nature = matches!(holder.class, Class::Backfill | Class::Cursor);
        let pin = held.entry(holder).or_insert(Pin {
            position,
            since: now,
            renewed: now,
            moved: now,
            let_go: false,
        });
        pin.renewed = now;
        if pin.position != position {
            pin.position = position;
            pin.moved = now;
            pin.let_go = false;
        } else if stands_by_nature {
            pin.moved = now;
        }
    }

    /// Nobody of this class needs anything any more.
    pub fn end(&self, class: Class) {
        let mut held = self.held.borrow_mut();
        held.retain(|holder, _| holder.class != class);
    }

    /// This one needs nothing any more.
    pub fn end_of(&self, holder: &Holder) {
        self.held.borrow_mut().remove(holder);
    }

    /// The least position that is kept for anybody.
    pub fn least(&self, now: Instant) -> Option<Index> {
        let mut held = self.held.borrow_mut();
        held.retain(|_, pin| !pin.is_over(now));
        for (holder, pin) in held.iter_mut() {
            if pin.stands_still(now) && !pin.let_go {
                pin.let_go = true;
                tracing::warn!(for_ = holder.name, "keeps no log: its reader stands still");
            }
        }
        let kept = held.values().filter(|pin| !pin.let_go);
        kept.map(|pin| pin.position).min()
    }

    /// Who reads this keyspace holds back nothing before `first`.
    pub fn bound(&self, keyspace: u32, first: Index) {
        for (holder, pin) in self.held.borrow_mut().iter_mut() {
            if holder.keyspace == Some(keyspace) && pin.position < first && !pin.let_go {
                pin.let_go = true;
                tracing::warn!(
                    for_ = holder.name,
                    "keeps no log any more: it is more than its keyspace's --retain-max allows"
                );
            }
        }
    }

    /// What stands before `before` in the log goes, whoever needs it.
    pub fn cut(&self, before: Index) {
        for (holder, pin) in self.held.borrow_mut().iter_mut() {
            if pin.position < before && !pin.let_go {
                pin.let_go = true;
                self.cut.set(self.cut.get() + 1);
                tracing::warn!(
                    for_ = holder.name,
                    "keeps no log any more: it is more than --pins allow"
                );
            }
        }
    }

    /// How many were let go because they held too much.
    pub fn cut_count(&self) -> u64 {
        self.cut.get()
    }

    /// All pins; `bytes_from` tells how much of the log there is from a record on.
    pub fn status(&self, now: Instant, bytes_from: impl Fn(Index) -> u64) -> Vec<PinStatus> {
        let held = self.held.borrow();
        let held = held.iter().filter(|(_, pin)| !pin.is_over(now));
        held.map(|(holder, pin)| PinStatus {
            holder: holder.name.clone(),
            position: pin.position,
            bytes: if pin.let_go {
                0
            } else {
                bytes_from(pin.position)
            },
            held_ms: now.duration_since(pin.since).as_millis() as u64,
            let_go: pin.let_go,
        })
        .collect()
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
