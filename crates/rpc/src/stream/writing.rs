//! The streams that one side of a connection writes: what waits to be sent of each, and for how much of
//! it there is credit.
use super::{Breach, Ending, PART_BYTES_MIN, PART_COST_BYTES, QUANTUM_BYTES, WINDOW_BYTES_MAX};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// The next thing to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Out {
    Part {
        stream: u64,
        bytes: Bytes,
        is_last: bool,
    },
    End {
        stream: u64,
        ending: Ending,
    },
}

/// What becomes of a stream that the peer opens.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is open; the notice comes when it is not any more.
    Yes(Arc<Notify>),
    /// The peer has as many as it may: it is told so, and nothing is kept of this one.
    TooMany,
}

/// The streams of one connection.
#[derive(Debug)]
pub(crate) struct Writing {
    most: usize,
    /// Streams are numbered upwards: of one up to this something may still be on its way.
    latest: u64,
    streams: BTreeMap<u64, Stream>,
    /// Those that have something to send and credit for it, in the order of their turns.
    turns: VecDeque<u64>,
}

#[derive(Debug)]
struct Stream {
    credit: usize,
    /// What is left of the item that is being sent.
    item: Option<Bytes>,
    ending: Option<Ending>,
    /// Whether it stands among the turns.
    is_queued: bool,
    /// Of who waits for the item to be gone.
    waker: Option<Waker>,
    gone: Arc<Notify>,
}

impl Stream {
    /// How much of the item goes next; `None` while there is not enough credit.
    fn part_bytes(&self, item: &Bytes) -> Option<usize> {
        let room = self.credit.checked_sub(PART_COST_BYTES)?;
        let part = item.len().min(QUANTUM_BYTES).min(room);
        (part >= item.len().min(PART_BYTES_MIN)).then_some(part)
    }

    fn has_turn(&self) -> bool {
        match &self.item {
            Some(item) => self.part_bytes(item).is_some(),
            None => self.ending.is_some(),
        }
    }

    fn leave(self) {
        if let Some(waker) = self.waker {
            waker.wake();
        }
        self.gone.notify_one();
    }
}

impl Writing {
    /// Of which the peer may have `most` open at a time.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            latest: 0,
            streams: BTreeMap::new(),
            turns: VecDeque::new(),
        }
    }

    /// The peer opens a stream with so much credit.
    pub fn open(&mut self, stream: u64, credit: usize) -> Result<Opened, Breach> {
        if stream <= self.latest {
            return Err("opened twice");
        }
        self.latest = stream;
        if credit > WINDOW_BYTES_MAX {
            return Err("more credit than there may be");
        }
        if self.streams.len() >= self.most {
            return Ok(Opened::TooMany);
        }
        let gone = Arc::new(Notify::new());
        let opened = Stream {
            credit,
            item: None,
            ending: None,
            is_queued: false,
            waker: None,
            gone: gone.clone(),
        };
        self.streams.insert(stream, opened);
        Ok(Opened::Yes(gone))
    }

    /// The peer has read some of it.
    pub fn credit(&mut self, stream: u64, bytes: usize) -> Result<(), Breach> {
        let Some(open) = self.known(stream)? else {
            return Ok(());
        };
        let credit = open.credit.saturating_add(bytes);
        if credit > WINDOW_BYTES_MAX {
            return Err("more credit than there may be");
        }
        open.credit = credit;
        self.queue(stream);
        Ok(())
    }

    /// The peer wants no more of it: whether it is to be told the end, which it has not been told yet.
    pub fn stop(&mut self, stream: u64) -> Result<bool, Breach> {
        if self.known(stream)?.is_none() {
            return Ok(false);
        }
        self.remove(stream);
        Ok(true)
    }

    /// What is open under this number; nothing where it has ended.
    fn known(&mut self, stream: u64) -> Result<Option<&mut Stream>, Breach> {
        if stream <= self.latest {
            Ok(self.streams.get_mut(&stream))
        } else {
            Err("never opened")
        }
    }

    /// The next item. Only where [`Writing::poll_sent`] has said that the one before is gone; false
    /// where the stream is gone.
    pub fn offer(&mut self, stream: u64, item: Bytes) -> bool {
        let Some(open) = self.streams.get_mut(&stream) else {
            return false;
        };
        open.item = Some(item);
        self.queue(stream);
        true
    }

    /// Ready when all that was offered is on its way; false where the stream is gone.
    pub fn poll_sent(&mut self, stream: u64, cx: &Context<'_>) -> Poll<bool> {
        match self.streams.get_mut(&stream) {
            None => Poll::Ready(false),
            Some(open) if open.item.is_none() => Poll::Ready(true),
            Some(open) => {
                open.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Nothing comes behind what was offered.
    pub fn end(&mut self, stream: u64, ending: Ending) {
        if let Some(open) = self.streams.get_mut(&stream) {
            open.ending = Some(ending);
            self.queue(stream);
        }
    }

    fn queue(&mut self, stream: u64) {
        if let Some(open) = self.streams.get_mut(&stream)
            && !open.is_queued
            && open.has_turn()
        {
            open.is_queued = true;
            self.turns.push_back(stream);
        }
    }

    fn remove(&mut self, stream: u64) {
        if let Some(gone) = self.streams.remove(&stream) {
            gone.leave();
        }
    }

    /// What is sent next, a quantum at most: of each stream in turn.
    pub fn next(&mut self) -> Option<Out> {
        while let Some(stream) = self.turns.pop_front() {
            // It may have been stopped meanwhile.
            let Some(open) = self.streams.get_mut(&stream) else {
                continue;
            };
            open.is_queued = false;
            let Some(mut item) = open.item.take() else {
                let ending = open.ending.take();
                self.remove(stream);
                let ending = ending.unwrap_or(Ok(()));
                return Some(Out::End { stream, ending });
            };
            let Some(part) = open.part_bytes(&item) else {
                open.item = Some(item);
                continue;
            };
            let bytes = item.split_to(part);
            open.credit -= part + PART_COST_BYTES;
            let is_last = item.is_empty();
            if is_last {
                if let Some(waker) = open.waker.take() {
                    waker.wake();
                }
            } else {
                open.item = Some(item)
            }
            self.queue(stream);
            return Some(Out::Part {
                stream,
                bytes,
                is_last,
            });
        }
        None
    }

    /// Whether [`Writing::next`] may have something.
    pub fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The connection is gone.
    pub fn close(&mut self) {
        self.turns.clear();
        let all = std::mem::take(&mut self.streams);
        all.into_values().for_each(Stream::leave);
    }

    #[cfg(test)]
    pub fn credit_of(&self, stream: u64) -> Option<usize> {
        self.streams.get(&stream).map(|open| open.credit)
    }
}
