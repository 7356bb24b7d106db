//! Named cursors: places in a keyspace's changes that the cluster keeps.

use hyper::Method;
use serde::{Deserialize, Serialize};

use crate::call::{Call, encode, json, refusal};
use crate::changes::Since;
use crate::error::ClientError;
use crate::keyspace::Keyspace;

/// A cursor as the cluster has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursor {
    /// Its name.
    pub name: String,
    /// All before it has been committed.
    pub token: String,
    /// Grows whenever a consumer is let in, and whenever it is set elsewhere.
    pub generation: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was committed last.
    pub committed_ms: u64,
    /// Who reads by it, if anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// For how long that counts without another sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_left_ms: Option<u64>,
    /// Why its record cannot be read, if so: only its name is known then, and it can only be dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

impl Keyspace {
    /// All cursors of the keyspace, by name.
    pub async fn cursors(&self) -> Result<Vec<Cursor>, ClientError> {
        let reply = self.ask(Call::new(Method::GET, self.cursors_path().to_owned()));
        json(reply.await?)
    }

    /// One of them. [`ClientError::NotFound`] when there is none of that name.
    pub async fn cursor(&self, name: &str) -> Result<Cursor, ClientError> {
        json(
            self.ask(Call::new(Method::GET, self.cursor_path(name)))
                .await?,
        )
    }

    /// Makes one. A name that is taken gives [`ClientError::Refused`] with status 409.
    pub async fn create_cursor(&self, name: &str, since: &Since) -> Result<Cursor, ClientError> {
        self.put_cursor(name, since, false).await
    }

    /// Sets one elsewhere; who reads by it ends.
    pub async fn seek_cursor(&self, name: &str, since: &Since) -> Result<Cursor, ClientError> {
        self.put_cursor(name, since, true).await
    }

    /// Drops one.
    pub async fn drop_cursor(&self, name: &str) -> Result<(), ClientError> {
        let reply = self.ask(Call::new(Method::DELETE, self.cursor_path(name)));
        match reply.await? {
            reply if reply.head.status().is_success() => Ok(()),
            reply => Err(refusal(reply)),
        }
    }

    /// All before a token is done with; with `release` this consumer ends, and another may have the cursor at once.
    /// With the generation of an earlier consumer it is refused with status 409.
    pub async fn commit_cursor(
        &self,
        name: &str,
        token: &str,
        generation: Option<u64>,
        release: bool,
    ) -> Result<Cursor, ClientError> {
        let path = format!("{}/commit", self.cursor_path(name));
        let mut call = Call::new(Method::POST, path);
        let body =
            serde_json::json!({ "token": token, "generation": generation, "release": release });
        call.json(body.to_string().into_bytes());
        json(self.ask(call).await?)
    }

    /// The consumer of this generation is still at work: it keeps the cursor for another 15 s. To be called at least
    /// so often where a batch takes longer; a commit does the same. Refused with status 409 when another has it.
    pub async fn renew_cursor(&self, name: &str, generation: u64) -> Result<Cursor, ClientError> {
        let path = format!("{}/renew", self.cursor_path(name));
        let mut call = Call::new(Method::POST, path);
        call.json(
            serde_json::json!({ "generation": generation })
                .to_string()
                .into_bytes(),
        );
        call.repeatable = true;
        json(self.ask(call).await?)
    }

    async fn put_cursor(
        &self,
        name: &str,
        since: &Since,
        seek: bool,
    ) -> Result<Cursor, ClientError> {
        let mut call = Call::new(Method::PUT, self.cursor_path(name));
        let from = match since {
            Since::Beginning => "beginning",
            Since::Now => "now",
            Since::Token(token) => token,
        };
        let body = serde_json::json!({ "from": from, "seek": seek });
        call.json(body.to_string().into_bytes());
        call.repeatable = seek;
        json(self.ask(call).await?)
    }

    fn cursor_path(&self, name: &str) -> String {
        format!("{}/{}", self.cursors_path(), encode(name.as_bytes()))
    }
}
