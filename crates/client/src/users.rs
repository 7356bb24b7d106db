//! Users of a cluster, as it tells of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All users.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Users {
    /// Whether only they may do anything.
    pub closed: bool,
    /// Each of them.
    pub users: Vec<User>,
}

/// One user.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct User {
    /// Its name.
    pub name: String,
    /// `read`, `write` or `admin` by keyspace, `*` for all.
    pub roles: BTreeMap<String, String>,
    /// Whether it can come with a password.
    pub has_password: bool,
    /// How many tokens it can come with.
    pub tokens: u64,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// By whom.
    pub made_by: String,
    /// When it was changed last.
    pub changed_ms: u64,
    /// By whom.
    pub changed_by: String,
}

/// A user to make. Holds what must not be shown, so it cannot be.
#[derive(Clone, Serialize)]
pub struct NewUser {
    /// Its name.
    pub name: String,
    /// `read`, `write` or `admin` by keyspace, `*` for all.
    pub roles: BTreeMap<String, String>,
    /// Its password, if it is to have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Whether it is to have a token.
    pub token: bool,
}

/// What is to change of a user; what is `None` stays.
#[derive(Clone, Default, Serialize)]
pub struct SetUser {
    /// All roles that it is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<BTreeMap<String, String>>,
    /// Its new password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// True for one more token, false for none at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<bool>,
}

/// A change of users that was made.
#[derive(Clone, Deserialize)]
pub struct ChangedUsers {
    /// The new token, told this once.
    #[serde(default)]
    pub token: Option<String>,
    /// Nodes that did not go by the change yet when it was answered.
    #[serde(default)]
    pub waits_for: Vec<String>,
}
