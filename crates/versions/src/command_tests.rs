#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_command_is_read_as_it_was_written() {
    let conditions = [
        Condition::None,
        Condition::Absent,
        Condition::Present,
        Condition::Is(Stamp::new(Version(9), Origin(3))),
    ];
    for condition in conditions {
        for kind in [Kind::Put, Kind::Delete] {
            let mut command = Command {
                clock: Version(1),
                deadline: Version(2),
                floor: Version(3),
                condition,
                kind,
                key: Bytes::from_static(b"key"),
                value: Bytes::from_static(b"value"),
            };
            let mut bytes = command.encode();
            assert_eq!(Command::decode(bytes.clone().into()).unwrap(), command);
            Command::set_clock(&mut bytes, Version(77));
            command.clock = Version(77);
            let bytes = Bytes::from(bytes);
            assert_eq!(Command::decode(bytes.clone()).unwrap(), command);
            for end in 0..bytes.len() - 8 {
                assert!(Command::decode(bytes.slice(..end)).is_err(), "{end}");
            }
        }
    }
}
