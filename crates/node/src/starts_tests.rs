#![allow(clippy::unwrap_used)]
use super::Starts;

/// A start as a directory sees it: its number, whether the store counted it, whether its shards opened;
/// and what the shards are told is the start before.
type Seen = (u32, bool, bool, u32);

#[test]
fn starts_that_were_missed_are_told_until_they_are_noted() {
    let table: &[(&str, &[Seen])] = &[
        ("new, and again", &[(1, true, true, 0), (2, true, true, 1)]),
        (
            "new in a cluster that knows an earlier life",
            &[(7, true, true, 0), (8, true, true, 7)],
        ),
        (
            "a start that fails is known all the same",
            &[(1, true, true, 0), (2, true, false, 1), (3, true, true, 2)],
        ),
        (
            "put back as an older copy",
            &[(3, true, true, 0), (9, true, true, 3), (10, true, true, 9)],
        ),
        (
            "the same, and the first starts after it fail",
            &[
                (3, true, true, 0),
                (9, true, false, 3),
                (10, true, false, 3),
                (11, true, true, 3),
                (12, true, true, 11),
            ],
        ),
        (
            "the same, the second of them without the store",
            &[
                (3, true, true, 0),
                (9, true, false, 3),
                (400, false, true, 3),
            ],
        ),
        (
            "numbers left out without the store are no starts",
            &[
                (3, true, true, 0),
                (400, false, true, 399),
                (401, true, true, 400),
            ],
        ),
        (
            "put back twice before a start succeeds",
            &[(3, true, true, 0), (9, true, false, 3), (12, true, true, 3)],
        ),
    ];
    for (name, starts) in table {
        let mut known = Starts::default();
        for (incarnation, counted, opens, before) in *starts {
            // As read from the disk.
            let json = serde_json::to_string(&known).unwrap();
            known = serde_json::from_str(&json).unwrap();
            assert_eq!(known.begin(*incarnation, *counted), *before, "{name}");
            if *opens {
                known.noted();
            }
        }
    }
}

#[test]
fn a_directory_of_an_earlier_version_is_read() {
    let starts: Starts = serde_json::from_str(r#"{"incarnation": 4}"#).unwrap();
    assert_eq!(starts.last(), 4);
    assert_eq!(
        serde_json::to_string(&starts).unwrap(),
        r#"{"incarnation":4}"#
    );
}
