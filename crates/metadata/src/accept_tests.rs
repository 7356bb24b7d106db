#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::keyspace::KeyspaceSettings;
use crate::members::{Change, Phase};
use crate::objects::{encode, keyspace_key, node_key};

const OWN: u128 = 0xa;

fn node(id: u16, incarnation: u32) -> NodeRecord {
    NodeRecord {
        id,
        name: format!("n{id}"),
        http: "h:1".to_owned(),
        listen: "h:2".to_owned(),
        shards: 1,
        incarnation,
    }
}

fn a_keyspace(id: u32, name: &str) -> Keyspace {
    Keyspace::new(id, name, KeyspaceSettings::default())
}

fn a_drop(id: u32, name: &str, purged: bool) -> Dropped {
    Dropped {
        keyspace: a_keyspace(id, name),
        dropped_ms: 7,
        purged,
    }
}

fn change(id: u64, phase: Phase) -> Option<Change> {
    Some(Change {
        id,
        to: vec![1, 2, 4],
        dead: vec![],
        phase,
    })
}

/// Three members and a spare node, keyspaces a and b, one dropped; at revision 20.
fn known() -> Topology {
    Topology {
        cluster: Some(Cluster::new(OWN)),
        revision: 20,
        nodes: vec![node(1, 5), node(2, 5), node(3, 5), node(4, 1)],
        keyspaces: vec![a_keyspace(1, "a"), a_keyspace(2, "b")],
        members: Members {
            ids: vec![1, 2, 3],
            change: None,
            changes: 2,
        },
        dropped: vec![a_drop(3, "c", false)],
        counters: Counters {
            node: 4,
            keyspace: 3,
        },
        access: Access::default(),
    }
}

/// A store that says what a topology does.
fn store(topology: &Topology) -> Objects {
    let mut puts = Vec::new();
    let mut put = |key: String, value: Vec<u8>| puts.push((key, Some(value)));
    if let Some(cluster) = &topology.cluster {
        put(CLUSTER.to_owned(), encode(cluster).unwrap());
    }
    for node in &topology.nodes {
        put(node_key(&node.name), encode(node).unwrap());
    }
    for keyspace in &topology.keyspaces {
        put(keyspace_key(&keyspace.name), encode(keyspace).unwrap());
    }
    for dropped in &topology.dropped {
        put(drop_key(dropped.keyspace.id), encode(dropped).unwrap());
    }
    put(MEMBERS.to_owned(), encode(&topology.members).unwrap());
    put(
        NODE_COUNTER.to_owned(),
        encode(&topology.counters.node).unwrap(),
    );
    put(
        KEYSPACE_COUNTER.to_owned(),
        encode(&topology.counters.keyspace).unwrap(),
    );
    let mut objects = Objects::at(topology.revision - 1);
    objects.apply(&puts);
    objects
}

fn with(mut store: Objects, key: &str, value: Option<&str>) -> Objects {
    store.apply(&[(key.to_owned(), value.map(|value| value.as_bytes().to_vec()))]);
    store
}

fn refusal(known: &Topology, store: &Objects) -> Refusal {
    match accept(known, None, store) {
        Verdict::Refuse(refusal) => refusal,
        accepted => panic!("{accepted:?}"),
    }
}

fn accepted(known: &Topology, store: &Objects) -> (Topology, Vec<String>) {
    match accept(known, None, store) {
        Verdict::Accept(topology, problems) => (topology, problems),
        refused => panic!("{refused:?}"),
    }
}

#[test]
fn a_store_that_says_what_is_known_is_taken_as_it_is() {
    let whole = known();
    assert_eq!(accepted(&whole, &store(&whole)), (whole.clone(), vec![]));
    assert_eq!(
        accepted(&Topology::default(), &store(&whole)),
        (whole, vec![])
    );
}

