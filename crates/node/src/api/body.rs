//! A request's body, read into memory that grows with what arrives and is accounted for.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout_at};

use super::error::Rejected;
use super::pace::Pace;
use super::upload::Upload;
use crate::doors::{Doors, Held};
use crate::limits::{COUNTED_BYTES, SEND_TIME};

/// The first memory for a body that does not come in one piece.
const FIRST_BYTES: usize = 64 << 10;

/// A whole body. What it takes is accounted for until it is dropped.
pub(super) struct Received {
    pub bytes: Bytes,
    _held: Held,
}

/// A body above the limit.
pub(super) fn too_large(limit_bytes: usize) -> Rejected {
    Rejected::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body is larger than the {limit_bytes} bytes this node takes"),
    )
}

/// The whole body, refused by its announced length before a byte of it is read, and when whoever sends it
/// may not any more.
pub(super) async fn read_body(
    doors: &Arc<Doors>,
    mut body: Upload,
    limit_bytes: usize,
) -> Result<Received, Rejected> {
    let announced = body.size_hint();
    if announced.lower() > limit_bytes as u64 {
        return Err(too_large(limit_bytes));
    }
    // Nothing is kept for it: whoever announces much and sends little takes little.
    let least = announced.lower() as usize;
    if least > COUNTED_BYTES && !doors.has_room(least) {
        doors.memory_refused.fetch_add(1, Relaxed);
        return Err(Rejected::full());
    }
    let most = announced
        .upper()
        .map_or(limit_bytes, |upper| limit_bytes.min(upper as usize));
    let mut held = doors.account();
    let mut whole: Vec<u8> = Vec::new();
    let mut pace = None;
    while !body.is_end_stream() {
        let Some(data) = next(doors, &mut body, &mut pace).await? else {
            break;
        };
        if data.len() > limit_bytes - whole.len() {
            return Err(too_large(limit_bytes));
        }
        if whole.is_empty() && body.is_end_stream() {
            // All of it in one piece: nothing is copied, and little not even counted.
            if data.len() > COUNTED_BYTES {
                held.grow(data.len())?;
            }
            body.may_still()?;
            return Ok(Received {
                bytes: data,
                _held: held,
            });
        }
        let capacity = grown(whole.capacity(), whole.len() + data.len(), most);
        if capacity > whole.capacity() {
            if capacity > COUNTED_BYTES {
                held.grow(capacity - whole.capacity())?;
            }
            whole.reserve_exact(capacity - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    body.may_still()?;
    Ok(Received {
        bytes: whole.into(),
        _held: held,
    })
}

/// The next piece; `None` at the end. Refuses a client that sends too slowly.
async fn next(
    doors: &Doors,
    body: &mut Upload,
    pace: &mut Option<Pace>,
) -> Result<Option<Bytes>, Rejected> {
    loop {
        // Most of the time it is there already, and no clock is looked at.
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                let now = Instant::now();
                let pace = pace.get_or_insert_with(|| Pace::begin(now, SEND_TIME));
                match timeout_at(pace.until(), body.frame()).await {
                    Ok(frame) => frame,
                    Err(_) if pace.goes_on(Instant::now()) => continue,
                    Err(_) => {
                        doors.slow_senders.fetch_add(1, Relaxed);
                        return Err(too_slow());
                    }
                }
            }
        };
        match frame {
            None => return Ok(None),
            Some(Err(error)) => {
                return Err(Rejected::bad(format!("the body broke off: {error}")));
            }
            Some(Ok(frame)) => {
                // Trailers mean nothing here.
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                if let Some(pace) = pace {
                    pace.passed(data.len());
                }
                return Ok(Some(data));
            }
        }
    }
}

fn too_slow() -> Rejected {
    Rejected::new(
        StatusCode::REQUEST_TIMEOUT,
        "the body comes too slowly: nothing was written",
    )
}

/// What memory of `capacity` bytes is to grow to so that it holds `need`: at least by as much again,
/// for its contents may have to be moved, but not beyond `most`.
fn grown(capacity: usize, need: usize, most: usize) -> usize {
    if need <= capacity {
        return capacity;
    }
    capacity
        .saturating_mul(2)
        .max(FIRST_BYTES)
        .min(most)
        .max(need)
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
