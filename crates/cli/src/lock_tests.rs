#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_directory_is_locked_once_and_free_after() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("a/b");
    let lock = DirectoryLock::take(&data).unwrap();
    let line = DirectoryLock::take(&data).err().unwrap().to_string();
    assert!(line.contains("in use by another dunlin"), "{line}");
    drop(lock);
    DirectoryLock::take(&data).unwrap();
}

#[test]
fn a_directory_that_cannot_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let line = DirectoryLock::take(&file).err().unwrap().to_string();
    assert!(line.starts_with(&file.display().to_string()), "{line}");
}
