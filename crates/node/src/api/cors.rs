//! Scripts of web pages: those of the origins that the settings name may use HTTP, and see its headers
//! (the Fetch standard, CORS protocol). Others a browser keeps away from answers, and from methods that
//! it asks about first. It does not ask about a POST of plain text, so that is refused here.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};

/// What a page may send beside what every page may.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, if-match, if-none-match, dunlin-deadline, dunlin-after, dunlin-query",
);
/// What a page may see beside what every page may.
const SHOWN: HeaderValue = HeaderValue::from_static(
    "etag, allow, retry-after, dunlin-version, dunlin-expires, dunlin-time, dunlin-written",
);
/// For how long a browser remembers, in seconds.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// What an answer says to the browser of whoever asked.
#[derive(Debug)]
pub(super) struct Cors {
    /// Whose scripts may see the answer.
    allowed: Option<HeaderValue>,
    /// Another origin would be told something else.
    varies: bool,
    /// It asks whether it may ask.
    is_preflight: bool,
}

/// Whether a request comes from a page that the settings do not name, and a browser sent it unasked though
/// it may change something. Programs that are no browsers name no origin.
pub(super) fn is_strange(origins: &[String], method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::POST
        && headers.contains_key(ORIGIN)
        && Cors::of(origins, method, headers).is_none_or(|cors| cors.allowed.is_none())
}

impl Cors {
    /// `None` where the settings name no origin.
    pub fn of(origins: &[String], method: &Method, headers: &HeaderMap) -> Option<Cors> {
        if origins.is_empty() {
            return None;
        }
        let is_any = origins.iter().any(|origin| origin == "*");
        let origin = headers.get(ORIGIN);
        let is_named = |origin: &&HeaderValue| {
            let mut named = origins.iter().map(String::as_bytes);
            is_any || named.any(|named| named == origin.as_bytes())
        };
        Some(Cors {
            allowed: origin
                .filter(is_named)
                .map(|origin| if is_any { ANY } else { origin.clone() }),
            varies: !is_any,
            is_preflight: *method == Method::OPTIONS
                && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD),
        })
    }

    /// Says so in an answer, whose `Allow` tells what there is to be allowed.
    pub fn tell(self, status: StatusCode, headers: &mut HeaderMap) {
        if self.varies {
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
        let Some(origin) = self.allowed else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if !self.is_preflight {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
            return;
        }
        if status == StatusCode::NO_CONTENT
            && let Some(methods) = headers.get(ALLOW).cloned()
        {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, SENT);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
        }
    }
}

#[cfg(test)]
#[path = "cors_tests.rs"]
mod tests;
