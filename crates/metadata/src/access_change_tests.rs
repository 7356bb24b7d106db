#![allow(clippy::unwrap_used)]
use super::*;
use crate::accept::{Verdict, accept};
use crate::cluster::Cluster;

/// A store, and what a node knows of it.
struct Store {
    objects: Objects,
    now: Topology,
}

impl Store {
    fn new() -> Self {
        let mut objects = Objects::at(1);
        objects.apply(&[(CLUSTER.to_owned(), Some(encode(&Cluster::new(1)).unwrap()))]);
        let mut store = Self {
            objects,
            now: Topology::default(),
        };
        store.look();
        store
    }

    fn look(&mut self) {
        match accept(&self.now, None, &self.objects) {
            Verdict::Accept(now, problems) => {
                assert_eq!(problems, [""; 0]);
                self.now = now;
            }
            Verdict::Refuse(refusal) => panic!("{refusal}"),
        }
    }

    /// One word for what came of it.
    fn make(&mut self, change: &AccessChange) -> &'static str {
        match change_access(&self.now, &self.objects, change, By::Store("somebody"), 7) {
            Ok(step) if step.puts.is_empty() => "nothing",
            Ok(step) => {
                self.objects.apply(&step.puts);
                self.look();
                assert_eq!(self.now.access, step.value);
                assert_eq!(self.now.cluster.as_ref().unwrap().closed, step.value.closed);
                "done"
            }
            Err(MetadataError::UserExists { .. }) => "exists",
            Err(MetadataError::UnknownUser { .. }) => "unknown",
            Err(MetadataError::FirstUser) => "first",
            Err(MetadataError::LastAdmin { .. }) => "last",
            Err(MetadataError::Invalid { .. }) => "invalid",
            Err(error) => panic!("{error}"),
        }
    }
}

fn roles(on: &str, role: Role) -> BTreeMap<String, Role> {
    BTreeMap::from([(on.to_owned(), role)])
}

fn add(name: &str, on: &str, role: Role) -> AccessChange {
    AccessChange::Add {
        name: name.to_owned(),
        roles: roles(on, role),
        password: Some(Hash::new("p")),
        token: None,
    }
}

fn drop_user(name: &str) -> AccessChange {
    AccessChange::Drop {
        name: name.to_owned(),
    }
}

fn set(name: &str) -> AccessChange {
    AccessChange::Set {
        name: name.to_owned(),
        roles: None,
        password: None,
        tokens: Tokens::Keep,
    }
}

fn set_roles(name: &str, on: &str, role: Role) -> AccessChange {
    AccessChange::Set {
        name: name.to_owned(),
        roles: Some(roles(on, role)),
        password: None,
        tokens: Tokens::Keep,
    }
}

fn set_tokens(name: &str, tokens: Tokens) -> AccessChange {
    AccessChange::Set {
        name: name.to_owned(),
        roles: None,
        password: None,
        tokens,
    }
}

#[test]
fn from_the_first_user_to_none_again() {
    let mut store = Store::new();
    let without_any = AccessChange::Add {
        name: "a".to_owned(),
        roles: roles("*", Role::Admin),
        password: None,
        token: None,
    };
    let rescue = |name: &str| AccessChange::Rescue {
        name: name.to_owned(),
        password: Hash::new("q"),
    };
    for (change, wanted, closed, changes) in [
        (AccessChange::Disable, "nothing", false, 0),
        (drop_user("a"), "unknown", false, 0),
        (add("a", "*", Role::Write), "first", false, 0),
        (add("a", "birds", Role::Admin), "first", false, 0),
        (without_any, "invalid", false, 0),
        (add("a:b", "*", Role::Admin), "invalid", false, 0),
        (add("a", "*", Role::Admin), "done", true, 1),
        (add("a", "*", Role::Admin), "exists", true, 1),
        (add("b", "birds!", Role::Read), "invalid", true, 1),
        (add("b", "birds", Role::Read), "done", true, 2),
        (drop_user("a"), "last", true, 2),
        (set_roles("a", "*", Role::Write), "last", true, 2),
        (
            set_tokens("b", Tokens::Add(Hash::new("t"))),
            "done",
            true,
            3,
        ),
        (set_roles("b", "*", Role::Admin), "done", true, 4),
        (set_tokens("b", Tokens::Clear), "done", true, 5),
        (drop_user("a"), "done", true, 6),
        (drop_user("b"), "last", true, 6),
        (set("a"), "unknown", true, 6),
        (rescue("a"), "done", true, 7),
        (drop_user("b"), "done", true, 8),
        (AccessChange::Disable, "done", false, 9),
        (rescue("c"), "done", true, 10),
    ] {
        assert_eq!(store.make(&change), wanted, "{change:?}");
        let access = &store.now.access;
        assert_eq!(
            (access.closed, access.changes),
            (closed, changes),
            "{change:?}"
        );
    }
    assert!(store.now.access.users["c"].is_admin());
}

