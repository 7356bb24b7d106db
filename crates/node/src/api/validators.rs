//! `If-Match` and `If-None-Match` of a read: what a client holds already need not travel again.

use dunlin_entry::Stamp;
use hyper::header::{HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};

use super::error::Rejected;

/// What a read answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The value, or that there is none.
    Whole,
    /// 304: the client has it.
    Same,
    /// 412: it is not what the client wants.
    Other,
}

/// What headers say of a key whose value has the version `current`.
pub(super) fn judge(headers: &HeaderMap, current: Option<Stamp>) -> Result<Verdict, Rejected> {
    if headers.is_empty() {
        return Ok(Verdict::Whole);
    }
    if let Some(false) = names(headers, IF_MATCH, current)? {
        return Ok(Verdict::Other);
    }
    Ok(match names(headers, IF_NONE_MATCH, current)? {
        Some(true) => Verdict::Same,
        _ => Verdict::Whole,
    })
}

/// Whether a header names the version there is; `None` when the header is not there.
fn names(
    headers: &HeaderMap,
    header: HeaderName,
    current: Option<Stamp>,
) -> Result<Option<bool>, Rejected> {
    let mut is_named = None;
    for value in headers.get_all(&header) {
        let malformed = |_| Rejected::bad(format!("{header} takes versions in quotes, or *"));
        let text = value.to_str().map_err(malformed)?;
        for tag in text.split(',').map(str::trim) {
            let fits = match tag {
                "*" => current.is_some(),
                tag => {
                    // One value has one representation, so weak and strong are the same.
                    let version = tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"');
                    version
                        .parse()
                        .is_ok_and(|named: Stamp| current == Some(named))
                }
            };
            is_named = Some(is_named.unwrap_or(false) || fits);
        }
    }
    Ok(is_named)
}

#[cfg(test)]
#[path = "validators_tests.rs"]
mod tests;
