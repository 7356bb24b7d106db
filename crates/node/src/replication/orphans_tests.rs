use super::*;

const WRITER: Origin = Origin::new(3, 0, 2);

fn upto(version: u64) -> Vector {
    [(WRITER, Version(version))].into_iter().collect()
}

#[test]
fn only_what_no_vector_names_and_nobody_is_bringing_is_sent_on() {
    // What came as copies, the same a look ago, what any vector names, the greatest that is taken,
    // and from where to where it is sent on.
    let cases = [
        ("named by another", 5, 5, 5, 9, None),
        ("named beyond", 5, 5, 8, 9, None),
        ("its writer lost it", 5, 5, 3, 9, Some((3, 5))),
        ("its writer never said anything", 5, 5, 0, 9, Some((0, 5))),
        ("it has only just come", 5, 0, 3, 9, None),
        ("more has come since", 5, 4, 3, 9, None),
        ("stamped too far ahead", 5, 5, 3, 4, None),
        ("nothing came", 0, 0, 3, 9, None),
    ];
    for (what, pending, before, named, limit, expected) in cases {
        let found = orphans(&upto(pending), &upto(before), &upto(named), Version(limit));
        let found = found.get(&WRITER).map(|r| (r.after.0, r.up_to.0));
        assert_eq!(found, expected, "{what}");
    }
}