#[test]
fn a_store_that_has_lost_its_memory_is_refused_whatever_its_revision() {
    let seen = known();
    let id = format!("{OWN:032x}");
    // Wiped, and written to by others since.
    for revision in [1, 20, 1_000] {
        let found = refusal(&seen, &Objects::at(revision));
        assert_eq!(found, Refusal::NoCluster { known: id.clone() });
    }
    let other = Topology {
        cluster: Some(Cluster::new(0xb)),
        revision: 90,
        ..known()
    };
    let found = format!("{:032x}", 0xb);
    let expected = Refusal::OtherCluster { found, known: id };
    assert_eq!(refusal(&seen, &store(&other)), expected);
    // An older copy, as such and after others have written to it.
    let old = |change: fn(&mut Topology), revision| {
        let mut old = known();
        change(&mut old);
        old.revision = revision;
        store(&old)
    };
    let behind = Refusal::Behind {
        revision: 19,
        seen: 20,
    };
    assert_eq!(refusal(&seen, &old(|_| (), 19)), behind);
    let shrunk: [fn(&mut Topology); 5] = [
        |old| old.nodes[1].incarnation = 4,
        |old| old.counters.node = 3,
        |old| old.counters.keyspace = 2,
        |old| old.members.changes = 1,
        |old| old.members.change = change(2, Phase::Settle),
    ];
    for change in shrunk {
        let found = refusal(&seen, &old(change, 90));
        assert!(matches!(found, Refusal::Shrunk { .. }), "{found}");
    }
}

#[test]
fn a_change_of_members_never_goes_back_and_may_go_on_end_or_be_cancelled() {
    let at = |ongoing: Option<Change>, changes| {
        let mut topology = known();
        topology.members.change = ongoing;
        topology.members.changes = changes;
        topology
    };
    let joint = at(change(2, Phase::Joint), 2);
    let is_taken =
        |now: &Topology| matches!(accept(&joint, None, &store(now)), Verdict::Accept(..));
    assert!(is_taken(&at(change(2, Phase::Joint), 2)));
    assert!(is_taken(&at(change(2, Phase::Switch), 2)));
    assert!(is_taken(&at(None, 2)));
    assert!(is_taken(&at(change(3, Phase::Copy), 3)));
    assert!(!is_taken(&at(change(2, Phase::Copy), 2)));
    assert!(!is_taken(&at(None, 1)));
}

#[test]
fn a_store_that_was_put_back_counts_from_the_beginning() {
    let seen = known();
    let mut back = known();
    back.revision = 8;
    back.cluster.as_mut().unwrap().restores = 1;
    back.nodes[0].incarnation = 2;
    back.keyspaces.pop();
    let (now, problems) = accepted(&seen, &store(&back));
    assert_eq!(now.order(), (1, 8));
    assert_eq!(
        now.keyspaces, seen.keyspaces,
        "not even then by its absence"
    );
    assert_eq!(problems.len(), 1, "{problems:?}");
    // What was before is behind it from now on.
    assert!(matches!(
        refusal(&now, &store(&seen)),
        Refusal::Behind { .. }
    ));
}

