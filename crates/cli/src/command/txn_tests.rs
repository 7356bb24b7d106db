#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_script_is_cut_at_its_commits() {
    let script = "# moves\nget bank ann\nput bank ann 90 and more\n\n  check bank bob 1\ncommit\n\
        delete bank x\ncheck-absent bank y\ncommit \n";
    let all = parse(script).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].len(), 3);
    assert_eq!(all[0][0].does, Does::Get);
    assert_eq!(all[0][1].does, Does::Put("90 and more".to_owned()));
    assert_eq!(
        (all[0][2].line, &all[0][2].does),
        (5, &Does::Check(Some("1".to_owned())))
    );
    assert_eq!(all[1][1].does, Does::Check(None));
    assert_eq!(parse("").unwrap().len(), 0);
    // An empty value is one.
    assert_eq!(
        parse("put bank k \ncommit").unwrap()[0][0].does,
        Does::Put(String::new())
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (script, why) in [
        ("get bank\ncommit", "line 1: get takes a keyspace and a key"),
        (
            "\nput bank k\ncommit",
            "line 2: put takes a keyspace, a key and a value",
        ),
        ("get bank k v\ncommit", "line 1: get takes"),
        ("got bank k\ncommit", "line 1: \"got\" is no statement"),
        ("commit\nget bank k", "line 2: no commit follows"),
        ("get  k\ncommit", "line 1: get takes"),
    ] {
        let error = parse(script).unwrap_err();
        assert!(error.starts_with(why), "{script:?}: {error}");
    }
}
