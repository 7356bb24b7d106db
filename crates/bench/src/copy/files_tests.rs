#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn all_that_lies_below_is_counted_and_goes() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("a");
    fs::create_dir_all(directory.join("b/c")).unwrap();
    fs::write(directory.join("one"), [1; 10]).unwrap();
    fs::write(directory.join("b/c/two"), [2; 5]).unwrap();
    assert_eq!(below(&directory).unwrap().len(), 2);
    assert_eq!(bytes(&directory).unwrap(), 15);
    read(&directory).unwrap();
    sync(&directory).unwrap();
    remove(&directory, scratch.path()).unwrap();
    assert!(!directory.exists());
    remove(&directory, scratch.path()).unwrap();
    let missing = bytes(&directory).unwrap_err().to_string();
    assert!(missing.contains("a: No such file"), "{missing}");
    assert!(free_bytes(scratch.path()).unwrap() > 0);
}
