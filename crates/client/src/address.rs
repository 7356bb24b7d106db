//! Server addresses: `http://HOST:PORT` or `HOST:PORT`, several separated by commas.

use crate::error::ClientError;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 8080;

/// One server, as `HOST:PORT` (IPv6 hosts in brackets).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    authority: String,
}

impl Address {
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// Splits and checks a comma-separated list.
pub(crate) fn parse_list(list: &str) -> Result<Vec<Address>, ClientError> {
    let addresses = list
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(parse)
        .collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        return Err(refused(list, "it is empty"));
    }
    Ok(addresses)
}

fn parse(text: &str) -> Result<Address, ClientError> {
    let rest = match text.split_once("://") {
        Some(("http", rest)) => rest,
        Some((scheme, _)) => {
            return Err(refused(text, &format!("the scheme is http, not {scheme}")));
        }
        None => text,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) || rest.contains(char::is_whitespace) {
        return Err(refused(text, "nothing may stand beside http://HOST:PORT"));
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let port = port
                .parse::<u16>()
                .map_err(|_| refused(text, "the port is not a number up to 65535"))?;
            (host, port)
        }
        _ => (rest, DEFAULT_PORT),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || host == "[]" || port == 0 {
        return Err(refused(text, "host or port is missing"));
    }
    if host.contains(':') && !bracketed {
        return Err(refused(text, "an IPv6 host stands in brackets"));
    }
    Ok(Address {
        authority: format!("{host}:{port}"),
    })
}

fn refused(address: &str, reason: &str) -> ClientError {
    ClientError::Address {
        address: address.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