#[test]
fn bounds_hold() {
    let mut store = Store::new();
    assert_eq!(store.make(&add("a", "*", Role::Admin)), "done");
    for number in 0..crate::access::TOKENS_MAX {
        let token = Hash::new(format!("{number:064x}"));
        assert_eq!(store.make(&set_tokens("a", Tokens::Add(token))), "done");
    }
    let more = Tokens::Add(Hash::new("f"));
    assert_eq!(store.make(&set_tokens("a", more)), "invalid");
    for number in 1..USERS_MAX {
        let step = add(&format!("u{number}"), "birds", Role::Read);
        assert_eq!(store.make(&step), "done");
    }
    assert_eq!(store.make(&add("more", "birds", Role::Read)), "invalid");
    // Many users with many roles are more than fits.
    let mut many = BTreeMap::new();
    for number in 0..crate::access::ROLES_MAX {
        many.insert(format!("{number:063}"), Role::Read);
    }
    let filled = (1..USERS_MAX).map(|number| {
        store.make(&AccessChange::Set {
            name: format!("u{number}"),
            roles: Some(many.clone()),
            password: None,
            tokens: Tokens::Keep,
        })
    });
    assert!(filled.into_iter().any(|word| word == "invalid"));
    assert!(store.objects.get(ACCESS).unwrap().value.len() <= BYTES_MAX);
}

#[test]
fn users_of_a_newer_version_are_not_written_over() {
    let mut store = Store::new();
    assert_eq!(store.make(&add("a", "*", Role::Admin)), "done");
    let newer = br#"{"changes":2,"closed":true,"users":{},"more":1}"#.to_vec();
    store.objects.apply(&[(ACCESS.to_owned(), Some(newer))]);
    let change = add("b", "birds", Role::Read);
    let refused = change_access(&store.now, &store.objects, &change, By::Store("a"), 7);
    assert!(matches!(refused, Err(MetadataError::Damaged { .. })));
}

#[test]
fn who_asks_is_judged_again_with_the_change() {
    let add = |name| add(name, ALL, Role::Admin);
    let asked = |store: &Store, change: &AccessChange, by| match change_access(
        &store.now,
        &store.objects,
        change,
        by,
        7,
    ) {
        Ok(_) => "done",
        Err(MetadataError::NoLongerAdmin { .. }) => "no longer",
        Err(_) => "refused",
    };
    let mut store = Store::new();
    assert_eq!(asked(&store, &add("eve"), By::Anybody), "done");
    assert_eq!(store.make(&add("ann")), "done");
    // Of two who are to be the first, the second finds the cluster closed.
    assert_eq!(asked(&store, &add("eve"), By::Anybody), "no longer");
    assert_eq!(
        asked(&store, &AccessChange::Disable, By::Anybody),
        "no longer"
    );
    assert_eq!(asked(&store, &add("bob"), By::User("ann")), "done");
    assert_eq!(store.make(&add("bob")), "done");
    assert_eq!(store.make(&drop_user("bob")), "done");
    assert_eq!(asked(&store, &add("eve"), By::User("bob")), "no longer");
    assert_eq!(
        asked(&store, &AccessChange::Disable, By::User("bob")),
        "no longer"
    );
    assert_eq!(asked(&store, &add("eve"), By::Store("rescue")), "done");
}

#[test]
fn a_rescue_where_the_users_are_lost_goes_beyond_all_that_nodes_remember() {
    let rescue = AccessChange::Rescue {
        name: "ann".into(),
        password: Hash::new("hash"),
    };
    let mut store = Store::new();
    assert_eq!(store.make(&rescue), "done");
    let kept = store.now.access.changes;
    assert_eq!(kept, 1);
    // The object is deleted, and somebody asks who has seen nothing before.
    store.objects.apply(&[(ACCESS.to_owned(), None)]);
    let Verdict::Accept(now, _) = accept(&Topology::default(), None, &store.objects) else {
        panic!("a start takes what there is");
    };
    let step = change_access(&now, &store.objects, &rescue, By::Store("rescue"), 7);
    assert!(step.unwrap().value.changes > 1 << 39);
}

#[test]
fn names_that_stand_for_others_are_no_users() {
    let mut store = Store::new();
    assert_eq!(store.make(&add("ann", ALL, Role::Admin)), "done");
    for name in NAMES_TAKEN {
        let change = add(name, ALL, Role::Read);
        let refused = change_access(&store.now, &store.objects, &change, By::Store("a"), 7);
        assert!(
            matches!(refused, Err(MetadataError::Invalid { .. })),
            "{name}"
        );
    }
    assert_eq!(store.make(&add("anybody.else", ALL, Role::Read)), "done");
}
