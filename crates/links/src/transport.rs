//! The transport of requests to another cluster: HTTP, or the network of the simulation.

use std::fmt::Debug;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_metadata::LinkRecord;
use dunlin_node::http::LocalFuture;
use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A request to another cluster.
#[derive(Debug, Clone)]
pub struct Call {
    /// Servers of it: the next is tried when one cannot answer.
    pub servers: Vec<String>,
    /// The name of a login in the file of logins.
    pub login: Option<String>,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The type of its body.
    pub content_type: &'static str,
    /// Its body.
    pub body: Bytes,
}

impl Call {
    /// A request of a link about the keyspace that it leads to.
    pub(crate) fn of(link: &LinkRecord, method: Method, what: &str, body: Bytes) -> Call {
        Call {
            servers: link.to.clone(),
            login: link.login.clone(),
            method,
            target: format!("/v1/keyspaces/{}/{what}", encode(&link.keyspace)),
            content_type: "application/json",
            body,
        }
    }
}

/// Status and body of an answer, or one line that says why there is none.
pub type Answered = Result<(u16, Bytes), String>;

/// Calls other clusters, for one shard. A call may arrive more than once.
pub trait Transport {
    /// Sends a request, and waits for the answer.
    fn call(&self, call: Call) -> LocalFuture<Answered>;
}

/// Makes a transport for each shard.
pub trait Connect: Debug + Send + Sync {
    /// One for a shard, made on its event loop.
    fn transport(&self) -> Rc<dyn Transport>;
}

/// All but the characters that RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes a part of a path.
pub(crate) fn encode(part: &str) -> String {
    utf8_percent_encode(part, ENCODED).to_string()
}
