//! An answer read line by line, in constant memory.

use bytes::BytesMut;

use crate::answer::Streamed;
use crate::call::{Call, Servers};
use crate::error::ClientError;

/// Lines as they arrive; dropping it ends it.
pub(crate) struct Lines {
    pub(crate) answer: Streamed,
    buffer: BytesMut,
    searched: usize,
    ended: bool,
}

impl Lines {
    pub(crate) async fn open(servers: &Servers, call: &Call) -> Result<Lines, ClientError> {
        Ok(Lines {
            answer: Streamed::open(servers, call).await?,
            buffer: BytesMut::new(),
            searched: 0,
            ended: false,
        })
    }

    /// The next line that is not empty, without its end; `None` behind the last. A body that breaks off is an
    /// error.
    pub(crate) async fn next(&mut self) -> Result<Option<BytesMut>, ClientError> {
        loop {
            if let Some(line) = self.take() {
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            match self.answer.data().await? {
                Some(data) => self.buffer.extend_from_slice(&data),
                None => self.ended = true,
            }
        }
    }

    /// Whether a line has come that was not taken.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.buffer[self.searched..].contains(&b'\n')
    }

    fn take(&mut self) -> Option<BytesMut> {
        match self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n')
        {
            Some(position) => {
                let mut line = self.buffer.split_to(self.searched + position + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                Some(line)
            }
            None if self.ended && !self.buffer.is_empty() => {
                self.searched = 0;
                Some(self.buffer.split())
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }
}
