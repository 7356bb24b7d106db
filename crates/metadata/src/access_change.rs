//! Changes of users, decided by all there is in a store: decisions without I/O. Each writes the one
//! object that holds them all, and the mark in the cluster's when it opens or closes.
use crate::access::{ALL, Access, Hash, Role, USERS_MAX, User};
use crate::change::Step;
use crate::error::MetadataError;
use crate::objects::{ACCESS, CLUSTER, Objects, encode};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// Larger ones are refused: etcd takes 1.5 MiB at once, of which others need some.
const BYTES_MAX: usize = 512 << 10;

/// What becomes of a user's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokens {
    /// They stay.
    Keep,
    /// One more.
    Add(Hash),
    /// They all go.
    Clear,
}

/// A change of the users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessChange {
    /// Makes a user. The first closes the cluster.
    Add {
        /// Its name.
        name: String,
        /// By keyspace.
        roles: BTreeMap<String, Role>,
        /// If it has one.
        password: Option<Hash>,
        /// If it has one.
        token: Option<Hash>,
    },
    /// Changes one: what is `None` stays.
    Set {
        /// Its name.
        name: String,
        /// All it is to have.
        roles: Option<BTreeMap<String, Role>>,
        /// The new one.
        password: Option<Hash>,
        /// What becomes of them.
        tokens: Tokens,
    },
    /// Drops one. Not the last that may make users.
    Drop {
        /// Its name.
        name: String,
    },
    /// Drops all, and opens the cluster.
    Disable,
    /// Gives a user, made if need be, all rights and this password: by whoever may write to the
    /// store.
    Rescue {
        /// Its name.
        name: String,
        /// The new one.
        password: Hash,
    },
}

/// Who asks for a change of users, as he was judged before: whether that still holds is decided together
/// with the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// Anybody: the cluster had no users.
    Anybody,
    /// This user, who had admin on all.
    User(&'a str),
    /// Whoever may write to the store, under a word for people.
    Store(&'a str),
}

impl By<'_> {
    fn name(&self) -> &str {
        match self {
            By::Anybody => "anybody",
            By::User(name) | By::Store(name) => name,
        }
    }

    fn check(&self, access: &Access) -> Result<(), MetadataError> {
        let may = match self {
            By::Anybody => !access.closed,
            By::User(name) => {
                let user = access.users.get(*name);
                user.is_some_and(|user| user.may(Role::Admin, ALL))
            }
            By::Store(_) => true,
        };
        if may {
            Ok(())
        } else {
            Err(MetadataError::NoLongerAdmin {
                by: self.name().to_owned(),
            })
        }
    }
}

/// What stands for others than users where it is told who did something, and what clients make something else of
/// in a path.
const NAMES_TAKEN: [&str; 6] = ["anybody", "stranger", "unknown", "rescue", ".", ".."];

/// By so much a rescue goes ahead where the users are gone: above any number that a node has seen.
const CHANGES_LOST: u64 = 1 << 40;

/// What to write for it; when it was is for people.
pub(crate) fn change_access(
    now: &Topology,
    store: &Objects,
    change: &AccessChange,
    by: By<'_>,
    now_ms: u64,
) -> Result<Step<Access>, MetadataError> {
    if let Some(Err(detail)) = store.read::<Access>(ACCESS) {
        return Err(MetadataError::Damaged {
            place: format!("object {ACCESS}"),
            detail: format!("{detail}; a newer version of dunlin may have written it"),
        });
    }
    let mut cluster = now.cluster.clone().ok_or(MetadataError::NoIdYet)?;
    if matches!(change, AccessChange::Disable) && !now.access.closed {
        return Ok(Step::none(now.access.clone()));
    }
    by.check(&now.access)?;
    let mut access = decide(&now.access, change, by.name(), now_ms)?;
    // Closed, and nobody to ask: nodes may have seen users that this store has lost.
    let is_lost = cluster.closed && store.get(ACCESS).is_none();
    let step = if is_lost { CHANGES_LOST } else { 1 };
    access.changes = (now.access.changes.checked_add(step)).ok_or(MetadataError::Exhausted {
        what: "number of a change of users",
    })?;
    let encoded = encode(&access)?;
    if encoded.len() > BYTES_MAX {
        let rule = format!("together at most {} KiB", BYTES_MAX >> 10);
        return Err(MetadataError::invalid("users", rule));
    }
    let mut puts = vec![(ACCESS.to_owned(), Some(encoded))];
    if cluster.closed != access.closed {
        cluster.closed = access.closed;
        puts.push((CLUSTER.to_owned(), Some(encode(&cluster)?)));
    }
    Ok(Step {
        guards: vec![ACCESS.to_owned()],
        puts,
        value: access,
    })
}

