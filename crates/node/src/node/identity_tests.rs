#![allow(clippy::unwrap_used, clippy::disallowed_methods)]
use super::*;

fn identity(name: &str, path: PathBuf) -> Identity {
    Identity {
        name: name.to_owned(),
        shards: 1,
        id: 7,
        starts: Starts::default(),
        cluster: Some("c0ffee".to_owned()),
        left_out: None,
        path,
    }
}

#[test]
fn on_a_full_disk_the_file_is_written_in_its_own_room() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("node.json");
    let mut identity = identity("n1", path.clone());
    identity.save().unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    identity.starts.begin(41, true);
    identity
        .overwrite(&path.with_extension("json.new"))
        .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), before);
    let read = found(home.path()).unwrap();
    assert_eq!((read.id, read.starts.last()), (7, 41));
}

#[test]
fn what_may_be_torn_is_not_written_over() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("node.json");
    let mut identity = identity(&"n".repeat(600), path.clone());
    identity.save().unwrap();
    identity.starts.begin(41, true);
    let refused = identity.overwrite(&path.with_extension("json.new"));
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(found(home.path()).unwrap().starts.last(), 0);
}
