//! Views: indexes that a map function makes of a keyspace's records.

use dunlin_proto::api::{TriedDocument, View, ViewVerified};
use hyper::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{Call, encode, json, refusal};
use crate::error::ClientError;
use crate::keyspace::Keyspace;
use crate::lines::{Lines, Reports};

/// A row of an answer. `id` is of rows, not of what they are reduced to.
#[derive(Debug, Clone, Deserialize)]
pub struct ViewRow {
    /// Key of the document, where it is text.
    pub id: Option<String>,
    /// The same in base64, where it is none.
    pub id_base64: Option<String>,
    /// The row's key.
    pub key: Box<RawValue>,
    /// Its value.
    pub value: Box<RawValue>,
    /// The document, where it was asked for.
    pub doc: Option<Box<RawValue>>,
}

/// An answer of a view, as it arrives.
pub struct ViewRows {
    lines: Lines,
    is_behind_head: bool,
    token: Option<String>,
}

#[derive(Deserialize)]
struct End {
    token: String,
}

impl ViewRows {
    /// The next row, as JSON; `None` behind the last.
    ///
    /// # Errors
    /// When the answer breaks off.
    pub async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            let Some(line) = self.lines.next().await? else {
                let is_whole = self.token.is_some();
                let cut = || {
                    self.lines
                        .answer
                        .protocol("the answer ends early".to_owned())
                };
                return is_whole.then_some(None).ok_or_else(cut);
            };
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(end) = line.strip_prefix("],") {
                let end = serde_json::from_str::<End>(&format!("{{{end}"));
                let wrong =
                    |error: serde_json::Error| self.lines.answer.protocol(error.to_string());
                self.token = Some(end.map_err(wrong)?.token);
            } else if std::mem::replace(&mut self.is_behind_head, true) {
                return Ok(Some(line.trim_end_matches(',').to_owned()));
            }
        }
    }

    /// The same, read.
    ///
    /// # Errors
    /// When the answer breaks off, or makes no sense.
    pub async fn row(&mut self) -> Result<Option<ViewRow>, ClientError> {
        let Some(line) = self.next().await? else {
            return Ok(None);
        };
        let row = serde_json::from_str(&line);
        row.map(Some)
            .map_err(|error| self.lines.answer.protocol(error.to_string()))
    }

    /// What the answer reflects, behind its last row.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}

/// Verification under way, to its end when all shards are done.
pub type ViewVerification = Reports<ViewVerified>;

impl Keyspace {
    /// All views of the keyspace, by name.
    ///
    /// # Errors
    /// See [`ClientError`], here and below.
    pub async fn views(&self) -> Result<Vec<View>, ClientError> {
        let call = Call::new(Method::GET, self.views_path().to_owned());
        json(self.ask(call).await?)
    }

    /// One of them.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn view(&self, name: &str) -> Result<View, ClientError> {
        let call = Call::new(Method::GET, self.view_path(name, "/status"));
        json(self.ask(call).await?)
    }

    /// Makes one; it is built in the background. `reduce` is `_count`, `_sum` or `_stats`.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the name is taken, or the source is no function.
    pub async fn create_view(
        &self,
        name: &str,
        map: &str,
        reduce: Option<&str>,
    ) -> Result<(), ClientError> {
        let mut call = Call::new(Method::POST, self.views_path().to_owned());
        call.repeatable = false;
        let body = serde_json::json!({ "name": name, "map": map, "reduce": reduce });
        call.json(body.to_string().into_bytes());
        self.done(call).await
    }

    /// Drops one.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn drop_view(&self, name: &str) -> Result<(), ClientError> {
        self.done(Call::new(Method::DELETE, self.view_path(name, "")))
            .await
    }

    /// Gives one other functions; it is asked as it was until their index is whole. An index whose every document
    /// failed takes over only with `force`.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn change_view(
        &self,
        name: &str,
        map: &str,
        reduce: Option<&str>,
        force: bool,
    ) -> Result<(), ClientError> {
        let mut call = Call::new(Method::PUT, self.view_path(name, ""));
        let body = serde_json::json!({ "map": map, "reduce": reduce, "force": force });
        call.json(body.to_string().into_bytes());
        self.done(call).await
    }

    /// Builds one anew; it is asked as it was until then.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn rebuild_view(&self, name: &str) -> Result<(), ClientError> {
        self.done(Call::new(Method::POST, self.view_path(name, "/rebuild")))
            .await
    }

    /// Shows what a map function makes of the first `limit` documents, and changes nothing.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the source is no function.
    pub async fn try_view(
        &self,
        map: &str,
        reduce: Option<&str>,
        limit: usize,
    ) -> Result<Vec<TriedDocument>, ClientError> {
        let mut call = Call::new(Method::POST, self.try_view_path().to_owned());
        let body = serde_json::json!({ "map": map, "reduce": reduce, "limit": limit });
        call.json(body.to_string().into_bytes());
        json(self.ask(call).await?)
    }

    /// Asks a view, with parameters as over HTTP.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when they make no sense.
    pub async fn query_view(
        &self,
        name: &str,
        parameters: &[(&str, String)],
    ) -> Result<ViewRows, ClientError> {
        let mut call = Call::new(Method::GET, self.view_path(name, ""));
        for (name, value) in parameters {
            call.parameter(name, value);
        }
        let lines = Lines::open(self.servers(), &call).await?;
        Ok(ViewRows {
            lines,
            is_behind_head: false,
            token: None,
        })
    }

    /// Has the index of each shard compared with one that is made anew.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn verify_view(&self, name: &str) -> Result<ViewVerification, ClientError> {
        let call = Call::new(Method::POST, self.view_path(name, "/verify"));
        Reports::open(self.servers(), &call).await
    }

    async fn done(&self, call: Call) -> Result<(), ClientError> {
        match self.ask(call).await? {
            reply if reply.head.status().is_success() => Ok(()),
            reply => Err(refusal(reply)),
        }
    }

    fn view_path(&self, name: &str, what: &str) -> String {
        format!("{}/{}{what}", self.views_path(), encode(name.as_bytes()))
    }
}
