use super::*;

#[test]
fn figures_are_of_all_transactions() {
    let took = (1..=100).map(Duration::from_micros).collect();
    let figures = figures(took, Duration::from_secs(2), Duration::from_millis(10));
    assert_eq!(figures.per_s, 50.0);
    assert!((figures.p50_us - 51.0).abs() < 1e-6, "{figures:?}");
    assert!((figures.p99_us - 100.0).abs() < 1e-6, "{figures:?}");
    assert!((figures.server_us - 100.0).abs() < 1e-6, "{figures:?}");
}

#[test]
fn every_stage_has_the_same_three_ways_to_write() {
    for stage in [Stage::Memory, Stage::Disk, Stage::Three] {
        let rungs: Vec<Rung> = steps(stage).iter().map(|step| step.rung).collect();
        for rung in [Rung::Direct, Rung::One, Rung::Four] {
            assert!(rungs.contains(&rung), "{stage:?} {rung:?}");
        }
    }
}

#[test]
fn every_case_of_several_has_postgres_beside_it() {
    let all = flights();
    for flight in &all {
        let other = Flight {
            store: FlightServer::Postgres,
            ..*flight
        };
        assert!(all.contains(&other), "{flight:?}");
    }
}

#[test]
fn keys_are_of_the_ranges_that_are_said() {
    for first in [0, 3, SECOND_RANGE, case::KEYS - 1] {
        for second in [0, 3, SECOND_RANGE + 1, case::KEYS - 1] {
            let (read, writes) = flight::Mix::TwoRanges.keys(first, second);
            let split = key(SECOND_RANGE);
            assert!(read < split && writes[0] == read && writes[1] >= split);
            let (read, writes) = flight::Mix::Another.keys(first, second);
            assert_ne!(read, writes[0]);
            let (read, writes) = flight::Mix::Own.keys(first, second);
            assert_eq!(writes, [read]);
        }
    }
}
