#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use super::*;

const ONE: &str = "one-one-one-one-one\n";
const TWO: &str = "two-two-two-two-two\none-one-one-one-one\n";

#[test]
fn it_is_read_again_when_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    fs::write(&path, ONE).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let (mut file, secrets, warning) = SecretFile::open(&path).unwrap();
    assert_eq!((secrets.all().len(), warning), (1, None));
    assert!(matches!(file.look(), Read::Same));
    fs::write(&path, TWO).unwrap();
    assert!(matches!(file.look(), Read::Changed(secrets) if secrets.all().len() == 2));
    assert!(matches!(file.look(), Read::Same));
    fs::write(&path, "short\n").unwrap();
    let Read::Wrong(line) = file.look() else {
        panic!("a short secret is taken");
    };
    assert!(line.contains("line 1 holds 5 bytes"), "{line}");
    assert!(matches!(file.look(), Read::Same), "told twice");
    fs::write(&path, TWO).unwrap();
    assert!(
        matches!(file.look(), Read::Same),
        "the secrets are those from before"
    );
    fs::remove_file(&path).unwrap();
    assert!(matches!(file.look(), Read::Wrong(line) if line.contains("cannot be read")));
}

#[test]
fn errors_are_one_line_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let missing = SecretFile::open(&dir.path().join("none")).unwrap_err();
    assert!(
        missing.contains("none cannot be read: No such file"),
        "{missing}"
    );
    let path = dir.path().join("empty");
    fs::write(&path, "\n").unwrap();
    let empty = SecretFile::open(&path).unwrap_err();
    assert!(
        empty.ends_with("empty holds no secret; make one: openssl rand -hex 32"),
        "{empty}"
    );
    fs::write(&path, [b'a'; 20_000]).unwrap();
    let large = SecretFile::open(&path).unwrap_err();
    assert!(large.contains("is larger than"), "{large}");
    for other in [Path::new("/dev/zero"), dir.path()] {
        let refused = SecretFile::open(other).unwrap_err();
        assert!(refused.contains("is no regular file"), "{refused}");
    }
}

#[test]
fn a_file_that_all_may_read_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    fs::write(&path, ONE).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, _, warning) = SecretFile::open(&path).unwrap();
    assert!(warning.unwrap().contains("chmod 600"));
}
