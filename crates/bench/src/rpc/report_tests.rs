use super::*;
use crate::host::machine::Machine;

fn report(figures: impl Fn(Calls) -> CallFigures) -> Rpc {
    let rows = super::super::case::cases().into_iter();
    Rpc {
        origin: Origin {
            date_utc: "2026-01-02".to_owned(),
            command_line: "dunlin-bench rpc".to_owned(),
            quick: false,
            machine: Machine::describe(Path::new("/")),
            revision: None,
            window_s: 1.5,
        },
        rows: rows
            .map(|case| CallRuns {
                case,
                runs: vec![figures(case); 3],
            })
            .collect(),
    }
}

fn figures(case: Calls) -> CallFigures {
    let (per_s, p50_us) = match case.caller {
        Caller::Dunlin => (400_000.0, 45.0),
        Caller::Tonic => (90_000.0, 200.0),
        Caller::PingPong => (40_000.0, 25.0),
        Caller::Stream => (900_000.0, 30.0),
    };
    CallFigures {
        per_s,
        p50_us,
        ..CallFigures::default()
    }
}

#[test]
fn rates_are_compared_with_tonic_and_latencies_with_a_ping_pong() {
    let report = report(figures);
    let targets = evaluate(&report);
    assert_eq!(
        targets.iter().map(|of| of.met).collect::<Vec<_>>(),
        [Some(true); 2]
    );
    assert_eq!(targets[0].measured, "1.80");
    assert_eq!(targets[1].measured, "4.44 times, 400000/s");
    let text = render(&report);
    assert!(table(&report).contains(" 4.44 |"), "{text}");
    assert!(text.contains("paper 003"), "{text}");
}

#[test]
fn a_missed_target_is_named() {
    let slow = |case| CallFigures {
        p50_us: 50.0,
        per_s: 200_000.0,
        ..figures(case)
    };
    let report = report(|case| match case.caller {
        Caller::Dunlin => slow(case),
        _ => figures(case),
    });
    let reached: Vec<Option<bool>> = evaluate(&report).iter().map(|of| of.met).collect();
    assert_eq!(reached, [Some(false); 2]);
}
