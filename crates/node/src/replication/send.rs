//! The cursor that carries this shard's own entries to one replica.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::Poll;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_log::{CursorError, Index};
use dunlin_proto::{Batch, BatchAnswer, Request, Response, ShardAddress};
use dunlin_rpc::CallError;
use tokio::time::Instant;

use super::Replication;
use crate::follow::{Bound, Hits, Met, Selection};
use crate::limits::*;
use crate::sabotage::Sabotage;
use crate::shard::Peer;

/// Why a stream to a replica ended; it is begun again after a pause.
enum Broken {
    /// The replica is unreachable, or answered out of turn.
    Unreachable,
    /// The replica misses something earlier: begin at what it has.
    Gap,
    /// The log no longer holds what the replica needs; it has to backfill.
    TooOld,
    /// This shard's log cannot be read.
    Unreadable,
}

struct InFlight {
    answer: Pin<Box<dyn Future<Output = Result<Response, CallError>>>>,
    up_to: Version,
    index: Index,
    bytes: usize,
    sent: Instant,
    first: Option<Version>,
}

impl Replication {
    /// Keeps one replica supplied for as long as it is a peer.
    pub(crate) async fn send_loop(self: Rc<Self>, peer: Weak<Peer>) {
        loop {
            let Some(peer) = peer.upgrade() else { return };
            let broken = self.stream_to(&peer).await;
            let state = match broken {
                Broken::TooOld => "backfilling",
                Broken::Unreachable => "down",
                Broken::Gap | Broken::Unreadable => "catching_up",
            };
            peer.gauge.set_state(state);
            peer.gauge.end();
            let caller = peer.caller.clone();
            drop(peer);
            let pause = tokio::time::sleep(RETRY_PAUSE);
            if caller.is_connected() {
                pause.await;
                continue;
            }
            // One that is back is supplied at once: clients may wait for its acknowledgements.
            tokio::select! {
                biased;
                () = caller.connected() => {}
                () = pause => {}
            }
        }
    }

    /// Acknowledgements of this shard's entries, for a peer that serves followers.
    fn acknowledged_for(&self, peer: &Peer) -> Vec<(ShardAddress, Version)> {
        if peer.wants_held.get() {
            self.shard.held_of_own()
        } else {
            Vec::new()
        }
    }

    async fn stream_to(&self, peer: &Peer) -> Broken {
        if !peer.caller.is_connected() {
            return Broken::Unreachable;
        }
        let asked = peer
            .caller
            .call(Request::Position(self.shard.origin()), CALL_TIMEOUT)
            .await;
        let Ok(Response::Position(mut position)) = asked else {
            return Broken::Unreachable;
        };
        if self.shard.env().sabotage == Sabotage::IgnoreGaps {
            position = self.shard.has_up_to(self.shard.origin());
        }
        // What it has lost since with its log's end it no longer has.
        peer.held.set(peer.held.get().min(position));
        // What writes still wait for is sent again: the replica may have it, by a pull or from a
        // stream whose answers were lost, but has not said whether it held something newer.
        let waiting = self.shard.oldest_waiting();
        let mut sent = waiting.map_or(position, |v| position.min(Version(v.0.saturating_sub(1))));
        let Some(start) = self.find_in_log(self.shard.origin(), sent) else {
            return Broken::TooOld;
        };
        let mut source = self.shard.source(start, Bound::Accepted);
        peer.gauge.begin(self.shard.log_last());
        // What it acknowledged to an earlier stream may be far behind, and is not what it needs.
        peer.gauge.set_acked_index(start.saturating_sub(1));
        let mut in_flight: VecDeque<InFlight> = VecDeque::new();
        let mut bytes_in_flight = 0;
        peer.gauge.set_state("catching_up");
        // The first batch goes out although it is empty: its answer tells how far the replica is
        // even when nothing new is written.
        let mut records = Vec::new();
        let mut told = 0;
        loop {
            let (entries, up_to, first) = self.select_for(peer, &records, sent);
            let tells = peer.wants_held.get() && told != self.shard.held().own_changes();
            if !records.is_empty() && up_to == sent && !tells {
                // Nothing of this origin among the records: the answer to what is under way
                // stands for them too.
                let index = source.position().saturating_sub(1);
                match in_flight.back_mut() {
                    Some(batch) => batch.index = index,
                    None => self.reached(peer, index),
                }
            } else {
                let bytes = entries.iter().map(Bytes::len).sum::<usize>() + 64;
                peer.gauge.rate.add(bytes);
                let batch = Batch {
                    origin: self.shard.origin(),
                    after: sent,
                    up_to,
                    entries,
                    held: self.acknowledged_for(peer),
                };
                told = self.shard.held().own_changes();
                sent = up_to;
                bytes_in_flight += bytes;
                in_flight.push_back(InFlight {
                    answer: Box::pin(peer.caller.call(Request::Replicate(batch), BATCH_TIMEOUT)),
                    up_to,
                    index: source.position().saturating_sub(1),
                    bytes,
                    sent: Instant::now(),
                    first,
                });
            }
            records.clear();
            loop {
                // What it asks for is not left waiting for the next write.
                if in_flight.is_empty()
                    && peer.wants_held.get()
                    && told != self.shard.held().own_changes()
                {
                    break;
                }
                let room = in_flight.len() < BATCHES_IN_FLIGHT && bytes_in_flight < BYTES_IN_FLIGHT;
                tokio::select! {
                    biased;
                    answer = front(&mut in_flight) => {
                        let Some(batch) = in_flight.pop_front() else { continue };
                        bytes_in_flight -= batch.bytes;
                        if let Err(broken) = self.take_answer(peer, &batch, answer) {
                            return broken;
                        }
                    }
                    () = self.shard.held().own_changed_since(told), if in_flight.is_empty() && peer.wants_held.get() => {}
                    read = source.next(BATCH_BYTES), if room => match read {
                        Ok(next) => {
                            records = next.unwrap_or_default();
                            break;
                        }
                        Err(CursorError::TooOld { .. }) => return Broken::TooOld,
                        Err(error) => {
                            // A clean stop closes the log under its readers.
                            if !self.shard.is_stopping() {
                                tracing::error!(%error, to = peer.label, "cannot read the log");
                            }
                            return Broken::Unreadable;
                        }
                    },
                }
            }
        }
    }

