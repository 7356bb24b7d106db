//! Links: what other clusters get of a keyspace.

use bytes::Bytes;
use hyper::Method;

use crate::Client;
use crate::call::{Call, encode};
use crate::error::ClientError;
use crate::lines::Reports;
use dunlin_proto::api::{CreateLink, InboundLink, LinkStatus, LinkVerified};
use serde::Serialize;

/// The settings of a link to change; one that is absent stays.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AlterLink {
    /// Nothing is sent for now, or again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Servers of the other cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    /// Bytes a second that are sent at most; 0 takes the limit away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes_per_s: Option<u64>,
    /// Name of a login in the file of each node; an empty one takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// How a comparison goes about it.
#[derive(Debug, Clone, Default)]
pub struct VerifyLink {
    /// It repairs what it can.
    pub repair: bool,
    /// It goes on where an earlier one ended early.
    pub resume: bool,
    /// Bytes a second that are read at most, in both clusters together.
    pub limit_bytes_per_s: Option<u64>,
    /// How long it waits until the link has delivered all earlier writes; a minute, if absent.
    pub timeout_s: Option<u64>,
}

/// A comparison under way.
pub type LinkVerification = Reports<LinkVerified>;

impl Client {
    /// All links that the caller may see.
    ///
    /// # Errors
    /// See [`ClientError`], here and below.
    pub async fn links(&self) -> Result<Vec<LinkStatus>, ClientError> {
        self.json(Call::new(Method::GET, "/v1/links".to_owned()))
            .await
    }

    /// All links from other clusters that the caller may see.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn inbound_links(&self) -> Result<Vec<InboundLink>, ClientError> {
        self.json(Call::new(Method::GET, "/v1/inbound-links".to_owned()))
            .await
    }

    /// Refuses a link from another cluster from now on.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none.
    pub async fn refuse_link(&self, link: &InboundLink) -> Result<(), ClientError> {
        let links = format!("{}/inbound-links", path(&link.keyspace));
        let call = Call::new(
            Method::DELETE,
            format!("{links}/{}/{}", link.cluster, link.link),
        );
        self.done(call).await
    }

    /// The link of this name.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none.
    pub async fn link(&self, name: &str) -> Result<LinkStatus, ClientError> {
        let links = self.links().await?;
        let found = links.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| {
            let line = format!("there is no link {name}: dunlin link list shows which there are");
            ClientError::NotFound(line)
        })
    }

    /// Makes a link from a keyspace. A rule that does not hold gives [`ClientError::Refused`] with status 409; a cluster
    /// that does not answer, [`ClientError::Unavailable`].
    ///
    /// # Errors
    /// See above.
    pub async fn create_link(
        &self,
        keyspace: &str,
        wanted: &CreateLink,
    ) -> Result<LinkStatus, ClientError> {
        let mut call = Call::new(Method::POST, format!("{}/links", path(keyspace)));
        call.json(serde_json::to_vec(wanted).map_err(|e| ClientError::Invalid(e.to_string()))?);
        call.repeatable = wanted.both_ways;
        self.json(call).await
    }

    /// Changes a link.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn alter_link(
        &self,
        keyspace: &str,
        name: &str,
        change: &AlterLink,
    ) -> Result<LinkStatus, ClientError> {
        let mut call = Call::new(Method::PATCH, link_path(keyspace, name));
        call.json(serde_json::to_vec(change).map_err(|e| ClientError::Invalid(e.to_string()))?);
        self.json(call).await
    }

    /// Drops a link; what the other cluster has stays there.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn drop_link(&self, keyspace: &str, name: &str) -> Result<(), ClientError> {
        let call = Call::new(Method::DELETE, link_path(keyspace, name));
        self.done(call).await
    }

    /// Compares the two clusters of a link, and reports how far that is.
    ///
    /// # Errors
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn verify_link(
        &self,
        keyspace: &str,
        name: &str,
        options: &VerifyLink,
    ) -> Result<LinkVerification, ClientError> {
        let target = format!("{}/verify", link_path(keyspace, name));
        let mut call = Call::new(Method::POST, target);
        let flags = [("repair", options.repair), ("resume", options.resume)];
        for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
            call.parameter(name, "true");
        }
        let numbers = [
            ("limit", options.limit_bytes_per_s),
            ("timeout_s", options.timeout_s),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                call.parameter(name, &number.to_string());
            }
        }
        Reports::open(self.servers(), &call).await
    }

    /// Sends a request as it is, and answers with status and body whatever they are. It may be sent more than once.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn pass(
        &self,
        method: Method,
        target: String,
        content_type: &'static str,
        body: Bytes,
    ) -> Result<(u16, Bytes), ClientError> {
        let mut call = Call::new(method, target);
        if !body.is_empty() {
            call.header("content-type", content_type.to_owned());
        }
        call.body(body);
        match self.servers().reply(&call).await {
            Ok(reply) => Ok((reply.head.status().as_u16(), reply.body)),
            // No server of the list can serve: what the last one said.
            Err(ClientError::Unavailable {
                status, message, ..
            }) => {
                let body = serde_json::json!({ "error": message }).to_string();
                Ok((status, body.into()))
            }
            Err(error) => Err(error),
        }
    }
}

fn path(keyspace: &str) -> String {
    format!("/v1/keyspaces/{}", encode(keyspace.as_bytes()))
}

fn link_path(keyspace: &str, name: &str) -> String {
    format!("{}/links/{}", path(keyspace), encode(name.as_bytes()))
}
