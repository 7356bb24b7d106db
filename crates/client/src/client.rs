//! The client: a list of servers and what can be asked of the whole cluster.

use std::sync::Arc;
use std::time::Duration;

use dunlin_tls::{ClientFiles, ClientTls, TlsError};
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;

use crate::address;
use crate::call::{Call, Reply, Servers, encode, refusal};
use crate::credentials::Credentials;
use crate::description::{
    CreateKeyspace, DroppedKeyspace, KeyspaceDescription, MendedStamps, Retention,
};
use crate::error::ClientError;
use crate::keyspace::Keyspace;
use crate::members::{ChangeMembers, Members, RangeTarget};
use crate::pool::{HTTP, Pool};
use crate::recovery::{RangeBeginning, RangeRemains, RecoverRange};
use crate::status::Status;
use crate::users::{ChangedUsers, NewUser, SetUser, Users};

/// How long one server is waited for unless [`Client::with_timeout`] says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one cluster. Cheap to clone; clones share their connections.
///
/// A request goes to the server that answered last and on to the next of the list when that one
/// cannot be reached, does not answer in time or says it cannot serve. Unconditional writes are
/// sent again after a lost answer, so such a write may be done twice; conditional ones never are.
#[derive(Clone)]
pub struct Client {
    servers: Arc<Servers>,
}

impl Client {
    /// A client of the servers in `list`: `http://HOST:PORT` or `https://HOST:PORT`, several separated by commas. No
    /// connection is made yet. Fails with [`ClientError::Address`].
    pub fn new(list: &str) -> Result<Client, ClientError> {
        Client::with_timeout(list, DEFAULT_TIMEOUT)
    }

    /// As [`Client::new`], waiting at most `timeout` for one server's answer.
    pub fn with_timeout(list: &str, timeout: Duration) -> Result<Client, ClientError> {
        let pools = address::parse_list(list)?
            .into_iter()
            .map(Pool::new)
            .collect();
        Ok(Client {
            servers: Arc::new(Servers::new(pools, timeout)),
        })
    }

    /// The same client, which speaks with servers of `https://` as `tls` says. Without it, it believes
    /// the CAs that the system believes. Once: clones of it are the same.
    #[must_use]
    pub fn over_tls(self, tls: &Arc<ClientTls>) -> Client {
        self.servers.over_tls(tls);
        self
    }

    /// What [`Client::over_tls`] takes, from files.
    pub fn tls(files: ClientFiles) -> Result<Arc<ClientTls>, TlsError> {
        ClientTls::client(files, &[HTTP])
    }

