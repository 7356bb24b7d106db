//! Compares the source with what is at a receiver, range by range, without copying anything.

use std::sync::{Mutex, PoisonError};

use super::begin::{look, ranges};
use super::dial::Dialer;
use crate::CopyError;
use crate::gate::Gate;
use crate::outcome::Verified;
use crate::patience::Patience;
use crate::plan::{Range, Unit};
use crate::queue::Queue;
use crate::receiver::digest::digest;
use crate::settings::Settings;
use crate::source::checkpoint::{Place, elsewhere};
use crate::source::database::Source;
use crate::source::survey;
use crate::watch::Watch;
use crate::wire::link::Link;
use crate::wire::message::{self, DigestRequest, Holds, kind};
use crate::wire::pair::Tally;

struct Compared {
    tally: Tally,
    different: Vec<String>,
}

/// Compares with what is at a receiver.
pub(crate) fn verify(
    dialer: &Dialer,
    settings: &Settings,
    watch: &Watch,
) -> Result<Verified, CopyError> {
    crate::source::directory::list(&settings.source)?;
    let target = &settings.target;
    let found = look(dialer, settings, watch)?;
    if let Some(plan) = found.partial {
        return Err(CopyError::Refused(format!(
            "{target} is partial: {} of {} units are there; copy again to go on",
            found.done,
            plan.units.len()
        )));
    }
    if found.holds != Holds::Database {
        return Err(CopyError::Refused(format!("{target} holds no database")));
    }
    let label = format!("verify {target}");
    let mut checkpoint = Place::of(settings, &label)?.make()?;
    let families = &settings.column_families;
    let compared = Source::open_as_it_is(&mut checkpoint, &settings.source, families)
        .and_then(|source| {
            let units = ranges(&source, settings.range_bytes())?;
            Ok((
                compare(settings, dialer, &source, &units, watch)?,
                units,
                source.column_families,
            ))
        })
        .and_then(|compared| {
            survey::all(&mut checkpoint, settings, watch)?;
            Ok(compared)
        });
    let removed = checkpoint.remove();
    let (compared, units, column_families) = compared?;
    removed?;
    match compared.different.first() {
        Some(first) => Err(CopyError::Different {
            ranges: compared.different.len(),
            of: units.len(),
            first: first.clone(),
        }),
        None => Ok(Verified {
            ranges: units.len(),
            column_families,
            tally: compared.tally,
        }),
    }
}

/// What those who compare share.
struct Comparing<'a> {
    settings: &'a Settings,
    dialer: &'a Dialer,
    source: &'a Source,
    watch: &'a Watch,
    gate: Gate,
    queue: Queue<&'a Unit>,
    compared: Mutex<Compared>,
}

fn compare(
    settings: &Settings,
    dialer: &Dialer,
    source: &Source,
    units: &[Unit],
    watch: &Watch,
) -> Result<Compared, CopyError> {
    let connections = settings.connections.clamp(1, units.len().max(1));
    watch.comparing(units, connections);
    let comparing = Comparing {
        settings,
        dialer,
        source,
        watch,
        gate: Gate::default(),
        queue: Queue::new(units),
        compared: Mutex::new(Compared {
            tally: Tally::default(),
            different: Vec::new(),
        }),
    };
    std::thread::scope(|scope| {
        for number in 0..connections {
            let comparing = &comparing;
            scope.spawn(move || comparing.work(number));
        }
    });
    comparing.queue.end()?;
    let compared = comparing.compared.into_inner();
    Ok(compared.unwrap_or_else(PoisonError::into_inner))
}

impl Comparing<'_> {
    fn work(&self, number: usize) {
        let mut link = None;
        while let Some(unit) = self.queue.next() {
            let Unit::Range(range) = unit else { continue };
            self.watch.begun(number, unit);
            match self.range(range, number, &mut link) {
                Ok((ours, theirs)) => {
                    self.watch.compared(number, unit.size_bytes());
                    let compared = self.compared.lock();
                    let mut compared = compared.unwrap_or_else(PoisonError::into_inner);
                    compared.tally.merge(&ours);
                    if ours != theirs {
                        let (ours, theirs) = (ours.pairs, theirs.pairs);
                        let line = format!("{unit}, {ours} pairs against {theirs}");
                        compared.different.push(line);
                    }
                }
                Err(error) => return self.queue.fail(error),
            }
        }
    }

    /// What source and target hold of a range.
    fn range(
        &self,
        range: &Range,
        number: usize,
        link: &mut Option<Link>,
    ) -> Result<(Tally, Tally), CopyError> {
        // Held until the target has read its part, which is as large.
        let is_large = self.source.is_large(range);
        let mut permit = is_large.then(|| self.gate.wait());
        let request = DigestRequest {
            column_family: range.column_family.clone(),
            start: range.start.clone(),
            end: range.end.clone(),
        };
        // The target reads its part while the source's is read here.
        let mut patience = Patience::new(self.settings.retry_for);
        let mut ours = None;
        loop {
            let asked = ask(self.dialer, link, &request).and_then(|()| {
                if ours.is_none() {
                    let db = &self.source.db;
                    let read = digest(db, &request, &self.gate, &mut permit, |pairs, bytes| {
                        self.watch.looked_at(number, pairs, bytes);
                        self.watch.check()
                    });
                    ours = Some(read.map_err(|error| elsewhere(error, &self.settings.source))?);
                }
                answered(link)
            });
            match asked {
                Ok(theirs) => return Ok((ours.unwrap_or_default(), theirs)),
                Err(error) => {
                    *link = None;
                    patience.bear(error, self.watch)?;
                }
            }
        }
    }
}

fn ask(dialer: &Dialer, link: &mut Option<Link>, request: &DigestRequest) -> Result<(), CopyError> {
    let link = match link {
        Some(link) => link,
        none => none.insert(dialer.dial()?),
    };
    link.send(kind::DIGEST, request.encode())?;
    Ok(())
}

fn answered(link: &mut Option<Link>) -> Result<Tally, CopyError> {
    let Some(link) = link else {
        return Ok(Tally::default());
    };
    let body = link.answer(kind::DIGESTED)?;
    message::decode_tally(&body).map_err(|_| link.out_of_turn(kind::DIGESTED))
}
