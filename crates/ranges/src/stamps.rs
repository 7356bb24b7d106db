//! Timestamps of the oracle: those who wait at a shard are given theirs together.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_node::plug::ORACLE_KEYSPACE;
use dunlin_node::{Failure, Services};
use dunlin_txn::{Answer, Request, Unheard, Wall, World};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::client::Client;
use crate::group::range_id;
use crate::outcome::failure;
use crate::plug::Part;

/// How long timestamps are waited for.
const PATIENCE: Duration = Duration::from_secs(3);

type Waiter = oneshot::Sender<Result<Version, Answer>>;

/// Who waits.
#[derive(Default)]
pub(crate) struct Stamps {
    waiting: RefCell<Vec<(Version, Waiter)>>,
    is_asking: Cell<bool>,
    /// The greatest that was given here.
    last: Cell<Version>,
}

/// A timestamp above this, and above all that were given before it was asked for.
pub(crate) async fn timestamp(services: &Rc<Services>, above: Version) -> Result<Version, Answer> {
    let part = services.find::<Part>();
    let part = part.ok_or_else(|| none("ranges are not plugged in"))?;
    if let Some(given) = alone(services, &part, above) {
        part.stamps.given(given);
        return Ok(given);
    }
    let (waiter, given) = oneshot::channel();
    part.stamps.waiting.borrow_mut().push((above, waiter));
    if !part.stamps.is_asking.replace(true) {
        let (services, part) = (services.clone(), part.clone());
        tokio::task::spawn_local(async move {
            part.stamps.ask(&services).await;
            part.stamps.is_asking.set(false);
        });
    }
    given
        .await
        .unwrap_or_else(|_| Err(none("it was asked in vain")))
}

/// One of the oracle that is here, where no other replica can give any.
fn alone(services: &Services, part: &Part, above: Version) -> Option<Version> {
    let oracle = services.transactional_named(ORACLE_KEYSPACE)?;
    let group = part
        .at_shard
        .borrow()
        .as_ref()?
        .group(range_id(oracle.id, 0))?;
    group.take_alone(services, above)
}

impl Stamps {
    /// The greatest that was given here.
    pub fn last(&self) -> Version {
        self.last.get()
    }

    fn given(&self, given: Version) {
        self.last.set(self.last.get().max(given));
    }

    /// Asks for those who wait, until nobody does. Who comes while it is asked waits for the next time: what is being
    /// given then may be older.
    async fn ask(&self, services: &Rc<Services>) {
        loop {
            let waiting = self.waiting.take();
            if waiting.is_empty() {
                return;
            }
            let above = waiting.iter().map(|(above, _)| *above).max();
            let given = give(services, waiting.len() as u32, above.unwrap_or_default()).await;
            for (number, (_, waiter)) in waiting.into_iter().enumerate() {
                let given = given.clone();
                let given = given.map(|first| Version(first.0.saturating_add(number as u64)));
                if let Ok(given) = &given {
                    self.given(*given);
                }
                drop(waiter.send(given));
            }
        }
    }
}

async fn give(services: &Rc<Services>, count: u32, above: Version) -> Result<Version, Answer> {
    let oracle = services.transactional_named(ORACLE_KEYSPACE);
    let oracle = oracle.ok_or_else(|| none("there is no keyspace _oracle"))?;
    let asked = Request::Timestamps { count, above };
    let client = Client::new(services);
    // Less than who waits for a leader does: he is told why.
    let told = timeout(PATIENCE, client.ask(range_id(oracle.id, 0), asked)).await;
    match told.unwrap_or(Err(Unheard::Maybe)) {
        Ok(Answer::Timestamps(first)) => Ok(first),
        Ok(Answer::Clock) => Err(none(
            "the clock of the node that gives them is not known to be right",
        )),
        Ok(Answer::NoSpace) => Err(Answer::NoSpace),
        Ok(Answer::Failed(why)) | Err(Unheard::Not(why)) => Err(none(&why)),
        Ok(_) | Err(Unheard::Maybe) => Err(none("the node that gives them did not answer")),
    }
}

/// This node's clock, with which times of clients are compared.
pub(crate) fn wall(services: &Services) -> Wall {
    Wall {
        now_ms: services.now_ms(),
        bound_ms: services.clock_bound_ms(),
    }
}

/// The greatest timestamp that is known here.
pub(crate) fn greatest(part: &Part) -> Version {
    let own = part.at_shard.borrow();
    let greatest = own.as_ref().map(|own| own.greatest());
    part.stamps.last().max(greatest.unwrap_or_default())
}

/// By how many milliseconds a timestamp is ahead of this node's clock.
pub(crate) fn ahead_ms(services: &Services, at: Version) -> u64 {
    at.millis().saturating_sub(services.now_ms())
}

/// Whether a time is so much later than the clock, and than all timestamps.
///
/// # Errors
/// When there are no timestamps to compare it with.
pub(crate) async fn is_ahead(
    services: &Rc<Services>,
    ms: u64,
    by_ms: u64,
) -> Result<bool, Failure> {
    if ms <= services.now_ms().saturating_add(by_ms) {
        return Ok(false);
    }
    // Timestamps may be ahead of the clock.
    let newest = timestamp(services, Version(0)).await;
    let newest = newest.map_err(|instead| failure(ORACLE_KEYSPACE, instead))?;
    Ok(ms > newest.millis().saturating_add(by_ms))
}

fn none(why: &str) -> Answer {
    Answer::NoTimestamp(why.to_owned())
}