    /// The same client, which says with every request who asks. Once: clones of it are the same.
    pub fn as_user(self, credentials: &Credentials) -> Result<Client, ClientError> {
        self.servers.authorize(&credentials.header()?)?;
        Ok(self)
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// The keyspace named `name`; whether it exists shows with the first request.
    pub fn keyspace(&self, name: &str) -> Keyspace {
        Keyspace::new(Arc::clone(&self.servers), name)
    }

    /// All keyspaces with their settings.
    pub async fn keyspaces(&self) -> Result<Vec<KeyspaceDescription>, ClientError> {
        self.json(Call::new(Method::GET, "/v1/keyspaces".to_owned()))
            .await
    }

    /// Creates a keyspace and returns it with all its settings. A name that is taken gives
    /// [`ClientError::Refused`] with status 409.
    pub async fn create_keyspace(
        &self,
        wanted: &CreateKeyspace,
    ) -> Result<KeyspaceDescription, ClientError> {
        let mut call = Call::new(Method::POST, "/v1/keyspaces".to_owned());
        call.json(
            serde_json::to_vec(wanted).map_err(|error| ClientError::Invalid(error.to_string()))?,
        );
        call.repeatable = false;
        self.json(call).await
    }

    /// The settings of one keyspace, or `None` when there is none of that name.
    pub async fn describe_keyspace(
        &self,
        name: &str,
    ) -> Result<Option<KeyspaceDescription>, ClientError> {
        match self.json(Call::new(Method::GET, keyspace_path(name))).await {
            Err(ClientError::NotFound(_)) => Ok(None),
            result => result.map(Some),
        }
    }

    /// Sets what of the log is kept for a keyspace's followers, all bounds at once. Fails with
    /// [`ClientError::NotFound`] when there is none of that name.
    pub async fn alter_keyspace(
        &self,
        name: &str,
        retention: Retention,
    ) -> Result<KeyspaceDescription, ClientError> {
        self.patch(name, &serde_json::json!({ "retention": retention }))
            .await
    }

    /// Sets how many replicas each range of a transactional keyspace is to have; they are made and removed behind it.
    pub async fn alter_replicas(
        &self,
        name: &str,
        replicas: u8,
    ) -> Result<KeyspaceDescription, ClientError> {
        self.patch(name, &serde_json::json!({ "replicas": replicas }))
            .await
    }

    async fn patch(
        &self,
        name: &str,
        body: &serde_json::Value,
    ) -> Result<KeyspaceDescription, ClientError> {
        let mut call = Call::new(Method::PATCH, keyspace_path(name));
        call.json(body.to_string().into_bytes());
        self.json(call).await
    }

    /// Says where the replicas of a range should be, and returns the number of that target; they go there behind it. What
    /// the cluster cannot do gives [`ClientError::Refused`] with status 409.
    pub async fn retarget_range(
        &self,
        keyspace: &str,
        number: u64,
        wish: &RangeTarget,
    ) -> Result<u64, ClientError> {
        #[derive(serde::Deserialize)]
        struct Planned {
            target: u64,
        }
        let path = format!("/v1/ranges/{}/{number}/target", encode(keyspace.as_bytes()));
        let mut call = Call::new(Method::PUT, path);
        call.json(
            serde_json::to_vec(wish).map_err(|error| ClientError::Invalid(error.to_string()))?,
        );
        let planned: Planned = self.json(call).await?;
        Ok(planned.target)
    }

    /// The remaining replicas of a range.
    pub async fn range_remains(
        &self,
        keyspace: &str,
        number: u64,
    ) -> Result<RangeRemains, ClientError> {
        let call = Call::new(Method::GET, recovery_path(keyspace, number));
        self.json(call).await
    }

    /// Has a range that has lost its majority begin again. What would not be safe gives [`ClientError::Refused`] with
    /// status 409.
    pub async fn recover_range(
        &self,
        keyspace: &str,
        number: u64,
        wish: &RecoverRange,
    ) -> Result<RangeBeginning, ClientError> {
        let mut call = Call::new(Method::POST, recovery_path(keyspace, number));
        call.repeatable = false;
        call.json(
            serde_json::to_vec(wish).map_err(|error| ClientError::Invalid(error.to_string()))?,
        );
        self.json(call).await
    }

    /// Drops a keyspace; its data goes after a delay. Fails with [`ClientError::NotFound`] when there is none.
    pub async fn drop_keyspace(&self, name: &str) -> Result<(), ClientError> {
        let mut call = Call::new(Method::DELETE, keyspace_path(name));
        call.repeatable = false;
        self.done(call).await
    }

    /// Takes back the last drop of a keyspace of this name. Fails with [`ClientError::NotFound`] when
    /// none was dropped, and with [`ClientError::Refused`] and status 409 when its data is gone or
    /// there is another of this name.
    pub async fn undrop_keyspace(&self, name: &str) -> Result<(), ClientError> {
        let mut call = Call::new(Method::POST, format!("{}/undrop", keyspace_path(name)));
        call.repeatable = false;
        self.done(call).await
    }

    /// What is stored in a keyspace under stamps so far ahead that nothing can be written above it,
    /// as far as one request gets, from the beginning or from the [`MendedStamps::next`] of the one
    /// before; with `is_mending` it is stamped as of now, and can be written again. Doing so twice does no harm. Fails with
    /// [`ClientError::Refused`] and status 409 when a node does not say what it holds.
    pub async fn mend_stamps(
        &self,
        name: &str,
        from: Option<&str>,
        is_mending: bool,
    ) -> Result<MendedStamps, ClientError> {
        let method = if is_mending {
            Method::POST
        } else {
            Method::GET
        };
        let path = format!("{}/mend-stamps", keyspace_path(name));
        let mut call = Call::new(method, path);
        if let Some(from) = from {
            call.parameter("from", from);
        }
        self.json(call).await
    }

    /// All keyspaces that were dropped, those whose data is gone among them.
    pub async fn dropped_keyspaces(&self) -> Result<Vec<DroppedKeyspace>, ClientError> {
        self.json(Call::new(Method::GET, "/v1/dropped".to_owned()))
            .await
    }

    /// All users, without what they are recognised by.
    pub async fn users(&self) -> Result<Users, ClientError> {
        self.json(Call::new(Method::GET, "/v1/users".to_owned()))
            .await
    }

    /// Makes a user. The first closes the cluster to all who are none. A name that is taken gives
    /// [`ClientError::Refused`] with status 409.
    pub async fn add_user(&self, user: &NewUser) -> Result<ChangedUsers, ClientError> {
        self.change_users(Method::POST, "/v1/users".to_owned(), Some(user))
            .await
    }

    /// Changes a user. What would leave no administrator gives [`ClientError::Refused`] with status
    /// 409, a name that nobody has [`ClientError::NotFound`].
    pub async fn set_user(&self, name: &str, set: &SetUser) -> Result<ChangedUsers, ClientError> {
        self.change_users(Method::PUT, user_path(name), Some(set))
            .await
    }

    /// Drops a user. Fails as [`Client::set_user`].
    pub async fn drop_user(&self, name: &str) -> Result<ChangedUsers, ClientError> {
        self.change_users(Method::DELETE, user_path(name), None::<&SetUser>)
            .await
    }

    /// Drops all users, and opens the cluster to everybody.
    pub async fn disable_users(&self) -> Result<ChangedUsers, ClientError> {
        self.change_users(Method::DELETE, "/v1/users".to_owned(), None::<&SetUser>)
            .await
    }

    async fn change_users(
        &self,
        method: Method,
        path: String,
        body: Option<&impl serde::Serialize>,
    ) -> Result<ChangedUsers, ClientError> {
        let mut call = Call::new(method, path);
        if let Some(body) = body {
            let invalid = |error: serde_json::Error| ClientError::Invalid(error.to_string());
            call.json(serde_json::to_vec(body).map_err(invalid)?);
        }
        call.repeatable = false;
        self.json(call).await
    }

    /// The same as [`Client::metadata`] with the users and what they are recognised by, as a store
    /// is put back with.
    pub async fn metadata_with_users(&self) -> Result<serde_json::Value, ClientError> {
        let mut call = Call::new(Method::GET, "/v1/metadata".to_owned());
        call.parameter("users", "true");
        self.json(call).await
    }

    /// What a node knows of the cluster's metadata, as it tells it.
    pub async fn metadata(&self) -> Result<serde_json::Value, ClientError> {
        self.json(Call::new(Method::GET, "/v1/metadata".to_owned()))
            .await
    }

    /// What the whole cluster says about itself, gathered by one of its nodes.
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.json(Call::new(Method::GET, "/v1/status".to_owned()))
            .await
    }

