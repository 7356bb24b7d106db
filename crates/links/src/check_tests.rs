#![allow(clippy::unwrap_used)]
use super::*;

fn target(number: u128) -> LinkTarget {
    LinkTarget {
        cluster: format!("{:032x}", number << 114 | 77),
        keyspace_id: 1,
        mode: "quorum".to_owned(),
        tombstone_grace_s: 86_400,
        max_body_bytes: 1_000,
        clock_ms: 1_000_000,
        clock_bound_ms: 10_000,
        is_empty: true,
        homes: Vec::new(),
    }
}

#[test]
fn each_rule_has_a_line() {
    let (ours, theirs) = (target(5), target(7));
    assert_eq!(check(&ours, &theirs, 86_400), Ok(()));
    // Here it may hold what it likes, and take less.
    let full = LinkTarget {
        is_empty: false,
        max_body_bytes: 10,
        ..ours.clone()
    };
    assert_eq!(check(&full, &theirs, 86_400), Ok(()));
    type Change<'c> = &'c dyn Fn(&mut LinkTarget, &mut LinkTarget);
    let cases: [(&str, Change<'_>); 10] = [
        ("very cluster", &|a, b| b.cluster.clone_from(&a.cluster)),
        ("same number", &|_, b| {
            b.cluster = format!("{:032x}", 5u128 << 114)
        }),
        ("same number", &|_, b| b.cluster = "none".to_owned()),
        ("here is of mode", &|a, _| {
            a.mode = "transactional".to_owned()
        }),
        ("there is of mode", &|_, b| {
            b.mode = "transactional".to_owned()
        }),
        ("here remembers", &|a, _| a.tombstone_grace_s -= 1),
        ("there remembers", &|_, b| b.tombstone_grace_s = 0),
        ("10001 ms apart", &|a, _| a.clock_ms += 10_001),
        ("6000 ms apart", &|a, b| {
            (a.clock_bound_ms, b.clock_ms) = (5_000, b.clock_ms + 6_000)
        }),
        ("raise --max-body", &|_, b| b.max_body_bytes -= 1),
    ];
    for (expected, change) in cases {
        let (mut a, mut b) = (ours.clone(), theirs.clone());
        change(&mut a, &mut b);
        let line = check(&a, &b, 86_400).unwrap_err();
        assert!(line.contains(expected), "{expected}: {line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
