#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::accept::{Verdict, accept};
use crate::retention::Retention;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A store and what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Store {
    objects: Objects,
    now: Topology,
}

impl Store {
    fn make<T>(&mut self, step: Result<Step<T>, MetadataError>) -> Result<T, MetadataError> {
        let step = step?;
        if !step.puts.is_empty() {
            self.objects.apply(&step.puts);
        }
        match accept(&self.now, None, &self.objects) {
            Verdict::Accept(now, problems) => {
                assert_eq!(problems, [""; 0]);
                self.now = now;
            }
            Verdict::Refuse(refusal) => panic!("{refusal}"),
        }
        Ok(step.value)
    }

    fn register(&mut self, node: Registration<'_>) -> Result<NodeRecord, MetadataError> {
        self.make(register(&self.now.clone(), &self.objects.clone(), node))
    }

    fn announce(&mut self, node: Registration<'_>, id: u16) -> Result<NodeRecord, MetadataError> {
        self.make(announce(&self.now.clone(), node, id))
    }
}

fn start(name: &str, at_least_incarnation: u32) -> Registration<'_> {
    Registration {
        name,
        http: "h:1",
        listen: "h:2",
        shards: 2,
        at_least_incarnation,
    }
}

#[test]
fn an_id_stays_with_its_name_and_the_incarnation_grows() {
    let mut store = Store::default();
    let a = store.register(start("a", 0)).unwrap();
    let b = store.register(start("b", 0)).unwrap();
    let again = store.register(start("a", 0)).unwrap();
    assert_eq!((a.id, a.incarnation), (1, 1));
    assert_eq!((b.id, b.incarnation), (2, 1));
    assert_eq!((again.id, again.incarnation), (1, 2));
    // A disk that remembers more starts than the store does is believed.
    assert_eq!(store.register(start("a", 9)).unwrap().incarnation, 9);
    assert_eq!(store.register(start("a", 3)).unwrap().incarnation, 10);
    assert_eq!(store.now.revision, 5);
    assert_eq!(store.now.node(2), Some(&b));
    assert_eq!(store.now.node(3), None);
}

#[test]
fn a_cluster_has_room_for_so_many_shards() {
    let many = |name, shards| Registration {
        shards,
        ..start(name, 0)
    };
    let mut store = Store::default();
    for name in ["a1", "a2", "a3"] {
        store.register(many(name, 64)).unwrap();
    }
    store.register(many("a4", 40)).unwrap();
    store.register(many("b", 20)).unwrap();
    let refused = store.register(many("c", 5)).unwrap_err();
    assert!(matches!(
        refused,
        MetadataError::NoRoom {
            most: 256,
            others: 252,
            own: 5
        }
    ));
    assert!(refused.to_string().ends_with("; start with --shards 4"));
    store.register(many("c", 4)).unwrap();
    let refused = store.register(many("d", 1)).unwrap_err();
    assert!(refused.to_string().ends_with("1 more are too many"));
    // Who is in starts again, also where there are too many from a time that did not look.
    store.register(many("b", 20)).unwrap();
    let mut crowded = store.now.clone();
    crowded.nodes[3].shards = 60;
    assert!(register(&crowded, &store.objects, many("b", 20)).is_ok());
    assert!(register(&crowded, &store.objects, many("b", 21)).is_err());
}

#[test]
fn a_start_without_the_store_is_told_of_later_unless_there_was_another() {
    let mut store = Store::default();
    store.register(start("a", 0)).unwrap();
    let told = store.announce(start("a", 2), 1).unwrap();
    assert_eq!((told.id, told.incarnation), (1, 2));
    // Told again, as when the answer was lost, it is the same.
    let revision = store.now.revision;
    assert_eq!(store.announce(start("a", 2), 1).unwrap(), told);
    assert_eq!(store.now.revision, revision);
    assert_eq!(store.register(start("a", 2)).unwrap().incarnation, 3);
    let late = store.announce(start("a", 2), 1).unwrap_err();
    assert!(matches!(
        late,
        MetadataError::Superseded {
            own: 2,
            found: 3,
            ..
        }
    ));
    for (name, id) in [("a", 2), ("b", 1)] {
        let foreign = store.announce(start(name, 9), id).unwrap_err();
        assert!(matches!(foreign, MetadataError::Foreign { .. }));
    }
}

