//! Query strings.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use percent_encoding::percent_decode;

use super::error::Rejected;
use crate::quorum::Quorum;

/// Header with parameters for which a URI is too short, in the form of a query: keys have up to 64 KiB,
/// URIs in HTTP less.
pub(super) static QUERY_HEADER: HeaderName = HeaderName::from_static("dunlin-query");

/// No path knows as many. A request of 400 KiB could name a hundred thousand.
const PARAMS_MAX: usize = 32;
/// So much of a name that is not known is said back.
const SHOWN_CHARS: usize = 40;

/// The parameters of a request, values percent-decoded, each given once; and again those that have a plus in them, as
/// forms mean it.
#[derive(Debug, Default)]
pub struct Params(Vec<(String, Bytes)>, Vec<(String, Bytes)>);

impl Params {
    /// Those of the query, and of the header that goes on with it.
    pub(super) fn of(query: Option<&str>, headers: &HeaderMap) -> Result<Params, Rejected> {
        let mut params = Params::default();
        params.add(query.unwrap_or_default())?;
        let mut more = headers.get_all(&QUERY_HEADER).iter();
        if let Some(one) = more.next() {
            // What stands between may make one of several, which would not be the same.
            if more.next().is_some() {
                return Err(Rejected::bad(format!("{QUERY_HEADER} is given twice")));
            }
            params.add(plain(one.as_bytes()).ok_or_else(|| {
                Rejected::bad(format!(
                    "{QUERY_HEADER} is percent-encoded, as a query is, commas too"
                ))
            })?)?;
        }
        Ok(params)
    }

    /// Reads a query. A `+` is a plus, as in every URI; only forms mean a space by it.
    fn add(&mut self, query: &str) -> Result<(), Rejected> {
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = String::from_utf8(decode(name)?.into())
                .map_err(|_| Rejected::bad("the name of a parameter is not UTF-8"))?;
            if self.get(&name).is_some() {
                return Err(Rejected::bad(format!("{} is given twice", shown(&name))));
            }
            if self.0.len() == PARAMS_MAX {
                return Err(Rejected::bad(format!("more than {PARAMS_MAX} parameters")));
            }
            // Whether a plus is one only the reader of the parameter knows.
            if value.contains('+') {
                let spaced = decode(&value.replace('+', "%20"))?;
                self.1.push((name.clone(), spaced));
            }
            self.0.push((name, decode(value)?));
        }
        Ok(())
    }

    /// Refuses parameters that are none of `names`.
    pub(super) fn only(&self, names: &[&str]) -> Result<(), Rejected> {
        match self
            .0
            .iter()
            .find(|(name, _)| !names.contains(&name.as_str()))
        {
            None => Ok(()),
            Some((name, _)) if names.is_empty() => Err(Rejected::bad(format!(
                "{} is not known here: no parameter is",
                shown(name)
            ))),
            Some((name, _)) => Err(Rejected::bad(format!(
                "{} is not known here: only {} are",
                shown(name),
                names.join(", ")
            ))),
        }
    }

    /// Refuses parameters of `others`, unless they are among `names`, which are the ones known here.
    pub(super) fn none(&self, others: &[&str], names: &[&str]) -> Result<(), Rejected> {
        let is_other = |name: &str| others.contains(&name) && !names.contains(&name);
        match self.0.iter().find(|(name, _)| is_other(name)) {
            None => Ok(()),
            Some((name, _)) => Err(Rejected::bad(format!(
                "{name} is known to /v1/keyspaces alone"
            ))),
        }
    }

    /// A parameter as it was given, decoded.
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The same as a form gives it: a plus is a space.
    pub fn get_form(&self, name: &str) -> Option<&Bytes> {
        let spaced = self.1.iter().find(|(n, _)| n == name);
        spaced.map(|(_, v)| v).or_else(|| self.get(name))
    }

    /// A parameter that must be there and not empty.
    pub(super) fn required(&self, name: &str) -> Result<Bytes, Rejected> {
        match self.get(name) {
            Some(value) if !value.is_empty() => Ok(value.clone()),
            _ => Err(Rejected::bad(format!("{name} is missing or empty"))),
        }
    }

    /// A whole number, if given.
    ///
    /// # Errors
    /// 400 where it is none.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Rejected> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        whole_number(value)
            .map(Some)
            .ok_or_else(|| Rejected::bad(format!("{name} must be a whole number")))
    }

    /// `ack` and `from`, checked against the keyspace and the cluster.
    pub(super) fn quorum(&self, replicas: u8, nodes: usize) -> Result<Quorum, Rejected> {
        let small = |name| {
            let number = self.number(name)?;
            // Anything that large fails the comparison with the number of nodes all the same.
            Ok::<_, Rejected>(number.map(|n| n.min(u32::MAX.into()) as u32))
        };
        Quorum::choose(small("ack")?, small("from")?, replicas, nodes)
            .map_err(|error| Rejected::bad(error.to_string()))
    }
}

/// A query as it may stand in a header, `None` when anything in it should have been encoded.
fn plain(text: &[u8]) -> Option<&str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%=&+!$'()*:@/?".contains(byte);
    if text.iter().all(is_plain) {
        std::str::from_utf8(text).ok()
    } else {
        None
    }
}

/// The beginning of a name that a client made up.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARS).collect()
}

/// Digits alone: the standard library's parser takes a plus sign before them, which in a query may
/// have been meant as a space.
pub(super) fn whole_number(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Percent-decoding of a path segment, name or value.
pub(super) fn decode(text: &str) -> Result<Bytes, Rejected> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digits = rest.get(at + 1..at + 3);
        if !digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)) {
            return Err(Rejected::bad(
                "% must be followed by two hexadecimal digits; a percent sign itself is %25",
            ));
        }
        rest = &rest[at + 3..];
    }
    Ok(percent_decode(text.as_bytes()).collect::<Vec<u8>>().into())
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
