use super::members::Shard;
use super::*;

fn shard(change: u64, parts: u64, bytes: u64) -> Shard {
    Shard {
        shard: format!("n{parts}/0"),
        change,
        parts,
        records: bytes / 10,
        bytes,
        bytes_per_s_max: 1_000,
        latency_us_p99: bytes,
    }
}

fn seen(ms: u64, phase: &str, shards: Vec<Shard>) -> (Duration, Change) {
    let change = Change {
        id: 2,
        phase: phase.into(),
        shards,
    };
    (Duration::from_millis(ms), change)
}

#[test]
fn a_move_is_what_its_shards_copied_until_they_had_all() {
    let step = Step::Drain("n1".into());
    let looks = [
        // One has not heard of this change.
        seen(1_000, "copy", vec![shard(1, 4, 700), shard(2, 0, 0)]),
        seen(1_200, "copy", vec![shard(2, 2, 0), shard(2, 3, 100)]),
        seen(1_400, "copy", vec![shard(2, 2, 200), shard(2, 3, 300)]),
        seen(
            1_600,
            "copy",
            vec![shard(2, 2, 200), shard(2, 3, 400), shard(2, 0, 0)],
        ),
        seen(
            1_800,
            "joint",
            vec![shard(2, 2, 200), shard(2, 3, 400), shard(2, 0, 0)],
        ),
    ];
    let moved = moved(&step, 0.9, 2.0, &looks);
    assert_eq!((moved.step.as_str(), moved.parts), ("drain n1", 5));
    assert_eq!((moved.bytes, moved.records), (600, 60));
    let bytes: Vec<u64> = moved.looks.iter().map(|look| look.bytes).collect();
    assert_eq!(bytes, [0, 100, 500, 600, 600]);
    assert!((moved.duration_s - 1.1).abs() < 1e-9);
    assert!((moved.copy_s - 0.7).abs() < 1e-9, "{}", moved.copy_s);
    assert!((moved.bytes_per_s() - 600.0 / 0.7).abs() < 1e-6);
    let last = &moved.looks[4];
    assert_eq!(last.latency_us_p99, 400);
    let allowed = ["n2/0", "n3/0"].map(|shard| (shard.to_owned(), 1_000));
    assert_eq!(last.bytes_per_s_max, allowed.into());
}

#[test]
fn a_shard_that_is_left_out_or_through_counts_as_it_was() {
    let step = Step::Add("n4".into());
    let through = Shard {
        shard: "n4/0".into(),
        ..shard(2, 0, 0)
    };
    let looks = [
        seen(1_000, "copy", vec![shard(2, 4, 0), shard(2, 2, 100)]),
        seen(1_200, "copy", vec![shard(2, 4, 700), shard(2, 2, 100)]),
        // One does not answer; the other goes by the members that come after.
        seen(1_400, "settle", vec![through]),
    ];
    let moved = moved(&step, 0.9, 2.0, &looks);
    assert_eq!((moved.bytes, moved.records, moved.parts), (800, 80, 6));
    assert!((moved.copy_s - 0.3).abs() < 1e-9, "{}", moved.copy_s);
}

#[test]
fn a_change_must_end_with_the_members_asked_for() {
    let now = Members {
        members: vec!["n2".into(), "n3".into(), "n4".into()],
        spare: vec!["n1".into()],
        change: None,
    };
    assert!(check_ended(&Step::Add("n4".into()), &now).is_ok());
    assert!(check_ended(&Step::Drain("n1".into()), &now).is_ok());
    assert!(check_ended(&Step::Add("n1".into()), &now).is_err());
    assert!(check_ended(&Step::Drain("n2".into()), &now).is_err());
}
