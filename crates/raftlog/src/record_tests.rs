#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn entries(first: u64, terms: &[u64]) -> Vec<Entry> {
    let numbered = terms.iter().zip(first..);
    let entry = |(term, index): (&u64, u64)| {
        let mut entry = Entry {
            index,
            term: *term,
            data: vec![*term as u8; (index % 5) as usize],
            ..Entry::default()
        };
        if index % 3 == 0 {
            entry.set_entry_type(EntryType::EntryConfChangeV2);
        }
        entry
    };
    numbered.map(entry).collect()
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(
        group: u64,
        begin in proptest::option::of((0..u64::MAX, 0..u64::MAX)),
        vote in proptest::option::of((0..u64::MAX, 0..u64::MAX)),
        commit: Option<u64>,
        first in 1..1_000_u64,
        terms in proptest::collection::vec(1..9_u64, 0..6),
    ) {
        let record = Record {
            group,
            begin: begin.map(|(index, term)| Position { index, term }),
            vote: vote.map(|(term, vote)| Vote { term, vote }),
            commit,
            entries: entries(first, &terms),
        };
        let bytes = record.encode();
        prop_assert_eq!(Record::decode(bytes.clone()).unwrap(), record);
        for end in 1..bytes.len() {
            // Cut short it is another record, or none; never a panic.
            let _ = Record::decode(bytes.slice(..end));
        }
    }
}

#[test]
fn strange_bytes_are_refused() {
    assert!(Record::decode(Bytes::new()).is_err());
    assert!(Record::decode(Bytes::from_static(&[8, 0, 0, 0, 0])).is_err());
    let mut bytes = BytesMut::from(&[0, 1, 0, 0, 0, 0, 0, 0, 0][..]);
    bytes.put_u64_le(1);
    bytes.put_u64_le(1);
    bytes.put_u8(0);
    bytes.put_u32_le(9);
    let error = Record::decode(bytes.freeze()).unwrap_err();
    assert!(error.to_string().contains("9 bytes announced"), "{error}");
}
