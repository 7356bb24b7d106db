//! Holders of records are told which transactions all ranges know of, those of some milliseconds together.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_node::Services;
use dunlin_txn::{Command, Request, World};
use futures_util::future::join_all;
use tokio::time::sleep;

use crate::client::Client;
use crate::plug::Part;

/// How long others are waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// Transactions by the range that holds their record.
#[derive(Default)]
pub(crate) struct Finished {
    waiting: RefCell<BTreeMap<u64, Vec<Version>>>,
    is_telling: Cell<bool>,
}

/// Has the holder of a transaction's record told, soon, that all others know.
pub(crate) fn tell(services: &Rc<Services>, holder: u64, txn: Version) {
    let Some(part) = services.find::<Part>() else {
        return;
    };
    let finished = &part.finished;
    let mut waiting = finished.waiting.borrow_mut();
    waiting.entry(holder).or_default().push(txn);
    if !finished.is_telling.replace(true) {
        let (client, part) = (Client::new(services), part.clone());
        tokio::task::spawn_local(async move {
            sleep(PAUSE).await;
            part.finished.is_telling.set(false);
            let waiting = part.finished.waiting.take();
            let told = waiting.into_iter().map(|(holder, txns)| {
                let command = Command::Finished { txns };
                client.ask(holder, Request::Enter(command))
            });
            // Who is not reached asks by himself.
            drop(join_all(told).await);
        });
    }
}
