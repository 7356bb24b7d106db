//! Who may use the cluster, and for what: users, their roles, and whether there is anybody to ask
//! for. Decisions without I/O; decision 31.
use crate::error::MetadataError;
use crate::node::check_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name in a role that stands for all keyspaces and the cluster itself.
pub const ALL: &str = "*";
/// The most users.
pub const USERS_MAX: usize = 1_000;
/// The most roles of a user.
pub const ROLES_MAX: usize = 100;
/// The most tokens of a user.
pub const TOKENS_MAX: usize = 8;

/// What somebody may do. Each holds those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See what there is.
    Read,
    /// Change data.
    Write,
    /// Change what holds data: keyspaces, and on `*` members and users.
    Admin,
}

impl Role {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let roles = [Role::Read, Role::Write, Role::Admin];
        let found = roles.into_iter().find(|role| role.word() == word);
        found.ok_or_else(|| format!("{word:?} is none of read, write, admin"))
    }
}

/// What a password or a token is recognised by. Never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(String);

impl Hash {
    /// Of a text: a PHC string of argon2, or hexadecimal digits of a SHA-256.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text. For comparing and storing only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Somebody who may use the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// By the name of the keyspace, or [`ALL`].
    pub roles: BTreeMap<String, Role>,
    /// A PHC string of argon2id; none for one who comes with a token only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Hash>,
    /// SHA-256 of each token, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Hash>,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// By whom.
    pub made_by: String,
    /// When it was changed last.
    pub changed_ms: u64,
    /// By whom.
    pub changed_by: String,
}

impl User {
    /// Whether it has this role on the keyspace, or on all.
    pub fn may(&self, role: Role, keyspace: &str) -> bool {
        let on = |name: &str| self.roles.get(name).is_some_and(|has| *has >= role);
        on(ALL) || on(keyspace)
    }

    /// Whether it can make users.
    pub fn is_admin(&self) -> bool {
        self.may(Role::Admin, ALL) && (self.password.is_some() || !self.tokens.is_empty())
    }

    pub(crate) fn check(&self, name: &str) -> Result<(), MetadataError> {
        check_name("user", name)?;
        let invalid = |rule: &str| Err(MetadataError::invalid(format!("user {name}"), rule));
        if self.roles.is_empty() {
            return invalid("has at least one role");
        }
        if self.roles.len() > ROLES_MAX {
            return invalid(&format!("has at most {ROLES_MAX} roles"));
        }
        if self.tokens.len() > TOKENS_MAX {
            return invalid(&format!(
                "has at most {TOKENS_MAX} tokens: take the old ones away with --no-tokens"
            ));
        }
        if self.password.is_none() && self.tokens.is_empty() {
            return invalid("has a password or a token");
        }
        let keyspaces = self.roles.keys().filter(|name| *name != ALL);
        keyspaces
            .map(|name| check_name("keyspace", name))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(())
    }
}

/// All users of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// How often users were changed. Never shrinks.
    pub changes: u64,
    /// Whether only users may do anything.
    pub closed: bool,
    /// By name.
    pub users: BTreeMap<String, User>,
}

impl Access {
    /// Whether users were never spoken of.
    pub(crate) fn is_unheard_of(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
