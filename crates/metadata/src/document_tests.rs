#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

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
    let mut document = Document::default();
    let a = document.register(start("a", 0)).unwrap();
    let b = document.register(start("b", 0)).unwrap();
    let again = document.register(start("a", 0)).unwrap();
    assert_eq!((a.id, a.incarnation), (1, 1));
    assert_eq!((b.id, b.incarnation), (2, 1));
    assert_eq!((again.id, again.incarnation), (1, 2));
    // A disk that remembers more starts than the store does is believed.
    assert_eq!(document.register(start("a", 9)).unwrap().incarnation, 9);
    assert_eq!(document.register(start("a", 3)).unwrap().incarnation, 10);
    let topology = document.topology();
    assert_eq!(topology.revision, 5);
    assert_eq!(topology.node(2), Some(&b));
    assert_eq!(topology.node(3), None);
}

#[test]
fn a_start_that_breaks_a_rule_changes_nothing() {
    let mut document = Document::default();
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
        assert!(matches!(
            document.register(broken),
            Err(MetadataError::Invalid { .. })
        ));
    }
    document.register(start("a", u32::MAX)).unwrap();
    let full = document.clone();
    let spent = document.register(start("a", 0));
    assert!(matches!(
        spent,
        Err(MetadataError::Exhausted {
            what: "incarnation"
        })
    ));
    assert_eq!(document, full);
}

#[test]
fn ids_run_out_rather_than_come_again() {
    assert_eq!(next_node_id(65_534).unwrap(), 65_535);
    assert!(matches!(
        next_node_id(65_535),
        Err(MetadataError::Exhausted { .. })
    ));
    assert!(matches!(
        next_keyspace_id(u32::MAX),
        Err(MetadataError::Exhausted { .. })
    ));
}

proptest! {
    #[test]
    fn keyspace_ids_are_never_used_again(steps in proptest::collection::vec((any::<bool>(), 0u8..4), 0..60)) {
        let mut document = Document::default();
        let mut last_id = 0;
        let mut held = BTreeMap::new();
        for (create, name) in steps {
            let name = format!("k{name}");
            let before = document.topology().revision;
            let changed = if create {
                match document.create_keyspace(&name, KeyspaceSettings::default()) {
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
            } else {
                let dropped = document.drop_keyspace(&name).is_ok();
                prop_assert_eq!(dropped, held.remove(&name).is_some());
                dropped
            };
            let topology = document.topology();
            prop_assert_eq!(topology.revision > before, changed);
            prop_assert!(topology.keyspaces.is_sorted_by_key(|keyspace| keyspace.id));
            prop_assert_eq!(topology.keyspaces.len(), held.len());
            for (name, id) in &held {
                prop_assert_eq!(topology.keyspace(*id), topology.keyspace_named(name));
                prop_assert!(topology.keyspace(*id).is_some());
            }
        }
    }
}