    /// Which nodes hold data, and how far a change of that is.
    pub async fn members(&self) -> Result<Members, ClientError> {
        self.json(Call::new(Method::GET, "/v1/members".to_owned()))
            .await
    }

    /// Begins a change of the nodes that hold data, and returns as soon as it has begun. What the
    /// cluster cannot do gives [`ClientError::Refused`] with status 409, a name that no node has
    /// [`ClientError::NotFound`].
    pub async fn change_members(&self, wanted: &ChangeMembers) -> Result<Members, ClientError> {
        let mut call = Call::new(Method::POST, "/v1/members".to_owned());
        call.json(
            serde_json::to_vec(wanted).map_err(|error| ClientError::Invalid(error.to_string()))?,
        );
        call.repeatable = false;
        self.json(call).await
    }

    /// Gives the change under way up, and the members stay as they are. When there is none, or it
    /// is too late, that gives [`ClientError::Refused`] with status 409.
    pub async fn cancel_change(&self) -> Result<(), ClientError> {
        let mut call = Call::new(Method::DELETE, "/v1/members/change".to_owned());
        call.repeatable = false;
        self.done(call).await
    }

    /// Succeeds when a server answers at all.
    pub async fn alive(&self) -> Result<(), ClientError> {
        self.done(Call::new(Method::GET, "/health/live".to_owned()))
            .await
    }

    /// Succeeds when a server answers that clients may be sent to it.
    pub async fn health(&self) -> Result<(), ClientError> {
        self.done(Call::new(Method::GET, "/health".to_owned()))
            .await
    }

    pub(crate) async fn done(&self, call: Call) -> Result<(), ClientError> {
        successful(self.servers.reply(&call).await?).map(drop)
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, ClientError> {
        let reply = successful(self.servers.reply(&call).await?)?;
        serde_json::from_slice(&reply.body).map_err(|error| ClientError::Protocol {
            server: reply.server,
            reason: error.to_string(),
        })
    }
}

fn successful(reply: Reply) -> Result<Reply, ClientError> {
    let status: StatusCode = reply.head.status();
    if status.is_success() {
        Ok(reply)
    } else {
        Err(refusal(reply))
    }
}

fn recovery_path(keyspace: &str, number: u64) -> String {
    format!(
        "/v1/ranges/{}/{number}/recovery",
        encode(keyspace.as_bytes())
    )
}

fn keyspace_path(name: &str) -> String {
    format!("/v1/keyspaces/{}", encode(name.as_bytes()))
}

fn user_path(name: &str) -> String {
    format!("/v1/users/{}", encode(name.as_bytes()))
}
