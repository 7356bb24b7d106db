//! The streams that one side of a connection reads: what has come of each, and how it ended.
use super::window::Window;
use super::{Breach, Ending, PART_COST_BYTES};
use crate::error::CallError;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

/// The streams of one caller, over all its connections: numbers are not used again.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    latest: u64,
    streams: BTreeMap<u64, Stream>,
}

#[derive(Debug)]
struct Stream {
    window: Window,
    parts: VecDeque<Part>,
    ending: Option<Ending>,
    /// Nobody reads it: what comes is dropped, until the writer has heard of it.
    is_stopped: bool,
    waker: Option<Waker>,
}

/// Part of an item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub bytes: Bytes,
    pub is_last: bool,
}

/// What is read of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// And so much credit to be granted for it.
    Part(Part, Option<usize>),
    End(Ending),
}

fn cost(bytes: &[u8]) -> usize {
    bytes.len() + PART_COST_BYTES
}

impl Reading {
    /// The number of a new stream.
    pub fn open(&mut self, window_bytes: usize) -> u64 {
        self.latest += 1;
        let stream = Stream {
            window: Window::new(window_bytes),
            parts: VecDeque::new(),
            ending: None,
            is_stopped: false,
            waker: None,
        };
        self.streams.insert(self.latest, stream);
        self.latest
    }

    /// Streams whose end the peer has not told, or nobody has read.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Part of an item comes. The bytes are copied: a slice would hold all of the buffer it came in.
    pub fn part(&mut self, stream: u64, bytes: &[u8], is_last: bool) -> Result<(), Breach> {
        let open = self.running(stream)?;
        if !open.window.came(cost(bytes)) {
            return Err("more than there was credit for");
        }
        if !open.is_stopped {
            open.parts.push_back(Part {
                bytes: Bytes::copy_from_slice(bytes),
                is_last,
            });
            if let Some(waker) = open.waker.take() {
                waker.wake();
            }
        }
        Ok(())
    }

    /// The writer sends nothing more.
    pub fn end(&mut self, stream: u64, ending: Ending) -> Result<(), Breach> {
        let open = self.running(stream)?;
        if open.is_stopped {
            self.streams.remove(&stream);
            return Ok(());
        }
        open.ending = Some(ending);
        if let Some(waker) = open.waker.take() {
            waker.wake();
        }
        Ok(())
    }

    /// A stream of which something may come.
    fn running(&mut self, stream: u64) -> Result<&mut Stream, Breach> {
        let open = self.streams.get_mut(&stream);
        let open = open.ok_or("not open here")?;
        match open.ending {
            None => Ok(open),
            Some(_) => Err("has ended"),
        }
    }

    /// Whether the writer may still send something that will be read.
    pub fn is_running(&self, stream: u64) -> bool {
        let open = self.streams.get(&stream);
        open.is_some_and(|open| open.ending.is_none() && !open.is_stopped)
    }

    /// The next part, or how it ended; after that end it is gone.
    pub fn poll(&mut self, stream: u64, cx: &Context<'_>) -> Poll<Read> {
        let Some(open) = self.streams.get_mut(&stream) else {
            return Poll::Ready(Read::End(Err(CallError::Disconnected)));
        };
        if let Some(part) = open.parts.pop_front() {
            let granted = open.window.read(cost(&part.bytes));
            // One that has ended needs no credit.
            let granted = granted.filter(|_| open.ending.is_none());
            return Poll::Ready(Read::Part(part, granted));
        }
        if let Some(ending) = open.ending.take() {
            self.streams.remove(&stream);
            return Poll::Ready(Read::End(ending));
        }
        open.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Nobody reads it any more: whether the writer is to be told, who has not ended it yet.
    pub fn stop(&mut self, stream: u64) -> bool {
        let Some(open) = self.streams.get_mut(&stream) else {
            return false;
        };
        if open.ending.is_some() {
            self.streams.remove(&stream);
            return false;
        }
        open.is_stopped = true;
        open.parts.clear();
        true
    }

    /// It was never opened at the peer.
    pub fn forget(&mut self, stream: u64) {
        self.streams.remove(&stream);
    }

    /// The connection is gone. What has come can still be read.
    pub fn break_off(&mut self) {
        self.streams.retain(|_, open| !open.is_stopped);
        for open in self.streams.values_mut() {
            open.ending.get_or_insert(Err(CallError::Disconnected));
            if let Some(waker) = open.waker.take() {
                waker.wake();
            }
        }
    }

    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        let parts = self.streams.values().flat_map(|open| &open.parts);
        parts.map(|part| cost(&part.bytes)).sum()
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
