//! Until when a client's write may be stamped and above what, out of its headers
//! (`docs/formats.md`, section 11).

use std::rc::Rc;

use dunlin_entry::Version;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::error::Rejected;
use super::params::whole_number;
use crate::limits::{AFTER_WAIT_MOST, DEADLINE_MOST};
use crate::quorum::Failure;
use crate::services::Services;
use crate::shard::{Arrivals, Shard};

/// Milliseconds since 1970 until which the write may be stamped.
static DEADLINE_HEADER: HeaderName = HeaderName::from_static("dunlin-deadline");
/// Milliseconds since 1970 that it is stamped above.
static AFTER_HEADER: HeaderName = HeaderName::from_static("dunlin-after");
/// A node's hybrid clock in milliseconds since 1970, in every answer.
pub(super) static TIME_HEADER: HeaderName = HeaderName::from_static("dunlin-time");

/// One attempt at a write.
pub(super) struct Attempt {
    deadline: Option<Version>,
    floor: Version,
    arrivals: Rc<Arrivals>,
}

impl Attempt {
    /// Reads the headers.
    pub fn new(
        shard: &Shard,
        arrivals: &Rc<Arrivals>,
        headers: &HeaderMap,
    ) -> Result<Attempt, Rejected> {
        let deadline_ms = milliseconds(headers, &DEADLINE_HEADER)?;
        let after_ms = milliseconds(headers, &AFTER_HEADER)?;
        if deadline_ms.is_some() || after_ms.is_some() {
            check(shard, deadline_ms, after_ms)?;
        }
        Ok(Attempt {
            // Any stamp of that millisecond is in time, and above one that ends then.
            deadline: deadline_ms.map(|ms| Version::new(ms, u16::MAX)),
            floor: after_ms.map_or(Version(0), |ms| Version::new(ms, u16::MAX)),
            arrivals: arrivals.clone(),
        })
    }

    /// To be asked when the whole request is there: without a deadline nobody can tell whether a
    /// request that waited through a stall is still wanted.
    pub fn check(&self) -> Result<(), Rejected> {
        match self.deadline {
            None if self.arrivals.may_have_waited() => Err(stood_still()),
            _ => Ok(()),
        }
    }

    /// Refuses a write that cannot have a timestamp any more, where it says when it must.
    pub fn begin(&self, services: &Services) -> Result<(), Rejected> {
        if self.deadline.is_none() && self.floor == Version(0) {
            return Ok(());
        }
        let until = services.attempt_until(self.floor, self.deadline());
        until.map(drop).map_err(|failure| self.failed_one(failure))
    }

    pub fn deadline(&self) -> Version {
        self.deadline.unwrap_or(Version::MAX)
    }

    pub fn floor(&self) -> Version {
        self.floor
    }

    /// What the client is told of one write.
    pub fn failed_one(&self, failure: Failure) -> Rejected {
        if failure.is_settled() {
            self.failed(failure).settled()
        } else {
            self.failed(failure)
        }
    }

    /// What the client is told of several writes, of which any may be done.
    pub fn failed(&self, failure: Failure) -> Rejected {
        match failure {
            Failure::TooLate if self.deadline.is_none() => stood_still(),
            failure => failure.into(),
        }
    }
}

/// For changes of the metadata, which have no stamp that could be late: refuses what may have waited
/// through a stall, whatever its sender may have done meanwhile.
pub(super) fn in_time(arrivals: &Arrivals) -> Result<(), Rejected> {
    if arrivals.may_have_waited() {
        Err(stood_still())
    } else {
        Ok(())
    }
}

fn stood_still() -> Rejected {
    let mut rejected = Rejected::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "this node stood still, or was starting, while the request waited without a Dunlin-Deadline: nothing was changed, send it again if it is still wanted",
    );
    rejected.retry_after_s = Some(1);
    rejected.settled()
}

fn milliseconds(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, Rejected> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let number = whole_number(value.as_bytes().trim_ascii());
    match number {
        Some(ms) if ms <= Version::MAX_MILLIS => Ok(Some(ms)),
        _ => Err(Rejected::bad(format!(
            "{name} takes milliseconds since 1970"
        ))),
    }
}

fn check(shard: &Shard, deadline_ms: Option<u64>, after_ms: Option<u64>) -> Result<(), Rejected> {
    let now_ms = shard.clock().now().millis();
    let most_ms = now_ms.saturating_add(DEADLINE_MOST.as_millis() as u64);
    if deadline_ms.is_some_and(|ms| ms > most_ms) {
        return Err(Rejected::bad(format!(
            "Dunlin-Deadline is more than {} s ahead of this node's {now_ms}: correct the clock it comes from by the header Dunlin-Time",
            DEADLINE_MOST.as_secs()
        )));
    }
    let limit_ms = shard.clock().limit().millis();
    if let Some(ms) = after_ms
        && ms >= limit_ms
    {
        return Err(too_far_ahead(ms, limit_ms, shard.clock().bound_ms()));
    }
    if let (Some(deadline_ms), Some(after_ms)) = (deadline_ms, after_ms)
        && deadline_ms <= after_ms
    {
        return Err(Rejected::bad("Dunlin-Deadline must be above Dunlin-After"));
    }
    Ok(())
}

/// A floor that nothing may be stamped above now: one that time will reach soon, or a mistake.
fn too_far_ahead(after_ms: u64, limit_ms: u64, bound_ms: u64) -> Rejected {
    let ahead_ms = after_ms - limit_ms + 1;
    let line = format!(
        "Dunlin-After is {ahead_ms} ms further ahead than stamps may be (--clock-bound, {bound_ms} ms): "
    );
    if ahead_ms > AFTER_WAIT_MOST.as_millis() as u64 {
        let advice = "correct the clock it comes from by the header Dunlin-Time";
        return Rejected::bad(line + advice);
    }
    let mut rejected = Rejected::new(
        StatusCode::SERVICE_UNAVAILABLE,
        line + "wait until it is not",
    );
    rejected.retry_after_s = Some(ahead_ms.div_ceil(1_000));
    rejected.settled()
}

/// The header [`TIME_HEADER`], made once a millisecond.
#[derive(Default)]
pub(crate) struct TimeHeader(std::cell::RefCell<Option<(u64, HeaderValue)>>);

impl TimeHeader {
    pub(super) fn at(&self, now_ms: u64) -> HeaderValue {
        let mut held = self.0.borrow_mut();
        match &*held {
            Some((ms, value)) if *ms == now_ms => value.clone(),
            _ => {
                let value = HeaderValue::from(now_ms);
                *held = Some((now_ms, value.clone()));
                value
            }
        }
    }
}
