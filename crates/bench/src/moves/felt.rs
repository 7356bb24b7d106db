//! What clients felt: latencies of a part of a run, and second by second.

use serde::Serialize;

use crate::load::generator::Answered;

/// Latencies of the requests that were meant to start in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Felt {
    /// Requests.
    pub requests: u64,
    /// Those of them that were not answered as wanted.
    pub failed: u64,
    /// Median latency.
    pub latency_us_p50: u64,
    /// 99th percentile.
    pub latency_us_p99: u64,
    /// 99.9th percentile.
    pub latency_us_p999: u64,
    /// The greatest.
    pub latency_us_max: u64,
}

/// One second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Seconds from the start of the run to its begin.
    pub at_s: u64,
    /// Its requests.
    #[serde(flatten)]
    pub felt: Felt,
}

impl Felt {
    /// Of these requests; zeros when there are none.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answered>) -> Felt {
        let (mut latencies_us, mut failed) = (Vec::new(), 0);
        for answer in answers {
            latencies_us.push(answer.latency_ns / 1_000);
            failed += u64::from(!answer.is_expected);
        }
        latencies_us.sort_unstable();
        let at = |share| percentile(&latencies_us, share);
        Felt {
            requests: latencies_us.len() as u64,
            failed,
            latency_us_p50: at(0.5),
            latency_us_p99: at(0.99),
            latency_us_p999: at(0.999),
            latency_us_max: at(1.0),
        }
    }

    /// Of those meant to start in `[begin_s, end_s)`.
    pub fn between(answers: &[Answered], begin_s: f64, end_s: f64) -> Felt {
        let is_in = |answer: &&Answered| {
            let at_s = answer.intended_ns as f64 / 1e9;
            begin_s <= at_s && at_s < end_s
        };
        Felt::of(answers.iter().filter(is_in))
    }
}

/// Every second from the first, one without requests too, up to the last request.
pub fn by_second(answers: &[Answered]) -> Vec<Second> {
    let mut seconds: Vec<Vec<&Answered>> = Vec::new();
    for answer in answers {
        let at = usize::try_from(answer.intended_ns / 1_000_000_000).unwrap_or(usize::MAX);
        if seconds.len() <= at {
            seconds.resize_with(at + 1, Vec::new);
        }
        seconds[at].push(answer);
    }
    let second = |(at_s, answers): (u64, Vec<&Answered>)| Second {
        at_s,
        felt: Felt::of(answers),
    };
    (0..).zip(seconds).map(second).collect()
}

/// The least of the numbers that `share` of them do not exceed.
fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.clamp(1, sorted.len().max(1)) - 1)
        .copied()
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "felt_tests.rs"]
mod tests;
