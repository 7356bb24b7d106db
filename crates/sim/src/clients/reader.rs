//! After all is whole: a write through every node, then every key through every node, in several ways.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::{Condition, Quorum};
use tokio::time::sleep;

use super::attempts::{Attempt, Attempts};
use super::{AHEAD_MS, Nodes};
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::clock::SimClock;
use crate::harness::host::{Phase, Shared};
use crate::history::{Ended, Place, Read, Seen, Write, key_name, value_of, write_of};

const IDLE: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(5);

/// Reads every key through the node `host` once that is asked for.
pub async fn run(shared: Rc<Shared>, nodes: Nodes, host: usize) {
    while shared.phase.get() != Phase::FinalReads {
        sleep(IDLE).await;
    }
    write(&shared, &nodes, host).await;
    shared.written_all.borrow_mut().insert(host);
    while shared.written_all.borrow().len() < shared.nodes_left() {
        sleep(IDLE).await;
    }
    let members = shared.members_min();
    for keyspace in 0..shared.plan.keyspaces.len() {
        for key in 0..shared.plan.keys {
            for (ack, from) in [(2, 3), (members, members), (1, 1)] {
                read(&shared, &nodes, host, (keyspace, key), Quorum { ack, from }).await;
            }
        }
    }
    shared.read_all.borrow_mut().insert(host);
}

/// Writes one key until that is acknowledged: a cluster that is whole takes writes.
async fn write(shared: &Shared, nodes: &Nodes, host: usize) {
    let place = (host % shared.plan.keyspaces.len(), 0);
    let quorum = Quorum { ack: 2, from: 3 };
    let id = shared.history.borrow_mut().begin_write(Write {
        id: 0,
        place,
        client: shared.plan.clients + host,
        delete: false,
        ack: quorum.ack,
        from: quorum.from,
        expect: None,
        begun: 0,
        begun_ms: shared.time.elapsed_ms(),
        attempts: Vec::new(),
        ended: None,
    });
    let ask = Ask {
        keyspace: shared.keyspaces[place.0],
        quorum,
        deadline_ms: None,
        after_ms: None,
        key: key_name(place.1),
        verb: Verb::Put(Condition::None, value_of(id, 8)),
    };
    let clock = SimClock::new(shared.time.clone(), AHEAD_MS);
    let mut attempts = Attempts::new(nodes, &clock, true);
    loop {
        let told = attempts
            .at(host, ask.clone(), TIMEOUT.as_millis() as u64)
            .await;
        if let Attempt::Answered(Told::Written(_)) = told {
            break;
        }
        sleep(IDLE).await;
    }
    let at_ms = shared.time.elapsed_ms();
    shared
        .history
        .borrow_mut()
        .end_write(id, at_ms, Ended::Acknowledged);
}

async fn read(shared: &Shared, nodes: &Nodes, host: usize, place: Place, quorum: Quorum) {
    let ask = Ask {
        keyspace: shared.keyspaces[place.0],
        quorum,
        deadline_ms: None,
        after_ms: None,
        key: key_name(place.1),
        verb: Verb::Get,
    };
    let begun = shared.history.borrow_mut().moment();
    let seen = loop {
        match nodes[host].call(ask.clone(), TIMEOUT).await {
            Ok(Told::Found(None)) => break Seen::Nothing,
            Ok(Told::Found(Some((_, value)))) => break Seen::Value(write_of(&value)),
            _ => sleep(IDLE).await,
        }
    };
    let mut history = shared.history.borrow_mut();
    let ended = history.moment();
    history.read(Read {
        place,
        client: shared.plan.clients + host,
        host,
        ack: quorum.ack,
        from: quorum.from,
        scan: false,
        last: true,
        begun,
        ended,
        ended_ms: shared.time.elapsed_ms(),
        seen,
    });
}
