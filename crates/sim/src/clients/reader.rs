//! After all is whole: a write through every node, then every key through every node, in several ways.
//! What is not answered is passed over after a while: what other reads see tells more.

use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Quorum;
use dunlin_proto::Condition;
use tokio::time::sleep;

use super::attempts::{Attempt, Attempts};
use super::{AHEAD_MS, Nodes, ranges, txns};
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::clock::SimClock;
use crate::harness::host::{Phase, Shared, node_name};
use crate::history::{Ended, Place, Read, Seen, Write, key_name, value_of, write_of};

const IDLE: Duration = Duration::from_millis(50);
/// A write is at all replicas after so long, where all is whole.
const REST: Duration = Duration::from_secs(3);
/// Longest wait for one answer, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;
/// The same once patience is gone.
const TIMEOUT_LEAST_MS: u64 = 200;
/// For so long a node is asked again, for its write and for its reads each.
const PATIENCE_MS: u64 = 20_000;

/// What one node is asked in the end.
struct Reader {
    shared: Rc<Shared>,
    nodes: Nodes,
    /// The node, and the machine that runs it.
    host: usize,
    machine: usize,
    /// Until when it is asked again, in milliseconds since the beginning of the run.
    patient_until_ms: u64,
}

/// Reads every key through the node `host` once that is asked for.
pub async fn run(shared: Rc<Shared>, nodes: Nodes, host: usize) {
    while shared.phase.get() != Phase::FinalReads {
        sleep(IDLE).await;
    }
    if shared.buried.get() == Some(host) {
        return;
    }
    let machine = shared.machines.borrow()[host];
    let mut reader = Reader {
        shared,
        nodes,
        host,
        machine,
        patient_until_ms: 0,
    };
    reader.be_patient();
    reader.write().await;
    let shared = reader.shared.clone();
    shared.written_all.borrow_mut().insert(host);
    while shared.written_all.borrow().len() < shared.nodes_left() {
        sleep(IDLE).await;
    }
    // Until the replicas that did not answer those writes have them, too.
    sleep(REST).await;
    reader.be_patient();
    let members = shared.members_min();
    for keyspace in 0..shared.plan.keyspaces.len() {
        // What single replicas say first: asking more of them mends what differs.
        for (ack, from) in [(1, 3), (2, 3), (members, members), (1, 1)] {
            for key in 0..shared.plan.keys {
                reader.read((keyspace, key), Quorum { ack, from }).await;
            }
        }
    }
    ranges::read_all(&shared, &reader.nodes, host, machine).await;
    txns::read_all(&shared, &reader.nodes, host, machine).await;
    shared.read_all.borrow_mut().insert(host);
}

impl Reader {
    fn be_patient(&mut self) {
        self.patient_until_ms = self.shared.time.elapsed_ms() + PATIENCE_MS;
    }

    /// How long to wait for an answer; none when one that failed is not asked for again.
    fn patience_ms(&self) -> Option<u64> {
        let left_ms = self
            .patient_until_ms
            .checked_sub(self.shared.time.elapsed_ms());
        left_ms.map(|left_ms| left_ms.clamp(TIMEOUT_LEAST_MS, TIMEOUT_MS))
    }

    fn unanswered(&self, what: &str) {
        let text = format!("{} {what}", node_name(self.host));
        let mut unanswered = self.shared.unanswered.borrow_mut();
        unanswered.get_or_insert(text);
    }

    /// Writes one key until that is acknowledged: a cluster that is whole takes writes.
    async fn write(&self) {
        let shared = &self.shared;
        let place = (self.host % shared.plan.keyspaces.len(), 0);
        let quorum = Quorum { ack: 2, from: 3 };
        let client = shared.plan.clients + self.host;
        let put = Write::put(
            place,
            client,
            (quorum.ack, quorum.from),
            shared.time.elapsed_ms(),
        );
        let id = shared.history.borrow_mut().begin_write(put);
        let ask = self.ask(
            place,
            quorum,
            Verb::Put(Condition::None, None, value_of(id, 8)),
        );
        let clock = SimClock::new(shared.time.clone(), AHEAD_MS);
        let mut attempts = Attempts::new(&self.nodes, &clock, true);
        let ended = loop {
            let Some(timeout_ms) = self.patience_ms() else {
                self.unanswered("takes no write");
                break Ended::Unknown("not acknowledged".into());
            };
            let told = attempts.at(self.machine, ask.clone(), timeout_ms).await;
            if let Attempt::Answered(Told::Written(_)) = told {
                break Ended::Acknowledged;
            }
            sleep(IDLE).await;
        };
        let at_ms = shared.time.elapsed_ms();
        shared.history.borrow_mut().end_write(id, at_ms, ended);
    }

    async fn read(&self, place: Place, quorum: Quorum) {
        let shared = &self.shared;
        let ask = self.ask(place, quorum, Verb::Get);
        let begun = shared.history.borrow_mut().moment();
        let begun_ms = shared.time.elapsed_ms();
        let seen = loop {
            let patience_ms = self.patience_ms();
            let timeout = Duration::from_millis(patience_ms.unwrap_or(TIMEOUT_LEAST_MS));
            match self.nodes[self.machine].call(ask.clone(), timeout).await {
                Ok(Told::Found(None)) => break Seen::Nothing,
                Ok(Told::Found(Some((_, value)))) => break Seen::Value(write_of(&value)),
                _ if patience_ms.is_none() => {
                    let (ack, from) = (quorum.ack, quorum.from);
                    self.unanswered(&format!("does not answer reads with ack={ack} from={from}"));
                    return;
                }
                _ => sleep(IDLE).await,
            }
        };
        let mut history = shared.history.borrow_mut();
        let ended = history.moment();
        history.read(Read {
            place,
            client: shared.plan.clients + self.host,
            host: self.machine,
            ack: quorum.ack,
            from: quorum.from,
            scan: false,
            last: true,
            begun,
            begun_ms,
            ended,
            ended_ms: shared.time.elapsed_ms(),
            seen,
        });
    }

    fn ask(&self, place: Place, quorum: Quorum, verb: Verb) -> Ask {
        Ask {
            keyspace: self.shared.keyspaces[place.0],
            quorum,
            deadline_ms: None,
            after_ms: None,
            key: key_name(place.1),
            verb,
        }
    }
}
