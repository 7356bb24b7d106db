//! Server addresses: `http://HOST:PORT`, `https://HOST:PORT` or `HOST:PORT`, several separated by
//! commas.

use crate::error::ClientError;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 8080;

/// One server, as `HOST:PORT` (IPv6 hosts in brackets).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    authority: String,
    is_tls: bool,
}

impl Address {
    /// That of a server which another has named, as `host:port`.
    pub(crate) fn new(authority: &str, is_tls: bool) -> Address {
        Address {
            authority: authority.to_owned(),
            is_tls,
        }
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The name or number that its certificate must be for.
    pub(crate) fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':').map(|(host, _)| host);
        host.unwrap_or_default().trim_matches(['[', ']'])
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
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
    let (is_tls, rest) = match text.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some((scheme, _)) if !text.contains('@') => {
            return Err(refused(
                text,
                &format!("the scheme is http or https, not {scheme}"),
            ));
        }
        Some((_, rest)) => (false, rest),
        None => (false, text),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('@') {
        return Err(refused(
            text,
            "a user or password does not belong in it, where everybody can read it",
        ));
    }
    if rest.contains(['/', '?', '#']) || rest.contains(char::is_whitespace) {
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
        is_tls,
    })
}

fn refused(address: &str, reason: &str) -> ClientError {
    // Whatever stands before an @ may be a password.
    let shown = match address.rsplit_once('@') {
        Some((_, rest)) => format!("...@{rest}"),
        None => address.to_owned(),
    };
    ClientError::Address {
        address: shown,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
