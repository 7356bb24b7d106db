//! The other cluster of a link, as a comparison calls it.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_metadata::LinkRecord;
use dunlin_proto::api::{CompareAnswer, CompareRequest, DigestAnswer, DigestRequest, LinkStatus};
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::range::entries;
use crate::answer::Refusal;
use crate::transport::{Call, Transport};

/// A request that is not answered is sent again so often, after these pauses.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(200);

/// The other cluster.
#[derive(Clone)]
pub(crate) struct Other {
    pub transport: Rc<dyn Transport>,
    pub link: LinkRecord,
}

/// Records there.
pub(crate) struct There {
    pub entries: Vec<Entry>,
    /// The clusters whose entries the keyspace there has had.
    pub homes: Vec<String>,
}

impl Other {
    /// Values of a range.
    pub async fn digest(&self, request: &DigestRequest) -> Result<DigestAnswer, String> {
        let request = DigestRequest {
            keyspace_id: self.link.keyspace_id,
            ..request.clone()
        };
        self.post("digests", &request).await
    }

    /// The records of keys: with hashes of their values, or with the values of the first of them.
    pub async fn records(&self, keys: &[Bytes], values: bool) -> Result<There, String> {
        let request = CompareRequest {
            keyspace_id: self.link.keyspace_id,
            keys_base64: keys.iter().map(|key| STANDARD.encode(key)).collect(),
            values,
        };
        let answer: CompareAnswer = self.post("compare", &request).await?;
        let entries = entries(&answer.entries_base64).map_err(|error| error.to_string())?;
        Ok(There {
            entries,
            homes: answer.homes,
        })
    }

    /// Its links from the keyspace there.
    pub async fn links(&self) -> Result<Vec<LinkStatus>, String> {
        self.call(Method::GET, "links", Bytes::new()).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        what: &str,
        request: &impl Serialize,
    ) -> Result<T, String> {
        let body = serde_json::to_vec(request).unwrap_or_default();
        self.call(Method::POST, what, body.into()).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        what: &str,
        body: Bytes,
    ) -> Result<T, String> {
        let mut turn = 0;
        loop {
            let call = Call::of(&self.link, method.clone(), what, body.clone());
            let line = match self.transport.call(call).await {
                Ok((200, body)) => {
                    return serde_json::from_slice(&body).map_err(|error| {
                        format!("the other cluster does not answer like a Dunlin server: {error}")
                    });
                }
                Ok((status, body)) => {
                    let refusal = Refusal::of(&body).error;
                    let line = format!("the other cluster answers {status}: {refusal}");
                    if !matches!(status, 429 | 500..=599) {
                        return Err(line);
                    }
                    line
                }
                Err(line) => format!("the other cluster cannot be reached: {line}"),
            };
            turn += 1;
            if turn == TRIES {
                return Err(line);
            }
            sleep(PAUSE * turn).await;
        }
    }
}
