//! What leaders do unasked: expired intents, transactions that others do not know of yet, the watermark.

use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_node::Services;
use dunlin_txn::{Command, Replica};
use tokio::time::sleep;

use crate::client::Client;
use crate::group::{Group, keyspace_of};
use crate::plug::{Part, limits};
use crate::ranges::AtShard;
use crate::serve::Here;

/// Pause between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// The watermark is raised when it is older than it may be by such a part of the retention.
const BEHIND_PART: u64 = 60;

impl AtShard {
    /// Goes on for as long as the shard runs.
    pub async fn tend(self: Rc<Self>) {
        loop {
            sleep(LOOK).await;
            let Some(services) = self.services.upgrade() else {
                return;
            };
            if let Some(part) = services.find::<Part>() {
                part.open.expire(&part.limits);
            }
            let groups: Vec<Rc<Group>> = self.groups.borrow().values().cloned().collect();
            for group in groups {
                let leads = !group.is_oracle && group.serves();
                // One that waits for another range holds nobody up.
                if !leads || group.tending.is_tended.replace(true) {
                    continue;
                }
                let (own, services) = (self.clone(), services.clone());
                tokio::task::spawn_local(async move {
                    let here = Here { own, group };
                    let mut seen = here.group.tending.seen.take();
                    dunlin_txn::tend(&Client::new(&services), &here, &mut seen).await;
                    *here.group.tending.seen.borrow_mut() = seen;
                    here.raise(&services).await;
                    here.group.tending.is_tended.set(false);
                });
            }
        }
    }
}

impl AtShard {
    /// Puts it into the log of a range, at its leader, that its keyspace was dropped, or is back.
    pub fn note_drop(self: &Rc<Self>, services: &Services, group: Rc<Group>) {
        let count = services.drops_and_undrops(keyspace_of(group.id));
        let Some(count) = count.filter(|count| *count > group.state.borrow().drops()) else {
            return;
        };
        if group.is_oracle || !group.serves() || group.tending.is_noting_drop.replace(true) {
            return;
        }
        let here = Here {
            own: self.clone(),
            group,
        };
        tokio::task::spawn_local(async move {
            // Where it fails the next look tries again.
            drop(here.propose(Command::Dropped { count }).await);
            here.group.tending.is_noting_drop.set(false);
        });
    }
}

impl Here {
    /// Raises the watermark, where anything happened since it was raised.
    async fn raise(&self, services: &Rc<Services>) {
        let applied = self.group.meta.get().applied;
        let retention_ms = limits(services).retention_ms();
        let Some(part) = services.find::<Part>() else {
            return;
        };
        let steady_ms = part.steady_ms(services);
        let to = steady_ms.saturating_sub(retention_ms);
        let watermark = self.group.state.borrow().watermark();
        let is_due = watermark.millis() + retention_ms / BEHIND_PART < to;
        if !is_due || applied <= self.group.tending.raised_at.get() {
            return;
        }
        // Not above the oracle's time: this node's clock may be wrong. Nor above the steady clock: all clocks may be.
        let Ok(now) = crate::stamps::timestamp(services, Version(0)).await else {
            return;
        };
        let now_ms = now.millis().min(steady_ms);
        let to = Version::new(now_ms.saturating_sub(retention_ms), 0);
        if to > watermark && self.propose(Command::Watermark { to }).await.is_ok() {
            self.group
                .tending
                .raised_at
                .set(self.group.meta.get().applied);
        }
    }
}