    /// The own entries among `records` that the peer should hold, the last own
    /// version seen, and the first sent.
    fn select_for(
        &self,
        peer: &Peer,
        records: &[(Index, Bytes)],
        after: Version,
    ) -> (Vec<Bytes>, Version, Option<Version>) {
        let placement = self.shard.placement();
        let meant = |keyspace, partition, from| {
            placement
                .keyspace(keyspace)
                .is_some_and(|k| match self.shard.env().sabotage {
                    Sabotage::SkipJoint => {
                        k.replicas(partition, k.width(from)).contains(&peer.address)
                    }
                    Sabotage::NarrowFrom => {
                        k.replicas(partition, from).contains(&peer.address)
                            || k.also(partition, from).contains(&peer.address)
                    }
                    _ => k.holds(peer.address, partition, from),
                })
        };
        let mut selection = Selection::of(self.shard.origin(), after, meant);
        let mut hits = Hits::with_capacity(records.len());
        let mut up_to = after;
        let mut first = None;
        for (_, record) in records {
            hits.read(record);
            let (view, is_wanted) = match selection.look(record) {
                Met::Other => continue,
                Met::Passed(view) => (view, false),
                Met::Wanted(view) => (view, true),
            };
            up_to = view.position().sequence;
            selection.of = Some((self.shard.origin(), up_to));
            if is_wanted {
                first.get_or_insert(up_to);
                hits.keep(record);
            }
        }
        (hits.into_entries(), up_to, first)
    }

    /// The replica misses nothing of this shard's up to `index`.
    fn reached(&self, peer: &Peer, index: Index) {
        peer.gauge.set_acked_index(index);
        if index + 1 >= self.shard.log_last() {
            peer.gauge.set_state("streaming");
        }
    }

    fn take_answer(
        &self,
        peer: &Peer,
        batch: &InFlight,
        answer: Result<Response, CallError>,
    ) -> Result<(), Broken> {
        match answer {
            Ok(Response::Replicated(BatchAnswer::Have {
                conflicts,
                uncounted,
                unsure,
                wants_held,
            })) => {
                peer.wants_held.set(wants_held);
                if batch.up_to > peer.held.get() {
                    peer.held.set(batch.up_to);
                    self.shard.held().own_changed();
                }
                for conflict in conflicts {
                    self.shard.restamp(conflict.version, conflict.newer);
                }
                for version in uncounted {
                    self.shard.uncounted(peer.slot, version);
                }
                self.shard.acknowledged(peer.slot, batch.up_to, unsure);
                self.reached(peer, batch.index);
                if let Some(first) = batch.first {
                    let now_ms = self.shard.clock().now_ms();
                    let since_stamp_ms = now_ms.saturating_sub(first.millis());
                    let since_stamp_us = since_stamp_ms.saturating_mul(1_000);
                    let since_sent_us = batch.sent.elapsed().as_micros() as u64;
                    // The stamp's clock ticks in milliseconds: use it only when it says more than it rounds.
                    let lag_us = since_stamp_us.saturating_sub(2_000);
                    peer.gauge.record_latency(lag_us.max(since_sent_us));
                }
                Ok(())
            }
            Ok(Response::Replicated(BatchAnswer::Gap(_))) => Err(Broken::Gap),
            Ok(_) => Err(Broken::Unreachable),
            Err(error) => {
                tracing::debug!(%error, to = peer.label, "stream broken");
                Err(Broken::Unreachable)
            }
        }
    }
}

/// The answer to the oldest batch under way; never ready when there is none.
fn front(
    in_flight: &mut VecDeque<InFlight>,
) -> impl Future<Output = Result<Response, CallError>> + '_ {
    std::future::poll_fn(move |cx| match in_flight.front_mut() {
        Some(batch) => batch.answer.as_mut().poll(cx),
        None => Poll::Pending,
    })
}