#[test]
fn a_start_that_breaks_a_rule_changes_nothing() {
    let mut store = Store::default();
    let rules = [
        Registration {
            name: "a b",
            ..start("", 0)
        },
        Registration {
            http: "",
            ..start("a", 0)
        },
        Registration {
            listen: "x\n",
            ..start("a", 0)
        },
        Registration {
            shards: 0,
            ..start("a", 0)
        },
        Registration {
            shards: 1025,
            ..start("a", 0)
        },
    ];
    for broken in rules {
        let refused = store.register(broken);
        assert!(matches!(refused, Err(MetadataError::Invalid { .. })));
    }
    store.register(start("a", u32::MAX)).unwrap();
    let full = store.clone();
    let spent = store.register(start("a", 0));
    assert!(matches!(
        spent,
        Err(MetadataError::Exhausted {
            what: "incarnation"
        })
    ));
    assert_eq!(store, full);
}

#[test]
fn ids_run_out_rather_than_come_again() {
    assert_eq!(next_node_id(4_094).unwrap(), 4_095);
    assert!(matches!(
        next_node_id(4_095),
        Err(MetadataError::Exhausted { .. })
    ));
    assert!(matches!(
        next_keyspace_id(u32::MAX),
        Err(MetadataError::Exhausted { .. })
    ));
}

#[test]
fn what_decided_is_guarded() {
    let mut store = Store::default();
    store.register(start("a", 0)).unwrap();
    let settings = KeyspaceSettings::default();
    let made = create_keyspace(&store.now, &store.objects, "x", &settings, 0).unwrap();
    for key in ["keyspaces/x", KEYSPACE_COUNTER] {
        assert!(made.guards.iter().any(|guard| guard == key), "{key}");
    }
    store.make(Ok(made)).unwrap();
    let dropped = drop_keyspace(&store.now, "x", 1).unwrap();
    assert_eq!(dropped.guards, ["keyspaces/x", "drops/1"]);
    store.make(Ok(dropped)).unwrap();
    // A purge and an undrop that race: whoever writes first wins.
    let mut seen = store.now.dropped(1).unwrap().clone();
    let purge = purge_keyspace(&store.now, &seen).unwrap();
    let undrop = undrop_keyspace(&store.now, &store.objects, "x").unwrap();
    for guards in [&purge.guards, &undrop.guards] {
        assert!(guards.iter().any(|guard| guard == "drops/1"));
    }
    seen.dropped_ms = 0;
    let other = purge_keyspace(&store.now, &seen).unwrap();
    assert!(
        !other.value && other.puts.is_empty(),
        "another drop was seen"
    );
}

#[test]
fn widths_are_noted_for_the_keyspace_that_was_meant() {
    let mut store = Store::default();
    store.register(start("a", 0)).unwrap();
    let settings = KeyspaceSettings::default();
    let made = create_keyspace(&store.now, &store.objects, "x", &settings, 0);
    let made = store.make(made).unwrap();
    assert_eq!((made.widest, made.known), (3, 3));
    let widen = |store: &Store, name: &str, id: u32, widest: u8, known: u8| {
        widen_keyspace(&store.now, &store.objects, name, id, widest, known)
    };
    for (widest, known, is_written) in [(5, 3, true), (4, 4, true), (1, 1, false)] {
        let step = widen(&store, "x", made.id, widest, known).unwrap();
        assert_eq!(!step.puts.is_empty(), is_written);
        store.make(Ok(step)).unwrap();
    }
    let now = store.now.keyspace_named("x").unwrap();
    assert_eq!((now.widest, now.known), (5, 4));
    // One of the same name that was made since, one that there is not, and one that the store lost.
    let other = widen(&store, "x", made.id + 1, 7, 7);
    assert!(matches!(other, Err(MetadataError::NotFound { .. })));
    let none = widen(&store, "y", made.id, 7, 7);
    assert!(matches!(none, Err(MetadataError::NotFound { .. })));
    store.objects.remove("keyspaces/x", store.objects.revision);
    let lost = widen(&store, "x", made.id, 7, 7);
    assert!(matches!(lost, Err(MetadataError::NotFound { .. })));
}

