//! Who may what: a decision without I/O.

use dunlin_metadata::{ALL, Access, Role};

use super::need::Need;

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is carried out.
    Allow,
    /// Who asks is to say who he is: 401.
    Unauthorized,
    /// He may not: 403.
    Forbidden {
        /// What he lacks.
        role: Role,
        /// The keyspace, or `*`.
        on: String,
    },
}

/// Whether a user of this name, which has been proved, may do what needs `need` with the keyspace
/// that the path names.
pub(super) fn judge(access: &Access, name: Option<&str>, need: Need, keyspace: &str) -> Verdict {
    if !access.closed || matches!(need, Need::Nothing | Need::Told) {
        return Verdict::Allow;
    }
    let Some(user) = name.and_then(|name| access.users.get(name)) else {
        return Verdict::Unauthorized;
    };
    let (role, on) = match need {
        Need::Nothing | Need::Told | Need::User => return Verdict::Allow,
        Need::Keyspace(role) => (role, keyspace),
        Need::Everything(role) => (role, ALL),
    };
    if user.may(role, on) {
        Verdict::Allow
    } else {
        Verdict::Forbidden {
            role,
            on: on.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