#[test]
fn a_keyspace_goes_by_the_record_of_its_drop_alone() {
    let seen = known();
    for value in [
        None,
        Some("{"),
        Some("{}"),
        Some(r#"{"id":2,"name":"b","settings":{"colour":"red"}}"#),
        Some(r#"{"id":2,"name":"b","settings":{"mode":"transactional"}}"#),
        Some(r#"{"id":2,"name":"x","settings":{}}"#),
    ] {
        let (now, problems) = accepted(&seen, &with(store(&seen), "keyspaces/b", value));
        assert_eq!(now.keyspaces, seen.keyspaces, "{value:?}");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("keyspace b"), "{problems:?}");
    }
    let gone = with(store(&seen), "keyspaces/b", None);
    let record = String::from_utf8(encode(&a_drop(2, "b", false)).unwrap()).unwrap();
    let (now, problems) = accepted(&seen, &with(gone.clone(), "drops/2", Some(&record)));
    assert_eq!(
        (now.keyspaces.len(), now.dropped.len(), problems.len()),
        (1, 2, 0)
    );
    // A record that cannot be read is none.
    let (now, problems) = accepted(&seen, &with(gone, "drops/2", Some("{")));
    assert_eq!((now.keyspaces.len(), now.dropped.len()), (2, 1));
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_keyspace_never_known_that_cannot_be_read_is_not_served_and_not_dropped() {
    let seen = known();
    let odd = with(store(&seen), "keyspaces/odd", Some(r#"{"id":9}"#));
    let (now, problems) = accepted(&seen, &odd);
    assert_eq!((now.keyspaces.len(), now.dropped.len()), (2, 1));
    assert!(
        problems[0].contains("odd") && problems.len() == 1,
        "{problems:?}"
    );
}

#[test]
fn a_drop_that_is_known_stands_until_the_keyspace_is_back() {
    let seen = known();
    let gone = with(store(&seen), "drops/3", None);
    let (now, problems) = accepted(&seen, &gone);
    assert_eq!((now.dropped, problems.len()), (seen.dropped.clone(), 1));
    let (now, problems) = accepted(&seen, &with(store(&seen), "drops/3", Some("{")));
    assert_eq!((now.dropped, problems.len()), (seen.dropped.clone(), 1));
    let back = String::from_utf8(encode(&a_keyspace(3, "c")).unwrap()).unwrap();
    let (now, problems) = accepted(&seen, &with(gone, "keyspaces/c", Some(&back)));
    assert_eq!(
        (now.keyspaces.len(), now.dropped.len(), problems.len()),
        (3, 0, 0)
    );
    // There and dropped at once: no data goes.
    let (now, problems) = accepted(&seen, &with(store(&seen), "keyspaces/c", Some(&back)));
    assert_eq!(
        (now.keyspaces.len(), now.dropped.len(), problems.len()),
        (3, 0, 1)
    );
}

#[test]
fn what_was_seen_of_a_keyspaces_width_stays() {
    let mut seen = known();
    seen.keyspaces[0] = seen.keyspaces[0].widened(5, 4);
    let (now, problems) = accepted(&seen, &store(&known()));
    assert_eq!(problems, [""; 0]);
    assert_eq!((now.keyspaces[0].widest, now.keyspaces[0].known), (5, 4));
    let (now, _) = accepted(&known(), &store(&seen));
    assert_eq!((now.keyspaces[0].widest, now.keyspaces[0].known), (5, 4));
}

#[test]
fn what_is_purged_stays_purged() {
    let mut seen = known();
    seen.dropped = vec![a_drop(3, "c", true)];
    let (now, _) = accepted(&seen, &store(&known()));
    assert!(now.dropped[0].purged);
    let (now, _) = accepted(&known(), &store(&seen));
    assert!(now.dropped[0].purged);
}

#[test]
fn members_and_the_nodes_they_name_are_not_forgotten_by_absence() {
    let seen = known();
    for value in [None, Some("{")] {
        let (now, problems) = accepted(&seen, &with(store(&seen), "members", value));
        assert_eq!((now.members, problems.len()), (seen.members.clone(), 1));
        let (now, problems) = accepted(&seen, &with(store(&seen), "nodes/n2", value));
        assert_eq!((now.nodes, problems.len()), (seen.nodes.clone(), 1));
    }
    // A spare node may be forgotten, and a member that has left.
    let (now, problems) = accepted(&seen, &with(store(&seen), "nodes/n4", None));
    assert_eq!((now.nodes.len(), problems.len()), (3, 0));
    let mut left = known();
    left.members.ids = vec![1, 2, 4];
    let (now, problems) = accepted(&seen, &with(store(&left), "nodes/n3", None));
    assert_eq!((now.nodes.len(), problems.len()), (3, 0));
    // Counted is what was counted before.
    for key in [NODE_COUNTER, KEYSPACE_COUNTER] {
        let (now, _) = accepted(&seen, &with(store(&seen), key, None));
        assert_eq!(now.counters, seen.counters);
        let (now, problems) = accepted(&seen, &with(store(&seen), key, Some("x")));
        assert_eq!((now.counters, problems.len()), (seen.counters, 1));
    }
}

#[test]
fn what_was_never_known_cannot_be_guessed() {
    let fresh = Topology::default();
    let bad = with(store(&known()), "members", Some("{"));
    assert!(matches!(refusal(&fresh, &bad), Refusal::Unreadable { .. }));
    let bad = with(store(&known()), "cluster", Some(r#"{"id":"zz"}"#));
    for seen in [&fresh, &known()] {
        assert!(matches!(refusal(seen, &bad), Refusal::Unreadable { .. }));
    }
}

#[test]
fn the_data_directory_speaks_where_the_cache_is_lost() {
    let fresh = Topology::default();
    let own = format!("{OWN:032x}");
    let whole = store(&known());
    assert!(matches!(
        accept(&fresh, Some(&own), &whole),
        Verdict::Accept(..)
    ));
    let other = format!("{:032x}", 1);
    for (directory, store) in [(&other, &whole), (&own, &Objects::at(9))] {
        let verdict = accept(&fresh, Some(directory), store);
        assert!(matches!(verdict, Verdict::Refuse(_)), "{verdict:?}");
    }
}

#[test]
fn without_ids_a_store_is_believed_while_it_knows_a_node_that_is_known() {
    let legacy = Topology {
        cluster: None,
        ..known()
    };
    let (now, problems) = accepted(&legacy, &store(&legacy));
    assert_eq!((now, problems.len()), (legacy.clone(), 0));
    assert_eq!(refusal(&legacy, &Objects::at(90)), Refusal::NoNodes);
    // It gets an id at last.
    let (now, _) = accepted(&legacy, &store(&known()));
    assert_eq!(now.cluster, known().cluster);
    let mut stranger = known();
    for node in &mut stranger.nodes {
        node.name.push('x');
    }
    assert_eq!(refusal(&legacy, &store(&stranger)), Refusal::NoNodes);
    // From before there were members.
    let mut all = legacy;
    all.members = Members {
        ids: vec![1, 2, 3, 4],
        ..Members::default()
    };
    let fifth = encode(&node(5, 1)).unwrap();
    let joined = with(store(&all), "members", None);
    let joined = with(joined, "nodes/n5", std::str::from_utf8(&fifth).ok());
    let (now, problems) = accepted(&all, &joined);
    assert_eq!((now.members.ids, problems.len()), (vec![1, 2, 3, 4, 5], 0));
}

#[test]
fn a_drop_that_was_taken_back_does_not_return_with_an_old_copy() {
    let mut back = known();
    back.keyspaces[0].undrops = 1;
    // The copy was made between drop and undrop; others wrote to it until it was past what was seen.
    let mut old = known();
    old.keyspaces.remove(0);
    old.dropped.push(a_drop(1, "a", true));
    old.revision = 90;
    let shrunk = refusal(&back, &store(&old.clone().ordered()));
    assert!(matches!(shrunk, Refusal::Shrunk { .. }), "{shrunk:?}");
    // Or before the drop.
    let mut earlier = known();
    earlier.revision = 90;
    let shrunk = refusal(&back, &store(&earlier));
    assert!(matches!(shrunk, Refusal::Shrunk { .. }), "{shrunk:?}");
    // One that was dropped again after it was taken back, or has been taken back once more.
    for dropped in &mut old.dropped {
        dropped.keyspace.undrops = 1;
    }
    let (now, _) = accepted(&back, &store(&old.ordered()));
    assert!(now.keyspace(1).is_none() && now.dropped(1).unwrap().purged);
    let mut twice = back.clone();
    twice.keyspaces[0].undrops = 2;
    twice.revision = 90;
    let (now, _) = accepted(&back, &store(&twice));
    assert_eq!(now.keyspace(1).unwrap().undrops, 2);
}

fn users(changes: u64, closed: bool, names: &[&str]) -> Access {
    let user = crate::access::User {
        roles: BTreeMap::from([("*".to_owned(), crate::access::Role::Admin)]),
        password: Some(crate::access::Hash::new("$argon2id$")),
        tokens: Vec::new(),
        made_ms: 0,
        made_by: "x".to_owned(),
        changed_ms: 0,
        changed_by: "x".to_owned(),
    };
    Access {
        changes,
        closed,
        users: names
            .iter()
            .map(|name| ((*name).to_owned(), user.clone()))
            .collect(),
    }
}

/// What the store says of users, beside what is known of them: nothing that is missing, unreadable
/// or old lets anybody in.
#[test]
fn users_are_never_lost_and_never_come_back() {
    const NOBODY: &[&str] = &[];
    let a = || Some(encode(&users(3, true, &["a"])).unwrap());
    let newer = Some(br#"{"changes":9,"closed":false,"users":{},"more":1}"#.to_vec());
    let bad = || Some(b"{".to_vec());
    let off = |changes| Some(encode(&users(changes, false, NOBODY)).unwrap());
    let known_a = || users(3, true, &["a"]);
    let none = Access::default;
    // Known, in the store, marked: closed, who, and how many lines are told.
    for (case, known_users, object, marked, closed, who, told) in [
        ("never heard of", none(), None, false, false, NOBODY, 0),
        ("the first", none(), a(), true, true, &["a"][..], 0),
        ("deleted", known_a(), None, true, true, &["a"], 1),
        ("deleted, mark too", known_a(), None, false, true, &["a"], 1),
        (
            "deleted before this node came",
            none(),
            None,
            true,
            true,
            NOBODY,
            2,
        ),
        ("bad", known_a(), bad(), true, true, &["a"], 1),
        ("bad, never known", none(), bad(), true, true, NOBODY, 1),
        (
            "bad, never known, no mark",
            none(),
            bad(),
            false,
            true,
            NOBODY,
            1,
        ),
        (
            "of a newer version",
            known_a(),
            newer.clone(),
            true,
            true,
            &["a"],
            1,
        ),
        ("newer, never known", none(), newer, false, true, NOBODY, 1),
        ("disabled", known_a(), off(4), false, false, NOBODY, 0),
        ("disabled, marked", known_a(), off(4), true, true, NOBODY, 1),
        ("mark gone", known_a(), a(), false, true, &["a"], 0),
    ] {
        let mut known = known();
        known.access = known_users;
        let mut store = store(&known);
        let mut cluster = Cluster::new(OWN);
        cluster.closed = marked;
        store.insert(CLUSTER, encode(&cluster).unwrap(), 20);
        if let Some(object) = object {
            store.insert(ACCESS, object, 20);
        }
        let Verdict::Accept(now, problems) = accept(&known, None, &store) else {
            panic!("{case}: refused");
        };
        let names: Vec<&str> = now.access.users.keys().map(String::as_str).collect();
        assert_eq!((now.access.closed, &*names), (closed, who), "{case}");
        assert_eq!(problems.len(), told, "{case}: {problems:?}");
    }
}

#[test]
fn an_older_number_of_users_is_an_old_copy() {
    let mut known = known();
    known.access = users(5, true, &["a"]);
    let mut store = store(&known);
    store.insert(
        ACCESS,
        encode(&users(4, true, &["a", "dropped"])).unwrap(),
        20,
    );
    assert!(matches!(
        accept(&known, None, &store),
        Verdict::Refuse(Refusal::Shrunk { .. })
    ));
    // One that was put back is believed, but not in this.
    let mut back = Cluster::new(OWN);
    back.restores = 1;
    store.insert(CLUSTER, encode(&back).unwrap(), 20);
    let Verdict::Accept(now, problems) = accept(&known, None, &store) else {
        panic!("refused");
    };
    assert_eq!(now.access, users(5, true, &["a"]));
    assert_eq!(problems.len(), 1, "{problems:?}");
}
