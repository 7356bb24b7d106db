use super::*;

#[test]
fn waits_are_read_as_people_write_them() {
    for (text, ms) in [
        ("30s", Some(30_000)),
        ("30", Some(30_000)),
        ("0", Some(0)),
        ("250ms", Some(250)),
        ("2min", Some(120_000)),
        ("2h", None),
        ("", None),
        ("s", None),
        ("-1", None),
        ("3601", None),
        ("99999999999999999999", None),
    ] {
        let read = duration(text).ok();
        assert_eq!(read, ms.map(Duration::from_millis), "{text}");
    }
}
