#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn pages_and_heads_come_back_from_their_bytes() {
    let mut aggregate = Aggregate::default();
    aggregate.add(Reduce::Sum, 2.5);
    let page = Page {
        pieces: vec![
            Piece {
                range: 0,
                at: Bytes::from_static(b"a"),
                what: What::Row(Bytes::from_static(b"null")),
            },
            Piece {
                range: 3,
                at: Bytes::new(),
                what: What::Group(Box::new(aggregate)),
            },
        ],
        is_last: true,
    };
    let bytes = page.encode(Some(Reduce::Sum));
    assert_eq!(
        Page::decode(Some(Reduce::Sum), bytes.clone()),
        Ok(page.clone())
    );
    assert!(Page::decode(None, bytes.clone()).is_err());
    assert!(Page::decode(Some(Reduce::Sum), bytes.slice(..bytes.len() - 1)).is_err());
    for token in [
        None,
        Some(Token::new(1, 2, None, [(3, Default::default())])),
    ] {
        for page in [None, Some(page.clone())] {
            let token = token.clone();
            let why_not = "it is being built".to_owned();
            let head = Head {
                token,
                rows: 7,
                why_not,
                page,
            };
            let bytes = head.encode(Some(Reduce::Sum));
            assert_eq!(Head::decode(Some(Reduce::Sum), bytes), Ok(head));
        }
    }
}
