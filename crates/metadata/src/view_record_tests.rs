#![allow(clippy::unwrap_used)]

use super::*;
use crate::keyspace::KeyspaceSettings;

fn view(name: &str) -> ViewRecord {
    ViewRecord {
        id: 0,
        name: name.to_owned(),
        map: "function (doc) { emit(doc.a) }".to_owned(),
        reduce: Some("_count".to_owned()),
        created_ms: 7,
        force: false,
        before: None,
    }
}

fn named(keyspace: &Keyspace, name: &str) -> Option<u32> {
    let mut views = keyspace.views.iter();
    views.find(|view| view.name == name).map(|view| view.id)
}

#[test]
fn an_id_is_never_given_out_again() {
    let keyspace = Keyspace::new(1, "k", KeyspaceSettings::default());
    let one = keyspace.with_views(&ViewChange::Create(view("b"))).unwrap();
    let two = one.with_views(&ViewChange::Create(view("a"))).unwrap();
    assert_eq!((named(&two, "b"), named(&two, "a")), (Some(1), Some(2)));
    assert_eq!(two.views[0].name, "a");
    let dropped = two.with_views(&ViewChange::Drop("a".into())).unwrap();
    let again = dropped.with_views(&ViewChange::Create(view("a"))).unwrap();
    assert_eq!(named(&again, "a"), Some(3));
    let other = ViewRecord {
        map: "function () {}".to_owned(),
        ..view("b")
    };
    let replace = |now: &Keyspace| now.with_views(&ViewChange::Replace(other.clone())).unwrap();
    let rebuilt = replace(&again);
    assert_eq!(named(&rebuilt, "b"), Some(4));
    // The one that is whole is asked until the new one is, even if that is replaced, too.
    for (now, id) in [(&rebuilt, 4), (&replace(&rebuilt), 5)] {
        let b = now.views.iter().find(|view| view.name == "b").unwrap();
        assert_eq!((b.id, b.served().id), (id, 1));
        assert_eq!(b.served().map, view("b").map);
        let late = now
            .with_views(&ViewChange::Settle("b".into(), id - 1))
            .unwrap();
        assert_eq!(late, *now);
        let settled = now.with_views(&ViewChange::Settle("b".into(), id)).unwrap();
        assert_eq!(settled.views[1].served(), settled.views[1]);
        assert_eq!(settled.views[1].id, id);
    }
    let text = serde_json::to_string(&rebuilt).unwrap();
    assert_eq!(serde_json::from_str::<Keyspace>(&text).unwrap(), rebuilt);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let keyspace = Keyspace::new(1, "k", KeyspaceSettings::default());
    let one = keyspace.with_views(&ViewChange::Create(view("a"))).unwrap();
    let refused = |change| one.with_views(&change).unwrap_err();
    let twice = refused(ViewChange::Create(view("a")));
    assert!(matches!(twice, MetadataError::ViewExists { .. }));
    for change in [ViewChange::Drop("b".into()), ViewChange::Replace(view("b"))] {
        assert!(matches!(refused(change), MetadataError::NoView { .. }));
    }
    for name in ["", "-x", "..", "a/b"] {
        let wrong = refused(ViewChange::Create(view(name)));
        assert!(matches!(wrong, MetadataError::Invalid { .. }), "{name:?}");
    }
    let map = "x".repeat(VIEW_SOURCE_BYTES_MAX + 1);
    let long = refused(ViewChange::Create(ViewRecord { map, ..view("c") }));
    assert!(matches!(long, MetadataError::Invalid { .. }));
    let mut full = one.clone();
    for n in 1..VIEWS_MAX {
        full = full
            .with_views(&ViewChange::Create(view(&format!("v{n}"))))
            .unwrap();
    }
    let more = full.with_views(&ViewChange::Create(view("more")));
    assert!(matches!(more, Err(MetadataError::Invalid { .. })));
}