fn check_is_free(name: &str) -> Result<(), MetadataError> {
    if NAMES_TAKEN.contains(&name) {
        Err(MetadataError::invalid(
            format!("user {name}"),
            "this name is taken by Dunlin itself: choose another",
        ))
    } else {
        Ok(())
    }
}

fn decide(
    before: &Access,
    change: &AccessChange,
    by: &str,
    now_ms: u64,
) -> Result<Access, MetadataError> {
    let mut access = before.clone();
    let by = by.to_owned();
    match change {
        AccessChange::Add {
            name,
            roles,
            password,
            token,
        } => {
            if access.users.contains_key(name) {
                return Err(MetadataError::UserExists { name: name.clone() });
            }
            let user = User {
                roles: roles.clone(),
                password: password.clone(),
                tokens: token.iter().cloned().collect(),
                made_ms: now_ms,
                made_by: by.clone(),
                changed_ms: now_ms,
                changed_by: by,
            };
            user.check(name)?;
            check_is_free(name)?;
            if !access.closed && !user.is_admin() {
                return Err(MetadataError::FirstUser);
            }
            if access.users.len() == USERS_MAX {
                return Err(MetadataError::invalid(
                    "users",
                    format!("at most {USERS_MAX}"),
                ));
            }
            access.users.insert(name.clone(), user);
            access.closed = true;
        }
        AccessChange::Set {
            name,
            roles,
            password,
            tokens,
        } => {
            let user = access.users.get_mut(name);
            let user = user.ok_or_else(|| unknown(name))?;
            if let Some(roles) = roles {
                user.roles.clone_from(roles);
            }
            if let Some(password) = password {
                user.password = Some(password.clone());
            }
            match tokens {
                Tokens::Keep => {}
                Tokens::Add(token) => user.tokens.push(token.clone()),
                Tokens::Clear => user.tokens.clear(),
            }
            user.changed_ms = now_ms;
            user.changed_by = by;
            user.check(name)?;
            keep_an_admin(&access, name)?;
        }
        AccessChange::Drop { name } => {
            access.users.remove(name).ok_or_else(|| unknown(name))?;
            keep_an_admin(&access, name)?;
        }
        AccessChange::Disable => {
            access.users.clear();
            access.closed = false;
        }
        AccessChange::Rescue { name, password } => {
            let user = access.users.entry(name.clone()).or_insert_with(|| User {
                roles: BTreeMap::new(),
                password: None,
                tokens: Vec::new(),
                made_ms: now_ms,
                made_by: by.clone(),
                changed_ms: now_ms,
                changed_by: by.clone(),
            });
            user.roles.insert(ALL.to_owned(), Role::Admin);
            user.password = Some(password.clone());
            // Who knew them may be why this is needed.
            user.tokens.clear();
            user.changed_ms = now_ms;
            user.changed_by = by;
            user.check(name)?;
            access.closed = true;
        }
    }
    Ok(access)
}

/// Nobody could make users any more, were there no admin left.
fn keep_an_admin(after: &Access, name: &str) -> Result<(), MetadataError> {
    if after.users.values().any(User::is_admin) {
        Ok(())
    } else {
        Err(MetadataError::LastAdmin {
            name: name.to_owned(),
        })
    }
}

fn unknown(name: &str) -> MetadataError {
    MetadataError::UnknownUser {
        name: name.to_owned(),
    }
}

#[cfg(test)]
#[path = "access_change_tests.rs"]
mod tests;
