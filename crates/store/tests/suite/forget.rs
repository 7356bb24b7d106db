//! Forgetting single records.

use crate::common::*;
use bytes::Bytes;

#[test]
fn what_is_named_goes_unless_it_has_changed_since() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries = [
        put("gone", "v", stamp(1, 1)),
        put("newer", "w", stamp(9, 1)),
        put("other", "x", stamp(3, 1)),
    ];
    store.apply(&entries, 1).unwrap();
    // Read once, so that they are among the rows read lately.
    assert!(
        ["gone", "newer", "other"]
            .iter()
            .all(|k| text(&store, k).is_some())
    );
    let named = ["gone", "newer", "absent"].map(|key| (Bytes::from(key), stamp(1, 1)));
    assert_eq!(store.forget(KEYSPACE, 0, &named).unwrap(), 1);
    assert_eq!(text(&store, "gone"), None);
    assert!(text(&store, "newer").is_some() && text(&store, "other").is_some());
    // Over a flush, too, and with an older record of the key in a file below.
    flush(&store);
    assert_eq!(
        store
            .forget(KEYSPACE, 0, &[("other".into(), stamp(3, 1))])
            .unwrap(),
        1
    );
    flush(&store);
    drop(store);
    let store = open(dir.path());
    assert_eq!(text(&store, "other"), None);
    // An older entry that comes again is taken: nothing remembers that it was dropped.
    store.apply(&[put("other", "x", stamp(3, 1))], 2).unwrap();
    assert!(text(&store, "other").is_some());
}