proptest! {
    #[test]
    fn keyspace_ids_are_never_used_again(steps in proptest::collection::vec((0u8..4, 0u8..4), 0..60)) {
        let mut store = Store::default();
        let mut last_id = 0;
        let mut held: BTreeMap<String, u32> = BTreeMap::new();
        for (what, name) in steps {
            let name = format!("k{name}");
            let Store { objects, now } = store.clone();
            let changed = match what {
                0 => {
                    let settings = KeyspaceSettings::default();
                    match store.make(create_keyspace(&now, &objects, &name, &settings, 0)) {
                        Ok(keyspace) => {
                            prop_assert!(keyspace.id > last_id);
                            last_id = keyspace.id;
                            prop_assert!(held.insert(name, keyspace.id).is_none());
                            true
                        }
                        Err(MetadataError::Exists { .. }) => {
                            prop_assert!(held.contains_key(&name));
                            false
                        }
                        Err(other) => return Err(TestCaseError::fail(other.to_string())),
                    }
                }
                1 => {
                    let dropped = store.make(drop_keyspace(&now, &name, 0)).is_ok();
                    prop_assert_eq!(dropped, held.remove(&name).is_some());
                    dropped
                }
                2 => match store.make(undrop_keyspace(&now, &objects, &name)) {
                    Ok(keyspace) => {
                        prop_assert!(now.dropped(keyspace.id).is_some_and(|d| !d.purged));
                        prop_assert!(held.insert(name, keyspace.id).is_none());
                        true
                    }
                    Err(_) => false,
                },
                _ => {
                    match now.dropped.iter().find(|dropped| !dropped.purged) {
                        Some(first) => store.make(purge_keyspace(&now, first)).unwrap(),
                        None => false,
                    }
                }
            };
            prop_assert_eq!(store.now.revision > now.revision, changed);
            prop_assert!(store.now.keyspaces.is_sorted_by_key(|keyspace| keyspace.id));
            prop_assert_eq!(store.now.keyspaces.len(), held.len());
            for (name, id) in &held {
                prop_assert_eq!(store.now.keyspace(*id), store.now.keyspace_named(name));
                prop_assert!(store.now.keyspace(*id).is_some());
            }
        }
    }
}

#[test]
fn a_number_that_there_is_data_of_is_not_given_out() {
    let mut store = Store::default();
    let settings = KeyspaceSettings::default();
    let mut create = |name: &str, met: u32| {
        let made = create_keyspace(&store.now, &store.objects, name, &settings, met);
        store.make(made).map(|keyspace| keyspace.id)
    };
    assert_eq!(create("a", 0).unwrap(), 1);
    assert_eq!(create("b", 5).unwrap(), 6);
    assert_eq!(create("c", 2).unwrap(), 7);
    let reserved = create("d", u32::MAX - 1);
    assert!(matches!(reserved, Err(MetadataError::Exhausted { .. })));
}

#[test]
fn retention_is_set_for_a_keyspace_that_is_there() {
    let mut store = Store::default();
    store.register(start("a", 0)).unwrap();
    let settings = KeyspaceSettings::default();
    let made = create_keyspace(&store.now, &store.objects, "x", &settings, 0);
    let made = store.make(made).unwrap();
    let retention = Retention {
        min_bytes: Some(7),
        ..Retention::default()
    };
    let alter = |store: &Store, name: &str, retention: Retention| {
        alter_keyspace(&store.now, &store.objects, name, |keyspace| {
            Ok(Keyspace {
                retention,
                ..keyspace.clone()
            })
        })
    };
    for is_written in [true, false] {
        let step = alter(&store, "x", retention).unwrap();
        assert_eq!(!step.puts.is_empty(), is_written);
        assert_eq!(store.make(Ok(step)).unwrap().retention, retention);
    }
    // A wider write keeps it.
    let widened = widen_keyspace(&store.now, &store.objects, "x", made.id, 5, 5);
    store.make(widened).unwrap();
    let now = store.now.keyspace_named("x").unwrap();
    assert_eq!((now.retention, now.widest), (retention, 5));
    let none = alter(&store, "y", retention).err();
    assert!(matches!(none, Some(MetadataError::NotFound { .. })));
    let step = alter(&store, "x", Retention::default());
    assert!(store.make(step).unwrap().retention.is_empty());
}
