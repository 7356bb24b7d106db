//! Writers are slowed while a replica that works is about to fall off the log (decision 40).

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::Shard;
use crate::follow::{Caps, Class, Holder, Segment, bytes_behind};
use crate::limits::{LAG_INTERVAL, SLOW_BYTES_PER_S_MIN, SLOW_WAIT_MAX};

/// What is left of the rate while a replica falls back further, and what comes to it while it does not.
const SLOWER: f64 = 0.8;
const FASTER: f64 = 1.02;

/// How fast writes may enter; as they come, where nobody is about to fall off.
#[derive(Default)]
pub(crate) struct Slow {
    is_on: Cell<bool>,
    bytes_per_s: Cell<f64>,
    /// When the next write may enter.
    next: Cell<Option<Instant>>,
    /// Bytes of the log at the last look, and when that was.
    looked: Cell<Option<(Instant, u64)>>,
}

impl Slow {
    /// Whether writes wait.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// How long a write of so many bytes waits: never longer than [`SLOW_WAIT_MAX`].
    pub fn wait(&self, bytes: usize, now: Instant) -> Duration {
        let rate = self.bytes_per_s.get().max(SLOW_BYTES_PER_S_MIN);
        let turn = self.next.get().map_or(now, |next| next.max(now));
        let wait = turn.saturating_duration_since(now).min(SLOW_WAIT_MAX);
        let takes = Duration::from_secs_f64(bytes as f64 / rate);
        self.next.set(Some((turn + takes).min(now + SLOW_WAIT_MAX)));
        wait
    }

    /// The log had `log_bytes` ever; `slows` as [`crate::follow::Care`] has it, of all replicas.
    fn look(&self, now: Instant, log_bytes: u64, slows: Option<bool>) {
        let before = self.looked.replace(Some((now, log_bytes)));
        let Some(is_further) = slows else {
            self.is_on.set(false);
            return;
        };
        let rate = if self.is_on.replace(true) {
            self.bytes_per_s.get()
        } else {
            before.map_or(0.0, |(when, bytes)| {
                let passed = now.saturating_duration_since(when).as_secs_f64();
                log_bytes.saturating_sub(bytes) as f64 / passed.max(0.001)
            })
        };
        let factor = if is_further { SLOWER } else { FASTER };
        self.bytes_per_s
            .set((rate * factor).max(SLOW_BYTES_PER_S_MIN));
    }
}

impl Shard {
    /// Cares for replicas that fall behind, for as long as the shard runs.
    pub(super) async fn lag_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(LAG_INTERVAL).await;
            self.look_at_lags(Instant::now());
        }
    }

    fn look_at_lags(&self, now: Instant) {
        let segments: Vec<Segment> = self.log.segments().iter().map(Segment::of).collect();
        let caps = Caps {
            retention_bytes: self.config.retention_bytes,
            pins_bytes: self.config.pins_bytes,
        };
        let mut slows = None;
        let peers = self.peers.borrow();
        for peer in peers.values().filter(|peer| peer.shares.get()) {
            let follows = matches!(peer.gauge.state(), "streaming" | "catching_up");
            if !follows || !peer.caller.is_connected() {
                peer.lag.replace(None);
                continue;
            }
            let acked = peer.gauge.acked_index();
            let lag_bytes = bytes_behind(&segments, acked);
            let mut lag = peer.lag.borrow_mut();
            let lag = lag.get_or_insert_with(|| crate::follow::Lag::new(now));
            let care = lag.look(now, acked, lag_bytes, caps);
            let holder = || Holder {
                class: Class::Replica,
                keyspace: None,
                name: peer.label.clone(),
            };
            match care.pin {
                Some(position) => self.pins.hold(holder(), position, now),
                None => self.pins.end_of(&holder()),
            }
            if care.slows.is_some() && !self.slow.is_on() {
                tracing::warn!(
                    for_ = peer.label,
                    lag_bytes,
                    "writes are slowed: it is about to fall off the log"
                );
            }
            slows = slows.max(care.slows);
        }
        self.slow.look(now, self.log.stats().bytes, slows);
    }
}

#[cfg(test)]
#[path = "slow_tests.rs"]
mod tests;
