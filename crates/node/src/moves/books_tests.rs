use super::*;

fn progress(next: Option<&str>) -> Progress {
    Progress {
        froms: Froms(1),
        next: next.map(|next| Bytes::copy_from_slice(next.as_bytes())),
    }
}

#[test]
fn of_a_tail_counts_what_is_of_keys_copied_already() {
    // First key not copied, whether anything is, key of an entry, whether the entry is needed.
    let cases = [
        ("nothing is copied", Some(""), false, "a", false),
        ("a key before", Some("m"), true, "a", true),
        ("the last before", Some("m"), true, "lzzz", true),
        ("the first to come", Some("m"), true, "m", false),
        ("a longer one", Some("m"), true, "m0", false),
        ("a key beyond", Some("m"), true, "z", false),
        ("all is copied", None, true, "z", true),
    ];
    for (what, next, is_begun, key, is_copied) in cases {
        let progress = progress(next);
        assert_eq!(progress.is_begun(), is_begun, "{what}");
        let is = progress.is_copied(key.as_bytes(), Sabotage::None);
        assert_eq!(is, is_copied, "{what}");
    }
}

#[test]
fn a_log_is_needed_from_what_may_be_lost_on() {
    // Needed from, read up to before, synced there, needed from then on.
    let cases = [
        ("never asked", None, 0, None, None),
        ("of a build that says nothing", Some(10), 50, None, Some(10)),
        (
            "all that was read is synced",
            Some(10),
            50,
            Some(80),
            Some(50),
        ),
        ("just so", Some(10), 50, Some(49), Some(50)),
        ("some of it is not", Some(10), 50, Some(30), Some(31)),
        (
            "read again after a restart",
            Some(40),
            40,
            Some(60),
            Some(40),
        ),
        (
            "it tells less than before",
            Some(40),
            50,
            Some(20),
            Some(40),
        ),
    ];
    for (what, begin, next, synced, expected) in cases {
        let mut source = Source {
            begin,
            next,
            synced,
            ..Source::default()
        };
        source.keep();
        assert_eq!(source.begin, expected, "{what}");
    }
}
