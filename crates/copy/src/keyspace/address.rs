//! Where a keyspace is: `http://HOST:PORT[,http://HOST:PORT..]/NAME`.

use std::fmt;
use std::str::FromStr;

use dunlin_client::Credentials;

/// Servers of a cluster and a keyspace of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyspaceAddress {
    servers: Vec<String>,
    name: String,
    credentials: Option<Credentials>,
}

impl KeyspaceAddress {
    /// The same, for a user to ask.
    #[must_use]
    pub fn as_user(self, credentials: Credentials) -> KeyspaceAddress {
        KeyspaceAddress {
            credentials: Some(credentials),
            ..self
        }
    }

    /// Who asks.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The keyspace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The servers, separated by commas.
    pub fn servers(&self) -> String {
        self.servers.join(",")
    }

    /// The same, beginning with another one for each `number`, so that connections spread.
    pub(crate) fn servers_from(&self, number: usize) -> String {
        let mut servers = self.servers.clone();
        servers.rotate_left(number % self.servers.len());
        servers.join(",")
    }
}

impl FromStr for KeyspaceAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyspaceAddress, String> {
        let wrong = |why: &str| format!("{text:?} {why}; write http://HOST:PORT/KEYSPACE");
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        let (servers, name) = trimmed
            .rsplit_once('/')
            .filter(|(servers, _)| !servers.ends_with('/'))
            .ok_or_else(|| wrong("names no keyspace"))?;
        let servers: Vec<String> = servers
            .split(',')
            .map(str::trim)
            .filter(|server| !server.is_empty())
            .map(str::to_owned)
            .collect();
        if name.is_empty() || servers.is_empty() {
            return Err(wrong("names no keyspace"));
        }
        // Says what is wrong with a server before anything else is done.
        dunlin_client::Client::new(&servers.join(",")).map_err(|error| error.to_string())?;
        Ok(KeyspaceAddress {
            servers,
            name: name.to_owned(),
            credentials: None,
        })
    }
}

impl fmt::Display for KeyspaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.servers(), self.name)
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
