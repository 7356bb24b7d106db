#![allow(clippy::unwrap_used)]
use dunlin_metadata::{Hash, User};
use hyper::Method;

use super::*;
use crate::api::rules::{PATHS, find, keyspace_of, rules};

fn user(roles: &[(&str, Role)]) -> User {
    User {
        roles: roles
            .iter()
            .map(|(name, role)| ((*name).to_owned(), *role))
            .collect(),
        password: Some(Hash::new("x")),
        tokens: Vec::new(),
        made_ms: 0,
        made_by: String::new(),
        changed_ms: 0,
        changed_by: String::new(),
    }
}

/// Somebody for each role on the keyspace NAME and on all, and one who has rights elsewhere only.
fn access() -> Access {
    use Role::{Admin, Read, Write};
    let users = [
        ("elsewhere", user(&[("other", Admin)])),
        ("r", user(&[("NAME", Read)])),
        ("w", user(&[("NAME", Write)])),
        ("a", user(&[("NAME", Admin)])),
        ("R", user(&[(ALL, Read)])),
        ("W", user(&[(ALL, Write)])),
        ("A", user(&[(ALL, Admin)])),
        ("default-w", user(&[("default", Write)])),
        ("mixed", user(&[(ALL, Read), ("NAME", Write)])),
    ];
    Access {
        changes: 1,
        closed: true,
        users: users.map(|(name, user)| (name.to_owned(), user)).into(),
    }
}

/// Who of them may: all others are answered 403, and those who do not say who they are 401.
const TABLE: &[(&str, &str, &str)] = &[
    ("GET", "/health", "anybody"),
    ("GET", "/health/ready", "anybody"),
    ("GET", "/health/live", "anybody"),
    ("GET", "/metrics", "R W A mixed"),
    ("GET", "/v0/entity", "R W A default-w mixed"),
    ("PUT", "/v0/entity", "W A default-w"),
    ("DELETE", "/v0/entity", "W A default-w"),
    ("GET", "/v0/entities", "R W A default-w mixed"),
    ("GET", "/v1/status", "R W A mixed"),
    ("GET", "/v1/metadata", "R W A mixed"),
    ("GET", "/v1/dropped", "R W A mixed"),
    ("GET", "/v1/members", "R W A mixed"),
    ("POST", "/v1/members", "A"),
    ("DELETE", "/v1/members/change", "A"),
    ("GET", "/v1/users", "A"),
    ("POST", "/v1/users", "A"),
    ("DELETE", "/v1/users", "A"),
    ("PUT", "/v1/users/NAME", "A"),
    ("DELETE", "/v1/users/NAME", "A"),
    (
        "GET",
        "/v1/keyspaces",
        "elsewhere r w a R W A default-w mixed",
    ),
    ("POST", "/v1/keyspaces", "A"),
    ("GET", "/v1/keyspaces/NAME", "r w a R W A mixed"),
    ("PATCH", "/v1/keyspaces/NAME", "a A"),
    ("DELETE", "/v1/keyspaces/NAME", "a A"),
    ("GET", "/v1/keyspaces/NAME/keys", "r w a R W A mixed"),
    ("POST", "/v1/keyspaces/NAME/undrop", "a A"),
    ("GET", "/v1/keyspaces/NAME/mend-stamps", "a A"),
    ("POST", "/v1/keyspaces/NAME/mend-stamps", "a A"),
    ("POST", "/v1/keyspaces/NAME/bulk", "w a W A mixed"),
    ("GET", "/v1/keyspaces/NAME/key", "r w a R W A mixed"),
    ("PUT", "/v1/keyspaces/NAME/key", "w a W A mixed"),
    ("DELETE", "/v1/keyspaces/NAME/key", "w a W A mixed"),
    ("GET", "/v1/keyspaces/NAME/keys/KEY", "r w a R W A mixed"),
    ("PUT", "/v1/keyspaces/NAME/keys/KEY", "w a W A mixed"),
    ("DELETE", "/v1/keyspaces/NAME/keys/KEY", "w a W A mixed"),
];

#[test]
fn who_may_what_on_every_path() {
    let access = access();
    let mut told = 0;
    for (method, path, who) in TABLE {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let rule = find(rules(path).unwrap(), &method).unwrap();
        let keyspace = keyspace_of(path).unwrap_or_default();
        for name in access.users.keys() {
            let verdict = judge(&access, Some(name), rule.need, keyspace);
            let may = *who == "anybody" || who.split(' ').any(|one| one == name);
            let is_as_told = match verdict {
                Verdict::Allow => may,
                Verdict::Forbidden { .. } => !may,
                Verdict::Unauthorized => false,
            };
            assert!(is_as_told, "{method} {path} by {name}: {verdict:?}");
        }
        let is_open = *who == "anybody";
        for stranger in [None, Some("dropped")] {
            let verdict = judge(&access, stranger, rule.need, keyspace);
            let wanted = if is_open {
                Verdict::Allow
            } else {
                Verdict::Unauthorized
            };
            assert_eq!(verdict, wanted, "{method} {path} by {stranger:?}");
        }
        told += 1;
    }
    // A path or a method that came later has no row yet.
    let known: usize = PATHS.iter().map(|path| rules(path).unwrap().len()).sum();
    assert_eq!(told, known, "a rule without a row in the table");
}

#[test]
fn an_open_cluster_lets_all_in_and_a_closed_one_without_users_nobody() {
    let need = Need::Everything(Role::Admin);
    let open = Access::default();
    assert_eq!(judge(&open, None, need, ""), Verdict::Allow);
    // Users may be kept while it is open by nobody's doing: then too.
    let mut users = access();
    users.closed = false;
    assert_eq!(judge(&users, None, need, ""), Verdict::Allow);
    let closed = Access {
        closed: true,
        ..Access::default()
    };
    assert_eq!(judge(&closed, Some("A"), need, ""), Verdict::Unauthorized);
    assert_eq!(
        judge(&closed, Some("A"), Need::User, ""),
        Verdict::Unauthorized
    );
    assert_eq!(judge(&closed, None, Need::Told, ""), Verdict::Allow);
}

#[test]
fn who_lacks_a_role_is_told_which() {
    let verdict = judge(&access(), Some("r"), Need::Keyspace(Role::Write), "NAME");
    let wanted = Verdict::Forbidden {
        role: Role::Write,
        on: "NAME".to_owned(),
    };
    assert_eq!(verdict, wanted);
}
