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
    let rebuilt = again.with_views(&ViewChange::Rebuild("b".into())).unwrap();
    assert_eq!(named(&rebuilt, "b"), Some(4));
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
    for change in [
        ViewChange::Drop("b".into()),
        ViewChange::Rebuild("b".into()),
    ] {
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
