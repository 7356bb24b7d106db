//! Answering with stored records: a stream of pages (decision 44).

use bytes::Bytes;
use dunlin_proto::{CANNOT, FillRequest, Request, Response, SnapshotRequest};
use dunlin_rpc::{Refused, Sink};

use crate::services::Services;

/// What asks for pages.
pub(crate) enum Asked {
    /// For who lacks something (decision 40).
    Snapshot(SnapshotRequest),
    /// For who takes a partition over.
    Fill(FillRequest),
}

/// A page, and what it took.
struct Answer {
    response: Response,
    next: Option<Bytes>,
    looked_bytes: usize,
}

impl Asked {
    /// Of the requests that are answered so.
    pub fn of(request: Request) -> Option<Asked> {
        match request {
            Request::Snapshot(snapshot) => Some(Asked::Snapshot(snapshot)),
            Request::Fill(fill) => Some(Asked::Fill(fill)),
            _ => None,
        }
    }

    /// Page after page, each read when all before it are on their way. Ends when so much was looked at, too:
    /// who wants the rest asks from the last page on.
    pub async fn send_all(
        mut self,
        services: &Services,
        is_refused: impl Fn() -> Option<&'static str>,
        mut sink: Sink<Response>,
    ) {
        let look_bytes = services.shard.config().copy_steps.look_bytes;
        let mut looked_bytes = 0;
        loop {
            // What held when the stream was opened may not hold any more.
            if let Some(why) = is_refused() {
                return sink.refuse(CANNOT, why);
            }
            let answer = match self.page(services).await {
                Ok(answer) => answer,
                Err(Refused { code, text }) => return sink.refuse(code, &text),
            };
            looked_bytes += answer.looked_bytes;
            if let Err(error) = sink.send(answer.response).await {
                tracing::debug!(%error, "a stream of pages ends");
                return;
            }
            match answer.next {
                Some(next) if looked_bytes < look_bytes => self.go_on(next),
                _ => return sink.end(),
            }
        }
    }

    fn go_on(&mut self, next: Bytes) {
        match self {
            Asked::Snapshot(snapshot) => snapshot.start = next,
            Asked::Fill(fill) => fill.start = next,
        }
    }

    async fn page(&self, services: &Services) -> Result<Answer, Refused> {
        let cannot = |why| Refused::new(CANNOT, why);
        match self {
            Asked::Snapshot(snapshot) => {
                let page = services
                    .replication
                    .clone()
                    .serve_backfill(snapshot.clone());
                let page = page.await.ok_or(cannot("the partition cannot be read"))?;
                Ok(Answer {
                    next: page.next.clone(),
                    looked_bytes: page.cost.map_or(0, |cost| cost.read_bytes as usize),
                    response: Response::Page(page),
                })
            }
            Asked::Fill(fill) => {
                let page = services.moves.clone().serve_fill(fill.clone()).await;
                let page = page.ok_or(cannot("the partition cannot be copied now"))?;
                Ok(Answer {
                    next: page.next.clone(),
                    looked_bytes: page.read_bytes as usize,
                    response: Response::Filled(page),
                })
            }
        }
    }
}
