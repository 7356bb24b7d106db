#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn events_are_read() {
    let change = read(
        br#"{"event":"change","partition":3,"key":"k","value_base64":"/w==","version":"v","rank":"r"}"#,
    );
    let expected = Change {
        key: Bytes::from_static(b"k"),
        value: Some(Bytes::from_static(b"\xff")),
        absent: None,
        version: "v".to_owned(),
        rank: "r".to_owned(),
        partition: 3,
        expires_at_ms: None,
    };
    assert_eq!(change, Ok(Event::Change(expected)));
    let begins =
        read(br#"{"event":"snapshot_begins","token":"t","partition":3,"scope":"complete"}"#);
    let begins = begins.unwrap();
    assert_eq!(begins.token(), Some("t"));
    assert!(matches!(
        begins,
        Event::SnapshotBegins {
            partition: 3,
            is_complete: true,
            ..
        }
    ));
    let end = read(br#"{"event":"end","reason":"until"}"#).unwrap();
    assert_eq!(
        end,
        Event::End {
            reason: "until".to_owned(),
            token: None,
        }
    );
    for wrong in ["", "{}", r#"{"event":"else"}"#, r#"{"event":"change"}"#] {
        assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
