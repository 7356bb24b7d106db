#![allow(clippy::unwrap_used)]

use dunlin_entry::{Origin, Version};

use super::*;

#[test]
fn what_is_wanted_comes_back_from_its_bytes() {
    let vector: Vector = [(Origin(3), Version(4))].into_iter().collect();
    for group in [
        None,
        Some(Group::All),
        Some(Group::Exact),
        Some(Group::Level(7)),
    ] {
        for targets in [
            None,
            Some(vec![]),
            Some(vec![(1, vector.clone()), (2, Vector::new())]),
        ] {
            let wanted = Wanted {
                keyspace: 1,
                view: 2,
                partitions: vec![1, 2, 300],
                ranges: vec![
                    Range {
                        lower: b"a".to_vec(),
                        upper: Vec::new(),
                    },
                    Range {
                        lower: Vec::new(),
                        upper: b"b".to_vec(),
                    },
                ]
                .into(),
                first_range: 0,
                has_more: false,
                descending: group.is_none(),
                group,
                by_keys: true,
                rows_max: 5,
                targets,
            };
            let bytes = wanted.encode();
            assert_eq!(Wanted::decode(bytes.clone()), Ok(wanted));
            assert!(Wanted::decode(bytes.slice(..20)).is_err());
        }
    }
}
