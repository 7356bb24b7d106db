#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use super::*;

#[test]
fn a_file_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.json");
    assert_eq!(read(&path).unwrap(), None);
    replace(&path, b"one and more").unwrap();
    // What a crash left of an earlier attempt is in nobody's way.
    fs::write(beside(&path, ".new"), b"half").unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!(read(&path).unwrap().unwrap(), b"two");
    assert!(!beside(&path, ".new").exists());
}

#[test]
fn a_replacement_that_fails_leaves_the_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.json");
    replace(&path, b"one").unwrap();
    fs::create_dir(beside(&path, ".new")).unwrap();
    assert!(replace(&path, b"two").is_err());
    assert_eq!(read(&path).unwrap().unwrap(), b"one");
}

#[test]
fn a_lock_has_one_holder_and_makes_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/m.json");
    let held = lock(&path).unwrap();
    assert!(held.is_some());
    assert!(lock(&path).unwrap().is_none());
    drop(held);
    assert!(lock(&path).unwrap().is_some());
}

#[test]
fn only_its_owner_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.json");
    // Both of a version that let others read it.
    fs::write(&path, b"old").unwrap();
    fs::write(beside(&path, ".new"), b"half").unwrap();
    for path in [&path, &beside(&path, ".new")] {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }
    replace(&path, b"new").unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
