//! One stream: bytes in to frames, the outbox out to bytes.
use crate::error::ServeError;
use crate::frame::{self, Frame, FrameError};
use crate::outbox::Outbox;
use crate::transport::Duplex;
use bytes::BytesMut;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::AsyncReadExt;

/// The most room made for a read. Bodies are slices of it, so it is also what one kept body can hold back.
const READ_BYTES: usize = 64 << 10;
/// Room made at first: most connections are idle. It doubles with each read that fills it.
const FIRST_READ_BYTES: usize = 8 << 10;
/// With less than one part in so many of it left a read is not worth its system call.
const WORTH_PART: usize = 4;

/// A stream with its buffers.
pub(crate) struct Wire {
    stream: Box<dyn Duplex>,
    input: BytesMut,
    /// Room made for a read.
    room: usize,
    writing: BytesMut,
    written_bytes: usize,
    flushed: bool,
    frame_bytes_max: usize,
}

impl Wire {
    pub fn new(stream: Box<dyn Duplex>, frame_bytes_max: usize) -> Self {
        Self {
            stream,
            input: BytesMut::new(),
            room: FIRST_READ_BYTES,
            writing: BytesMut::new(),
            written_bytes: 0,
            flushed: true,
            frame_bytes_max,
        }
    }

    /// Reads once and says how many bytes came.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ServeError>> {
        self.make_room()?;
        let read = pin!(self.stream.read_buf(&mut self.input)).poll(cx);
        let bytes = ready!(read)?;
        if bytes == 0 {
            return Poll::Ready(Err(ServeError::Closed));
        }
        if self.input.len() == self.input.capacity() {
            self.room = (2 * self.room).min(READ_BYTES);
        }
        Poll::Ready(Ok(bytes))
    }

    /// The next frame of what has been read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        frame::take(&mut self.input, self.frame_bytes_max)
    }

    /// The announced size of a frame that has begun and is not complete.
    pub fn unfinished_bytes(&self) -> Option<usize> {
        frame::announced(&self.input, self.frame_bytes_max)
            .ok()
            .flatten()
    }

    /// Memory follows what has been received, never what a frame claims: room doubles at most.
    fn make_room(&mut self) -> Result<(), FrameError> {
        let held = self.input.len();
        if self.input.capacity() - held >= self.room / WORTH_PART {
            return Ok(());
        }
        let missing = frame::announced(&self.input, self.frame_bytes_max)?
            .map_or(0, |total| total.saturating_sub(held));
        self.input.reserve(missing.min(held).max(self.room));
        Ok(())
    }

    /// Writes what the outbox holds, and where that is nothing up to so many `quanta` that `more` pushes,
    /// as long as it says that it did; ready with the bytes written when nothing is left. On
    /// `Pending` some bytes may have gone too: `progress` counts them all.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outbox: &Outbox,
        progress: &mut usize,
        quanta: &mut usize,
        mut more: impl FnMut() -> bool,
    ) -> Poll<Result<(), ServeError>> {
        loop {
            if self.writing.is_empty() {
                if *quanta > 0 && outbox.is_empty() {
                    *quanta = if more() { *quanta - 1 } else { 0 };
                }
                outbox.take_into(&mut self.writing);
                self.written_bytes = 0;
            }
            let rest = self.writing.get(self.written_bytes..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let bytes = ready!(Pin::new(&mut *self.stream).poll_write(cx, rest))?;
            if bytes == 0 {
                return Poll::Ready(Err(ServeError::Closed));
            }
            self.flushed = false;
            *progress += bytes;
            outbox.accepted(bytes);
            self.written_bytes += bytes;
            if self.written_bytes == self.writing.len() {
                self.writing.clear();
            }
        }
        if !self.flushed {
            ready!(Pin::new(&mut *self.stream).poll_flush(cx))?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
