//! An answer read line by line, in constant memory.

use std::marker::PhantomData;

use bytes::BytesMut;
use serde::de::DeserializeOwned;

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

/// Reports of long work as they arrive, a line of JSON each; dropping it ends the work.
pub struct Reports<T> {
    lines: Lines,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned> Reports<T> {
    pub(crate) async fn open(servers: &Servers, call: &Call) -> Result<Self, ClientError> {
        Ok(Reports {
            lines: Lines::open(servers, call).await?,
            of: PhantomData,
        })
    }

    /// The next report; `None` behind the last.
    ///
    /// # Errors
    /// When the answer breaks off, or makes no sense.
    pub async fn next(&mut self) -> Result<Option<T>, ClientError> {
        let Some(line) = self.lines.next().await? else {
            return Ok(None);
        };
        let report = serde_json::from_slice(&line);
        report
            .map(Some)
            .map_err(|error| self.lines.answer.protocol(error.to_string()))
    }
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
