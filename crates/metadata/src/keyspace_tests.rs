#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn with(change: impl FnOnce(&mut KeyspaceSettings)) -> Result<(), String> {
    let mut settings = KeyspaceSettings::default();
    change(&mut settings);
    settings.check().map_err(|error| error.to_string())
}

#[test]
fn settings_within_their_limits_are_accepted() {
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(with(|s| s.replicas = 1), Ok(()));
    assert_eq!(with(|s| s.replicas = 16), Ok(()));
    assert_eq!(with(|s| s.partitions = 1), Ok(()));
    assert_eq!(with(|s| s.partitions = 4096), Ok(()));
    assert_eq!(with(|s| s.tombstone_grace_s = 0), Ok(()));
}

#[test]
fn settings_beyond_them_are_named_with_the_rule() {
    let cases = [
        (
            with(|s| {
                s.mode = Mode::Transactional;
                s.replicas = 2;
            }),
            "replicas 2: must be 1, 3 or 5 in mode transactional",
        ),
        (
            with(|s| {
                s.mode = Mode::Transactional;
                s.sync = Sync::Never;
            }),
            "sync never: must be always in mode transactional",
        ),
        (with(|s| s.replicas = 0), "replicas 0: must be from 1 to 16"),
        (
            with(|s| s.replicas = 17),
            "replicas 17: must be from 1 to 16",
        ),
        (
            with(|s| s.partitions = 0),
            "partitions 0: must be a power of two from 1 to 4096",
        ),
        (
            with(|s| s.partitions = 48),
            "partitions 48: must be a power of two from 1 to 4096",
        ),
        (
            with(|s| s.partitions = 8192),
            "partitions 8192: must be a power of two from 1 to 4096",
        ),
        (
            with(|s| s.sync = Sync::IntervalMs(0)),
            "sync interval:0ms: interval must be 1 to 60000 ms",
        ),
        (
            with(|s| s.tombstone_grace_s = u64::MAX),
            "tombstone_grace_s 18446744073709551615: must be at most 3162240000",
        ),
    ];
    for (result, line) in cases {
        assert_eq!(result, Err(line.to_owned()));
    }
}

#[test]
fn json_leaves_out_what_is_default_and_refuses_what_is_unknown() {
    let settings: KeyspaceSettings =
        serde_json::from_str(r#"{"replicas":2,"sync":"interval:50ms"}"#).unwrap();
    let expected = KeyspaceSettings {
        replicas: 2,
        sync: Sync::IntervalMs(50),
        ..KeyspaceSettings::default()
    };
    assert_eq!(settings, expected);
    assert!(serde_json::from_str::<KeyspaceSettings>(r#"{"replica":2}"#).is_err());
    let json = serde_json::to_string(&settings).unwrap();
    assert_eq!(
        json,
        r#"{"mode":"quorum","replicas":2,"partitions":64,"sync":"interval:50ms","tombstone_grace_s":864000}"#
    );
}

#[test]
fn names_are_short_and_plain() {
    for name in ["a", "A-1_b.c", &"x".repeat(63)] {
        assert!(check_name("keyspace name", name).is_ok(), "{name}");
    }
    for name in ["", "a/b", "a b", "é", "a\n", &"x".repeat(64)] {
        let error = check_name("keyspace name", name).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("keyspace name {name:?}: must be 1 to 63 of A-Z a-z 0-9 . _ -")
        );
    }
}

#[test]
fn a_name_is_no_direction_and_no_flag() {
    let settings = KeyspaceSettings::default();
    for name in ["a.", ".a", "...", "a-", "_-"] {
        assert!(check_keyspace(name, &settings).is_ok(), "{name}");
    }
    for name in [".", "..", "-", "--", "-a"] {
        let error = check_keyspace(name, &settings).unwrap_err().to_string();
        assert!(error.contains("must not be"), "{error}");
    }
}

#[test]
fn a_keyspace_only_grows_wider_and_an_old_record_stays_uncounted() {
    let made = Keyspace::new(1, "a", KeyspaceSettings::default());
    let old = Keyspace {
        widest: 0,
        known: 0,
        ..made.clone()
    };
    // What is asked for -> its width, and the greatest `from` that a write may have of those that
    // follow one another from 1.
    let cases = [
        ((0, 0), 3, 3),
        ((2, 2), 3, 3),
        // Asked for, and not known to all yet.
        ((5, 0), 5, 3),
        ((5, 4), 5, 4),
        ((5, 5), 5, 5),
        // What nobody asked for is not known either.
        ((5, 9), 5, 5),
    ];
    for ((widest, known), width, most) in cases {
        let widened = made.widened(widest, known);
        assert_eq!(widened.width(), width);
        assert!((1..=9).all(|from| widened.takes(from) == (from <= most)));
        assert_eq!(widened.widened(0, 0), widened, "it never shrinks");
        let old = old.widened(widest, known);
        assert_eq!(old.width(), width);
        assert!(!old.is_counted() && old.takes(200));
    }
}
