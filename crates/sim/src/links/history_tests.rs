use super::*;

const APART_MS: u64 = 100;

/// A write of key 0: its cluster, whether it is a delete, when it began and ended.
fn write(cluster: usize, is_delete: bool, start_ms: u64, outcome: Outcome) -> ClientWrite {
    ClientWrite {
        cluster,
        key: 0,
        is_delete,
        start_ms,
        outcome,
    }
}

// Writes, the clusters that reach cluster 0, its value, whether that may be.
type Case = (
    &'static str,
    Vec<ClientWrite>,
    &'static [usize],
    Option<usize>,
    bool,
);

#[test]
fn values_are_those_of_writes_that_nothing_newer_has_overwritten() {
    use Outcome::{Acknowledged, Unknown};
    let put = |cluster, start, end| write(cluster, false, start, Acknowledged(end));
    let maybe = |cluster, start, end| write(cluster, false, start, Unknown(end));
    let delete = |cluster, start, end| write(cluster, true, start, Acknowledged(end));
    let cases: [Case; 15] = [
        ("nothing", vec![], &[0], None, true),
        ("a value from nowhere", vec![], &[0], Some(0), false),
        ("one write", vec![put(0, 10, 20)], &[0], Some(0), true),
        ("it is lost", vec![put(0, 10, 20)], &[0], None, false),
        (
            "perhaps it was none",
            vec![maybe(0, 10, 20)],
            &[0],
            None,
            true,
        ),
        (
            "an older one",
            vec![put(0, 10, 20), put(0, 30, 40)],
            &[0],
            Some(0),
            false,
        ),
        (
            "both at a time",
            vec![put(0, 10, 35), put(0, 30, 40)],
            &[0],
            Some(0),
            true,
        ),
        (
            "perhaps newer",
            vec![put(0, 10, 20), maybe(0, 30, 40)],
            &[0],
            Some(0),
            true,
        ),
        (
            "it is back",
            vec![put(0, 10, 20), delete(0, 30, 40)],
            &[0],
            Some(0),
            false,
        ),
        (
            "deleted",
            vec![put(0, 10, 20), delete(0, 30, 40)],
            &[0],
            None,
            true,
        ),
        (
            "written since",
            vec![delete(0, 10, 20), put(0, 30, 40)],
            &[0],
            None,
            false,
        ),
        (
            "clocks of another cluster may be apart",
            vec![put(0, 10, 20), put(1, 120, 130)],
            &[0, 1],
            Some(0),
            true,
        ),
        (
            "but not so far",
            vec![put(0, 10, 20), put(1, 121, 130)],
            &[0, 1],
            Some(0),
            false,
        ),
        (
            "a delete of another may have come, perhaps with a later time",
            vec![put(0, 10, 20), delete(1, 5, 15)],
            &[0],
            None,
            true,
        ),
        (
            "it does not send here",
            vec![put(0, 10, 20), put(1, 121, 130)],
            &[0],
            Some(0),
            true,
        ),
    ];
    for (what, writes, reaching, value, may_be) in cases {
        let values: Values = value.map(|number| (0, number)).into_iter().collect();
        let checked = check(&writes, (0, reaching), 1, &values, APART_MS);
        assert_eq!(checked.is_ok(), may_be, "{what}: {checked:?}");
    }
}
