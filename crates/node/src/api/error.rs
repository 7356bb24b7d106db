//! Failures as statuses: which number tells the client what to do.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::json;

use super::reply::{self, Reply};
use crate::doors::NoRoom;
use crate::quorum::Failure;

/// `no` where a write that failed changed nothing and never will: it need not be given up.
pub(super) static WRITTEN_HEADER: HeaderName = HeaderName::from_static("dunlin-written");

/// A request that cannot be carried out, with its status and one line that says why.
#[derive(Debug)]
pub struct Rejected {
    /// The status.
    pub status: StatusCode,
    /// Why, and what to do.
    pub line: String,
    /// Version of the value in the way of a conditional write.
    pub(super) current: Option<dunlin_entry::Stamp>,
    /// When to try again, in seconds.
    pub(super) retry_after_s: Option<u64>,
    /// Whether this attempt at a write changed nothing, and never will.
    pub(super) is_settled: bool,
}

impl Rejected {
    /// With a status and one line that says what to do.
    pub fn new(status: StatusCode, line: impl Into<String>) -> Rejected {
        Rejected {
            status,
            line: line.into(),
            current: None,
            retry_after_s: None,
            is_settled: false,
        }
    }

    /// Of an attempt at a write that changed nothing, and never will.
    pub(super) fn settled(mut self) -> Rejected {
        self.is_settled = true;
        self
    }

    /// 400: the request is to be corrected.
    pub fn bad(line: impl Into<String>) -> Rejected {
        Rejected::new(StatusCode::BAD_REQUEST, line)
    }

    /// No memory is left for requests and answers.
    pub(super) fn full() -> Rejected {
        Failure::Full.into()
    }

    pub(super) fn superseded() -> Rejected {
        let line = "another process runs as this node, and this one ends: ask another node";
        Rejected::new(StatusCode::SERVICE_UNAVAILABLE, line)
    }

    pub(super) fn method() -> Rejected {
        Rejected::new(StatusCode::METHOD_NOT_ALLOWED, "method not allowed here")
    }

    /// As one line of text: the form of `/v0`.
    pub(super) fn into_text(self) -> Reply {
        self.finish(reply::text)
    }

    /// As `{"error": ...}`: the form of `/v1`.
    pub(super) fn into_json(self) -> Reply {
        self.finish(|status, line| reply::json(status, &json!({ "error": line })))
    }

    fn finish(self, form: impl FnOnce(StatusCode, String) -> Reply) -> Reply {
        let mut reply = form(self.status, self.line);
        if let Some(seconds) = self.retry_after_s {
            reply.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if self.is_settled {
            let no = HeaderValue::from_static("no");
            reply.headers_mut().insert(&WRITTEN_HEADER, no);
        }
        match self.current {
            Some(stamp) => reply::with_version(reply, stamp),
            None => reply,
        }
    }
}

impl From<NoRoom> for Rejected {
    fn from(NoRoom: NoRoom) -> Self {
        Rejected::full()
    }
}

impl From<Failure> for Rejected {
    fn from(failure: Failure) -> Self {
        let status = match &failure {
            Failure::NotEnoughReplicas { .. }
            | Failure::NotReached { .. }
            | Failure::Overdue
            | Failure::FateUnknown
            | Failure::Overtaken
            | Failure::Beyond(_) => StatusCode::GATEWAY_TIMEOUT,
            Failure::UnknownKeyspace => StatusCode::NOT_FOUND,
            Failure::ConditionFailed(_) => StatusCode::PRECONDITION_FAILED,
            Failure::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
            Failure::TooLate => StatusCode::REQUEST_TIMEOUT,
            Failure::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::LogFailed
            | Failure::Busy
            | Failure::NoLeader(_)
            | Failure::RangeFailed(_)
            | Failure::Full
            | Failure::NotWidened { .. }
            | Failure::TooFarAhead
            | Failure::Dropped(_)
            | Failure::Clock(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let current = match &failure {
            Failure::ConditionFailed(current) => *current,
            _ => None,
        };
        Rejected {
            status,
            line: failure.to_string(),
            current,
            retry_after_s: matches!(
                failure,
                Failure::TooFarAhead | Failure::Busy | Failure::Full | Failure::NoLeader(_)
            )
            .then_some(1),
            is_settled: false,
        }
    }
}
