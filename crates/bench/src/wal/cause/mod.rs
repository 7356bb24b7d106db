//! Experiments on the paper's two open questions: why padding sometimes wins, and why equal
//! padding gives unequal speed. Each varies one thing and keeps the rest.

use serde::Serialize;

use super::Session;
use crate::error::BenchError;
use crate::interval::Interval;

pub mod checksum;
pub mod encoding;
pub mod swapped;
pub mod sync_alignment;
pub mod write_size;
pub mod zeros;

/// One experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Experiment {
    /// What it varies.
    pub name: String,
    /// What stays the same, and what the answer would tell.
    pub question: String,
    /// What the numbers are.
    pub unit: &'static str,
    /// Its variants; the first is what the others are compared with.
    pub rows: Vec<Row>,
}

/// One variant.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Which.
    pub variant: String,
    /// What it costs.
    pub cost: Interval,
    /// Its cost minus the first variant's in the same round; `None` for the first itself.
    pub difference: Option<Interval>,
}

/// An experiment about to be run.
pub struct Setup<'a> {
    name: String,
    question: String,
    unit: &'static str,
    variants: Vec<Variant<'a>>,
}

/// One run of a variant: its cost in the experiment's unit.
type Run<'a> = Box<dyn FnMut() -> Result<f64, BenchError> + 'a>;

struct Variant<'a> {
    name: String,
    run: Run<'a>,
    costs: Vec<f64>,
}

impl<'a> Setup<'a> {
    /// An experiment without variants.
    pub fn new(name: impl Into<String>, question: &str, unit: &'static str) -> Setup<'a> {
        Setup {
            name: name.into(),
            question: question.to_owned(),
            unit,
            variants: Vec::new(),
        }
    }

    /// Adds a variant.
    pub fn variant(
        &mut self,
        name: impl Into<String>,
        run: impl FnMut() -> Result<f64, BenchError> + 'a,
    ) {
        self.variants.push(Variant {
            name: name.into(),
            run: Box::new(run),
            costs: Vec::new(),
        });
    }

    fn finish(self) -> Experiment {
        let first = self.variants.first().map(|first| first.costs.clone());
        let rows = self.variants.iter().enumerate().map(|(at, variant)| Row {
            variant: variant.name.clone(),
            cost: Interval::of(&variant.costs),
            difference: first
                .as_ref()
                .filter(|_| at > 0)
                .map(|first| Interval::of_differences(&variant.costs, first)),
        });
        Experiment {
            rows: rows.collect(),
            name: self.name,
            question: self.question,
            unit: self.unit,
        }
    }
}

/// Runs all experiments, round by round, each round in the other direction than the last.
///
/// # Errors
/// When the disk refuses, or the user stops the run.
pub fn measure(session: &Session) -> Result<Vec<Experiment>, BenchError> {
    let directory = session.directory("cause")?;
    let mut setups = encoding::setups(session);
    setups.extend(checksum::setups(session));
    setups.push(write_size::setup(session, directory.path()));
    setups.push(sync_alignment::setup(session, directory.path())?);
    setups.push(zeros::setup(session, directory.path()));
    setups.extend(swapped::setups(session));
    rounds(session, &mut setups)?;
    Ok(setups.into_iter().map(Setup::finish).collect())
}

fn rounds(session: &Session, setups: &mut [Setup<'_>]) -> Result<(), BenchError> {
    // The first round only warms caches and is not counted.
    for round in 0..=session.plan.cause_repeats {
        let mut order: Vec<&mut Variant<'_>> = setups
            .iter_mut()
            .flat_map(|setup| setup.variants.iter_mut())
            .collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for variant in order {
            session.check()?;
            let cost = (variant.run)()?;
            if round > 0 {
                variant.costs.push(cost);
            }
        }
        session.progress.say(&format!(
            "experiments: round {round} of {}",
            session.plan.cause_repeats
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
