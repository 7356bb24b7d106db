#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::collate::encode;

#[test]
fn what_is_known_of_a_document_comes_back() {
    let stamp = |n: u64| Stamp::new(Version(n), Origin(n + 1));
    let replaces = |is_mend| {
        Some(Replaces {
            stamp: stamp(9),
            is_mend,
        })
    };
    for replaces in [None, replaces(true), replaces(false)] {
        for flags in 0..16 {
            let known = Known {
                rank: Rank::new(stamp(5), replaces).with_expiry(flags & 4 > 0),
                logged: (flags & 8 > 0).then(|| stamp(7).into()),
                is_delete: flags & 1 > 0,
                has_failed: flags & 2 > 0,
                rows: vec![(b"ab".to_vec(), 0.5), (Vec::new(), -1.0)],
            };
            let summed = known.encode(Some(Reduce::Sum));
            assert_eq!(
                Known::decode(Some(Reduce::Sum), &summed),
                Some(known.clone())
            );
            let back = Known::decode(None, &known.encode(None)).unwrap();
            assert_eq!(
                (back.rank, back.logged, back.rows.len(), back.rows[0].1),
                (known.rank, known.logged, 2, 0.0)
            );
            assert_eq!(
                Known::decode(Some(Reduce::Sum), &summed[..summed.len() - 1]),
                None
            );
        }
    }
}

proptest! {
    #[test]
    fn places_are_in_the_order_of_keys_ids_and_numbers(
        a in ("[ab]{0,2}", prop::collection::vec(0_u8..3, 0..4), 0_u16..300),
        b in ("[ab]{0,2}", prop::collection::vec(0_u8..3, 0..4), 0_u16..300),
    ) {
        let key = |text: &str| encode(&format!("{text:?}")).unwrap();
        let place = |of: &(String, Vec<u8>, u16)| place_of(&key(&of.0), &of.1, of.2);
        let order = (key(&a.0), &a.1, a.2).cmp(&(key(&b.0), &b.1, b.2));
        prop_assert_eq!(place(&a).cmp(&place(&b)), order);
        let at = place(&a);
        let (found, id) = row_of(&at).unwrap();
        prop_assert_eq!((found, &id[..]), (&key(&a.0)[..], &a.1[..]));
    }
}

#[test]
fn keys_of_documents_and_deletes_come_back() {
    let key = of_document(DOCUMENT, 300, b"\x00id");
    assert_eq!(document_of(&key), Some((300, &b"\x00id"[..])));
    let key = of_delete(Version(7), 300, b"id");
    assert_eq!(delete_of(&key), Some((Version(7), 300, &b"id"[..])));
    assert_eq!(after(b"a\xff"), b"b");
    assert!(after(b"\xff").is_empty());
}
