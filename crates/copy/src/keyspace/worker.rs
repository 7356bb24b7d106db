//! One connection of a copy into a keyspace: takes unit after unit until none is left.

use super::body::Carrier;
use super::shared::Shared;
use crate::CopyError;
use crate::plan::Unit;

/// Sends units until none is left or one cannot be sent. `number` is this connection's.
pub(crate) fn work(shared: &Shared<'_>, number: usize) {
    if let Err(error) = send_units(shared, number) {
        shared.queue.fail(error);
    }
}

fn send_units(shared: &Shared<'_>, number: usize) -> Result<(), CopyError> {
    let mut carrier = Carrier::new(shared, number)?;
    while let Some(unit_number) = shared.queue.next() {
        shared.check()?;
        let Some(unit @ Unit::Range(range)) = shared.plan.units.get(unit_number as usize) else {
            continue;
        };
        shared.watch.begun(number, unit);
        let tally = carrier.send(range)?;
        shared.done(number, unit_number, unit, tally)?;
    }
    Ok(())
}
