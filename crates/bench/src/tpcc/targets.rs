//! The targets, and how near they are.

use dunlin_tpcc::input::Mix;

use super::case::{Engine, Medium, Workload};
use super::figures::TpccFigures;
use super::model::{Tpcc, WorkloadRuns};
use crate::report::model::Target;

/// A target that a measured number reaches from below, or from above.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// All targets.
pub fn evaluate(report: &Tpcc) -> Vec<Target> {
    let find = |mix: Mix, warehouses, terminals| {
        let wanted = Workload {
            mix: mix.name(),
            warehouses,
            terminals,
        };
        let mut workloads = report.workloads.iter();
        workloads.find(|of| of.workload == wanted)
    };
    let alone = find(Mix::Paper, 1, 1);
    let hot = find(Mix::Full, 1, 10);
    let wide = find(Mix::Full, 10, 10);
    let beside = |of: Option<&WorkloadRuns>, medium, engine| of?.beside(medium, engine);
    let read_committed = |of, medium| beside(of, medium, Engine::ReadCommitted);
    let serializable = beside(hot, Medium::Memory, Engine::Serializable);
    let refused = hot.and_then(|of| of.dunlin(Medium::Memory));
    let refused = refused.map(|row| row.spread(TpccFigures::refused).median);
    let loaded = alone.and_then(|of| of.loads_per_s.first().copied());
    vec![
        target(
            "mix paper, 1 warehouse, 1 terminal, memory, beside read committed",
            (Bound::AtLeast(2.0), "3"),
            read_committed(alone, Medium::Memory),
        ),
        target(
            "mix full, 1 warehouse, 10 terminals, memory, beside read committed",
            (Bound::AtLeast(1.0), "2"),
            read_committed(hot, Medium::Memory),
        ),
        target(
            "the same on the disk",
            (Bound::AtLeast(1.0), "2"),
            read_committed(hot, Medium::Disk),
        ),
        target(
            "mix full, 10 warehouses, 10 terminals, memory, beside read committed",
            (Bound::AtLeast(2.0), "3"),
            read_committed(wide, Medium::Memory),
        ),
        target(
            "mix full, 1 warehouse, 10 terminals, memory, beside serializable",
            (Bound::AtLeast(3.0), "5"),
            serializable,
        ),
        target(
            "the same: attempts refused for each NewOrder and Payment",
            (Bound::AtMost(0.1), "0.03"),
            refused,
        ),
        target(
            "rows loaded a second, 1 replica, memory",
            (Bound::AtLeast(50_000.0), "100000"),
            loaded,
        ),
    ]
}

fn target(what: &str, (bound, aim): (Bound, &str), measured: Option<f64>) -> Target {
    let wanted = match bound {
        Bound::AtLeast(least) => format!("{least} at least (aim {aim})"),
        Bound::AtMost(most) => format!("{most} at most (aim {aim})"),
    };
    let is_reached = |measured| match bound {
        Bound::AtLeast(least) => measured >= least,
        Bound::AtMost(most) => measured <= most,
    };
    Target {
        what: what.to_owned(),
        wanted,
        measured: measured.map_or_else(String::new, |measured| format!("{measured:.2}")),
        met: measured.map(is_reached),
    }
}
