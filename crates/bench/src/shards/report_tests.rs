use super::*;
use crate::cluster::Sync;
use crate::host::machine::Machine;
use crate::load::http::Verb;
use crate::report::samples;
use crate::shards::Case;

fn cell(shards: u16, verb: Verb, rates_per_s: [f64; 3]) -> Cell {
    Cell {
        case: Case {
            sync: Sync::Never,
            verb,
            connections: 8,
            shards,
        },
        runs: rates_per_s.map(|rate| samples::run(8, rate, 20.0)).into(),
    }
}

#[test]
fn a_case_is_compared_with_the_first_number_of_shards_round_by_round() {
    let report = Report {
        date_utc: "2026-11-22".into(),
        command_line: "dunlin-bench shards".into(),
        quick: true,
        machine: Machine::describe(Path::new("/")),
        revision: None,
        dunlin: "dunlin 0".into(),
        value_bytes: 100,
        filled: 1,
        cells: vec![
            cell(1, Verb::Put, [10_000.0, 20_000.0, 40_000.0]),
            cell(2, Verb::Put, [15_000.0, 20_000.0, 80_000.0]),
            cell(1, Verb::Get, [10_000.0; 3]),
            cell(2, Verb::Get, [5_000.0; 3]),
        ],
    };
    let ratios: Vec<_> = report
        .cells
        .iter()
        .map(|cell| ratio(first(&report, cell), cell))
        .collect();
    let spread = |median, min, max| Some(Spread { median, min, max });
    assert_eq!(
        ratios,
        [None, spread(1.5, 1.0, 2.0), None, spread(0.5, 0.5, 0.5)]
    );
    let text = render(&report);
    assert!(text.contains("1.50 (1.00 to 2.00)"), "{text}");
    assert!(text.contains("too short to be quoted"), "{text}");
}
