//! Query strings.

use bytes::Bytes;
use percent_encoding::percent_decode;

use super::error::Rejected;
use crate::quorum::Quorum;

/// The parameters of a request's query, values percent-decoded. A `+` is a plus.
#[derive(Debug, Default)]
pub(super) struct Params(Vec<(String, Bytes)>);

impl Params {
    pub fn parse(query: Option<&str>) -> Params {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|p| !p.is_empty());
        Params(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (name.to_owned(), decode(value))
                })
                .collect(),
        )
    }

    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// A parameter that must be there and not empty.
    pub fn required(&self, name: &str) -> Result<Bytes, Rejected> {
        match self.get(name) {
            Some(value) if !value.is_empty() => Ok(value.clone()),
            _ => Err(Rejected::bad(format!("{name} is missing or empty"))),
        }
    }

    /// A whole number, if given.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Rejected> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse().ok())
            .map(Some)
            .ok_or_else(|| Rejected::bad(format!("{name} must be a whole number")))
    }

    /// `ack` and `from`, checked against the keyspace and the cluster.
    pub fn quorum(&self, replicas: u8, nodes: usize) -> Result<Quorum, Rejected> {
        let small = |name| {
            let number = self.number(name)?;
            // Anything that large fails the comparison with the number of nodes all the same.
            Ok::<_, Rejected>(number.map(|n| n.min(u32::MAX.into()) as u32))
        };
        Quorum::choose(small("ack")?, small("from")?, replicas, nodes)
            .map_err(|error| Rejected::bad(error.to_string()))
    }
}

/// Percent-decoding of a path segment or value.
pub(super) fn decode(text: &str) -> Bytes {
    percent_decode(text.as_bytes()).collect::<Vec<u8>>().into()
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
