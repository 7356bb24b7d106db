//! The transport of links to other clusters: HTTP, with the logins of a file.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use dunlin_client::{Client, ClientError, ClientFiles, Credentials};
use dunlin_links::{Answered, Call, Connect, Transport};
use dunlin_node::http::LocalFuture;
use serde::Deserialize;

/// How long one server of the other cluster is waited for.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Links over HTTP.
#[derive(Debug)]
pub struct HttpLinks {
    /// The file of logins, if there is one.
    pub logins: Option<PathBuf>,
}

impl Connect for HttpLinks {
    fn transport(&self) -> Rc<dyn Transport> {
        Rc::new(HttpTransport {
            logins: self.logins.clone(),
            clients: RefCell::default(),
            read: Cell::new(None),
        })
    }
}

/// A login in the file: `[NAME]` and these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkLogin {
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
    /// CAs to believe of servers, in place of the system's.
    ca: Option<PathBuf>,
}

/// Servers of another cluster, and the login there.
type Peer = (Vec<String>, Option<String>);

/// The transport of one shard: a client, with its connections, for each other cluster.
struct HttpTransport {
    logins: Option<PathBuf>,
    clients: RefCell<BTreeMap<Peer, Client>>,
    /// When the file was changed that the clients are made by.
    read: Cell<Option<SystemTime>>,
}

impl HttpTransport {
    fn client(&self, servers: &[String], login: Option<&str>) -> Result<Client, String> {
        if let Some(path) = &self.logins {
            let changed = modified(path);
            if self.read.replace(changed) != changed {
                self.clients.borrow_mut().clear();
            }
        }
        let key = (servers.to_vec(), login.map(str::to_owned));
        if let Some(client) = self.clients.borrow().get(&key) {
            return Ok(client.clone());
        }
        let made = self.make(servers, login)?;
        self.clients.borrow_mut().insert(key, made.clone());
        Ok(made)
    }

    fn make(&self, servers: &[String], login: Option<&str>) -> Result<Client, String> {
        let line = |error: ClientError| error.to_string();
        let client = Client::with_timeout(&servers.join(","), TIMEOUT).map_err(line)?;
        let Some(name) = login else {
            return Ok(client);
        };
        let LinkLogin {
            user,
            password,
            token,
            ca,
        } = self.login(name)?;
        let client = match ca {
            None => client,
            Some(ca) => {
                let files = ClientFiles {
                    ca: Some(ca),
                    identity: None,
                };
                let tls = Client::tls(files).map_err(|error| error.to_string())?;
                client.over_tls(&tls)
            }
        };
        let credentials = match (user, password, token) {
            (None, None, None) => return Ok(client),
            (None, None, Some(token)) => Credentials::Token(token),
            (Some(user), Some(password), None) => Credentials::Password { user, password },
            _ => {
                return Err(format!(
                    "login {name} has either a token, or a user and a password"
                ));
            }
        };
        client.as_user(&credentials).map_err(line)
    }

    fn login(&self, name: &str) -> Result<LinkLogin, String> {
        let path = self
            .logins
            .as_deref()
            .ok_or_else(|| format!("login {name} is not known: this node has no --link-logins"))?;
        let text = read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut all: BTreeMap<String, LinkLogin> = toml::from_str(&text).map_err(|error| {
            let why = error.message().to_owned();
            format!("{} cannot be read: {why}", path.display())
        })?;
        all.remove(name)
            .ok_or_else(|| format!("there is no login {name} in {}", path.display()))
    }
}

impl Transport for HttpTransport {
    fn call(&self, call: Call) -> LocalFuture<Answered> {
        let client = self.client(&call.servers, call.login.as_deref());
        Box::pin(async move {
            let answer = client?
                .pass(call.method, call.target, call.content_type, call.body)
                .await;
            answer.map_err(|error| error.to_string())
        })
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a small file, checked once a request of a real node"
)]
fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

#[allow(
    clippy::disallowed_methods,
    reason = "a small file, read when it has changed"
)]
fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

#[cfg(test)]
#[path = "link_transport_tests.rs"]
mod tests;
