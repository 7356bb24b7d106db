//! What one round of a case came to.

use std::time::Duration;

use dunlin_tpcc::input::{KINDS, Kind};
use dunlin_tpcc::terminal::Tally;
use serde::Serialize;

use crate::spread::percentile_us;

/// Of one type of transaction.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct KindFigures {
    /// That happened.
    pub count: usize,
    /// From the first attempt to the end, in milliseconds: the median.
    pub p50_ms: f64,
    /// 90 of 100.
    pub p90_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// Attempts that others were in the way of.
    pub refused: u64,
    /// Attempts that no server answered.
    pub unavailable: u64,
    /// Rolled back, as they were to be.
    pub rolled_back: u64,
}

/// Of all.
#[derive(Debug, Clone, Serialize)]
pub struct TpccFigures {
    /// Transactions a second.
    pub per_s: f64,
    /// NewOrders a minute that were not rolled back.
    pub new_orders_per_min: f64,
    /// By type, in the order of the specification.
    pub kinds: Vec<(&'static str, KindFigures)>,
    /// CPU of all servers for each transaction, in microseconds; none where one was killed, whose CPU is not known.
    pub server_us: Option<f64>,
    /// Bytes of the database behind the round.
    pub bytes: u64,
    /// Of which nobody could tell whether they happened.
    pub unknown: u64,
}

/// The figures of a round that lasted so long, while servers had so much CPU.
pub fn figures(
    tally: &Tally,
    (lasted, cpu, bytes): (Duration, Option<Duration>, u64),
) -> TpccFigures {
    let of = |kind: Kind| {
        let figures = tally.kinds.get(&kind).cloned().unwrap_or_default();
        let mut took = figures.took;
        took.sort_unstable();
        let ms = |percent| percentile_us(&took, percent) / 1e3;
        let of_kind = KindFigures {
            count: took.len(),
            p50_ms: ms(50),
            p90_ms: ms(90),
            p99_ms: ms(99),
            refused: figures.refused,
            unavailable: figures.unavailable,
            rolled_back: figures.rolled_back,
        };
        (kind.name(), of_kind)
    };
    let kinds: Vec<_> = KINDS
        .into_iter()
        .map(of)
        .filter(|(_, of)| of.count > 0)
        .collect();
    let count: usize = kinds.iter().map(|(_, of)| of.count).sum();
    let orders = kinds
        .iter()
        .find(|(name, _)| *name == Kind::NewOrder.name());
    let orders = orders.map_or(0.0, |(_, of)| of.count as f64 - of.rolled_back as f64);
    TpccFigures {
        per_s: count as f64 / lasted.as_secs_f64(),
        new_orders_per_min: 60.0 * orders / lasted.as_secs_f64(),
        kinds,
        server_us: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / (count as f64).max(1.0)),
        bytes,
        unknown: tally.unknown,
    }
}

impl TpccFigures {
    /// Attempts at NewOrders and Payments that others were in the way of, for each that happened.
    pub fn refused(&self) -> f64 {
        let writing = [Kind::NewOrder.name(), Kind::Payment.name()];
        let of = self.kinds.iter().filter(|(name, _)| writing.contains(name));
        let (refused, count) = of.fold((0, 0), |(refused, count), (_, of)| {
            (refused + of.refused, count + of.count)
        });
        refused as f64 / (count as f64).max(1.0)
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
