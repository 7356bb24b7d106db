#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn requests_are_read_as_they_were_written() {
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    let all = [
        Asked::Write(7, bytes("command")),
        Asked::Read(7, bytes("key")),
        Asked::Page(7, bytes(""), None),
        Asked::Page(7, bytes("a"), Some(bytes("b"))),
        Asked::Leads(9),
    ];
    for asked in all {
        let mut encoded = asked.encode();
        let kind = encoded.get_u8();
        assert_eq!(Asked::decode(kind, encoded).unwrap(), asked);
    }
    assert!(Asked::decode(99, Bytes::from_static(&[0; 9])).is_err());
    assert!(Asked::decode(PAGE, Bytes::from_static(&[0, 0, 0, 0, 9, 0, 0, 0])).is_err());
}

#[test]
fn answers_are_read_as_they_were_written() {
    let value = Bytes::from_static(b"value");
    let all = [
        Answer::Done(Version(5)),
        Answer::ConditionFailed(None),
        Answer::ConditionFailed(Some(Version(6))),
        Answer::TooLate(Version(7)),
        Answer::NotLeader(None),
        Answer::NotLeader(Some(3)),
        Answer::Busy,
        Answer::Clock,
        Answer::Unknown,
        Answer::Failed("why".to_owned()),
        Answer::Value(None),
        Answer::Value(Some((Version(8), value.clone()))),
        Answer::Page(vec![], None),
        Answer::Page(
            vec![(value.clone(), Version(9), value.clone())],
            Some(value),
        ),
    ];
    for answer in all {
        assert_eq!(Answer::decode(answer.encode()).unwrap(), answer);
    }
    assert!(Answer::decode(Bytes::new()).is_err());
    assert!(Answer::decode(Bytes::from_static(&[1, 2])).is_err());
}
