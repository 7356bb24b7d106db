#![allow(clippy::unwrap_used)]
use super::*;

fn transport(path: Option<&Path>) -> HttpTransport {
    HttpTransport {
        logins: path.map(Path::to_owned),
        clients: RefCell::default(),
        read: Cell::new(None),
    }
}

#[test]
fn logins_are_read_again_when_their_file_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logins");
    let text =
        "[b]\nuser = \"link\"\npassword = \"p\"\n[both]\ntoken = \"t\"\nuser = \"u\"\n[none]\n";
    std::fs::write(&path, text).unwrap();
    let transport = transport(Some(&path));
    let servers = ["http://127.0.0.1:1".to_owned()];
    let client = |login| transport.client(&servers, login).map(drop);
    assert_eq!(client(Some("b")), Ok(()));
    assert_eq!(client(Some("none")), Ok(()));
    assert_eq!(client(None), Ok(()));
    assert_eq!(transport.clients.borrow().len(), 3);
    let wrong = client(Some("both")).unwrap_err();
    assert!(wrong.contains("either a token"), "{wrong}");
    let missing = client(Some("c")).unwrap_err();
    assert!(missing.contains("no login c"), "{missing}");
    std::fs::write(&path, "[c]\ntoken = \"t\"\n").unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(later).unwrap();
    assert_eq!(client(Some("c")), Ok(()));
    assert!(client(Some("b")).is_err(), "it is gone");
    std::fs::write(&path, "[c]\nsecret = 1\n").unwrap();
    file.set_modified(later + Duration::from_secs(5)).unwrap();
    let damaged = client(Some("c")).unwrap_err();
    assert!(damaged.contains("cannot be read"), "{damaged}");
}

#[test]
fn a_login_needs_a_file() {
    let servers = ["http://127.0.0.1:1".to_owned()];
    let error = transport(None).client(&servers, Some("b")).map(drop);
    assert!(error.unwrap_err().contains("--link-logins"));
}
