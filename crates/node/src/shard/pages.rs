//! Pages of another shard's stored records, as streams (decision 44).

use bytes::Bytes;
use dunlin_proto::{Request, Response};
use dunlin_rpc::CallError;

use super::Peer;
use super::aside::AsideItems;
use crate::limits::{PAGE_TIMEOUT, STREAM_BYTES};

/// Pages in key order, each from where the one before it ended.
pub(crate) struct Pages<'a, F> {
    peer: &'a Peer,
    /// What asks for those from a key on.
    ask: F,
    /// First key of the next; `None` when all are there.
    start: Option<Bytes>,
    stream: Option<AsideItems>,
    is_finished: bool,
}

impl<'a, F: Fn(Bytes) -> Request> Pages<'a, F> {
    /// From `start` on.
    pub fn new(peer: &'a Peer, start: Bytes, ask: F) -> Self {
        Pages {
            peer,
            ask,
            start: Some(start),
            stream: None,
            is_finished: false,
        }
    }

    /// The next page; `None` when all are there, or no more are wanted.
    ///
    /// # Errors
    /// As of a call. Asked again, it goes on behind the last page.
    pub async fn next(&mut self) -> Result<Option<Response>, CallError> {
        let Some(start) = self.start.clone() else {
            return Ok(None);
        };
        let page = self.of_stream(&start).await?;
        if let Some(page) = &page {
            self.start = next_of(page)?;
        }
        Ok(page)
    }

    /// Asks for no more than is on its way, which still comes.
    pub fn finish(&mut self) {
        self.is_finished = true;
        if let Some(stream) = &mut self.stream {
            stream.finish();
        }
    }

    /// The next page of the stream there is, or of another where that has ended; `None` where there is to
    /// be none.
    async fn of_stream(&mut self, start: &Bytes) -> Result<Option<Response>, CallError> {
        let mut is_new = false;
        loop {
            let stream = match &mut self.stream {
                Some(stream) => stream,
                None if self.is_finished => return Ok(None),
                None if is_new => {
                    let empty = "a stream without a page".to_owned();
                    return Err(CallError::Protocol(empty));
                }
                none => {
                    is_new = true;
                    let request = (self.ask)(start.clone());
                    none.insert(self.peer.stream_aside(request, STREAM_BYTES).await)
                }
            };
            match stream.next(PAGE_TIMEOUT).await {
                Some(Ok(page)) => return Ok(Some(page)),
                None => {}
                Some(Err(error)) => {
                    self.stream = None;
                    return Err(error);
                }
            }
            self.stream = None;
        }
    }
}

/// Where the page after this one begins.
fn next_of(page: &Response) -> Result<Option<Bytes>, CallError> {
    match page {
        Response::Page(page) => Ok(page.next.clone()),
        Response::Filled(page) => Ok(page.next.clone()),
        _ => Err(CallError::Protocol("an answer out of turn".to_owned())),
    }
}
