//! Clients: tasks beside each node that let it coordinate random reads and writes, and compactions.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_node::{Condition, Failure, Item, Quorum, Scan, Shard, WriteRequest};
use dunlin_store::Kind;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::sleep;

use crate::harness::host::{Host, Phase};
use crate::history::{Ended, Moment, Place, Read, Seen, Write, key_name, value_of, write_of};

const IDLE: Duration = Duration::from_millis(50);

/// Starts the clients of a node.
pub fn spawn(host: &Rc<Host>, shards: &[Rc<Shard>]) {
    for number in 0..host.shared.plan.clients {
        let client = Client {
            host: host.clone(),
            shards: shards.to_vec(),
            random: StdRng::seed_from_u64(host.seed(number + 1_000)),
            last: None,
        };
        tokio::task::spawn_local(client.work(number == 0));
    }
    for shard in shards {
        let (host, shard) = (host.clone(), shard.clone());
        tokio::task::spawn_local(compact(host, shard));
    }
}

/// Compacts now and then: that is when tombstones go.
async fn compact(host: Rc<Host>, shard: Rc<Shard>) {
    let mut random = StdRng::seed_from_u64(host.seed(500));
    loop {
        sleep(Duration::from_millis(random.random_range(1_000..4_000))).await;
        if let Err(error) = shard.compact().await {
            tracing::debug!(host = host.name, error, "cannot compact now");
        }
    }
}

struct Client {
    host: Rc<Host>,
    shards: Vec<Rc<Shard>>,
    random: StdRng,
    /// What this client last saw, for conditions.
    last: Option<(Place, Condition)>,
}

impl Client {
    async fn work(mut self, reads_all: bool) {
        let shared = self.host.shared.clone();
        loop {
            match shared.phase.get() {
                Phase::Work => {
                    let pause = self.random.random_range(0..=shared.plan.pause_ms_max);
                    sleep(Duration::from_millis(pause)).await;
                    self.step().await;
                }
                Phase::FinalReads if reads_all && !self.host.read_all.get() => {
                    self.read_all().await;
                    self.host.read_all.set(true);
                }
                Phase::Quiet | Phase::FinalReads => sleep(IDLE).await,
            }
        }
    }

    fn shard(&mut self) -> Rc<Shard> {
        self.shards[self.random.random_range(0..self.shards.len())].clone()
    }

    fn place(&mut self) -> Place {
        let plan = &self.host.shared.plan;
        (
            self.random.random_range(0..plan.keyspaces.len()),
            self.random.random_range(0..plan.keys),
        )
    }

    /// Mostly all replicas and a majority of them; sometimes any other numbers.
    fn quorum(&mut self, keyspace: usize) -> Quorum {
        let plan = &self.host.shared.plan;
        // A value kept by more nodes than its keyspace says outlives a forgotten delete there.
        let nodes = match plan.forgets_deletes(keyspace) {
            true => 3,
            false => self.members(),
        };
        if self.random.random_bool(0.6) {
            return Quorum { ack: 2, from: 3 };
        }
        let from = self.random.random_range(1..=nodes);
        Quorum {
            ack: self.random.random_range(1..=from),
            from,
        }
    }

    /// Nodes that hold data, now and after the change under way.
    fn members(&self) -> u8 {
        let topology = self.host.shared.metadata.topology().borrow().clone();
        let members = &topology.members;
        let to = members.change.as_ref().map_or(&members.ids, |c| &c.to);
        members.ids.len().min(to.len()) as u8
    }

    async fn step(&mut self) {
        let place = self.place();
        let quorum = self.quorum(place.0);
        match self.random.random_range(0..100) {
            0..40 => {
                self.write(place, quorum, false, Condition::None).await;
            }
            40..58 => {
                self.write(place, quorum, true, Condition::None).await;
            }
            58..68 => {
                let (place, condition) = match self.last.take() {
                    Some(last) => last,
                    None if self.random.random_bool(0.5) => (place, Condition::Absent),
                    None => (place, Condition::Present),
                };
                let quorum = self.quorum(place.0);
                self.write(place, quorum, false, condition).await;
            }
            68..97 => {
                self.read(place, quorum).await;
            }
            _ => self.scan(place.0, quorum).await,
        }
    }

    async fn write(&mut self, place: Place, quorum: Quorum, delete: bool, condition: Condition) {
        let shared = self.host.shared.clone();
        let shard = self.shard();
        let bytes = self.random.random_range(8..=shared.plan.value_bytes_max);
        let id = {
            let mut history = shared.history.borrow_mut();
            let id = history.writes.len() as u64;
            let begun = history.moment();
            history.mix((id, place, quorum, delete, condition));
            history.writes.push(Write {
                id,
                place,
                host: self.host.number,
                delete,
                ack: quorum.ack,
                from: quorum.from,
                condition: match condition {
                    Condition::None => String::new(),
                    other => format!("{other:?}"),
                },
                begun,
                begun_ms: shared.time.elapsed_ms(),
                ended: None,
            });
            id
        };
        let request = WriteRequest {
            keyspace: shared.keyspaces[place.0],
            kind: if delete { Kind::Delete } else { Kind::Put },
            ack: quorum.ack,
            from: quorum.from,
            condition,
            expiry_ms: None,
            key: key_name(place.1),
            value: if delete {
                Bytes::new()
            } else {
                value_of(id, bytes)
            },
        };
        let ended = match shard.coordinate_write(request).await {
            Ok(stamp) => {
                self.last = Some((place, Condition::Is(stamp)));
                Ended::Acknowledged(stamp)
            }
            Err(Failure::ConditionFailed(_)) => Ended::ConditionFailed,
            Err(failure) => Ended::Unknown(failure.to_string()),
        };
        let at_ms = shared.time.elapsed_ms();
        shared.history.borrow_mut().end_write(id, at_ms, ended);
    }

    async fn read(&mut self, place: Place, quorum: Quorum) {
        let shared = self.host.shared.clone();
        let shard = self.shard();
        let begun = shared.history.borrow_mut().moment();
        let keyspace = shared.keyspaces[place.0];
        let answer = shard
            .read_quorum(keyspace, &key_name(place.1), quorum)
            .await;
        let Ok(item) = answer else { return };
        self.last = match &item {
            Some(item) if !item.tombstone => Some((place, Condition::Is(item.stamp))),
            _ => Some((place, Condition::Absent)),
        };
        self.saw(place, quorum, begun, false, seen(item));
    }

    fn saw(&self, place: Place, quorum: Quorum, begun: Moment, scan: bool, seen: Seen) {
        let shared = &self.host.shared;
        let mut history = shared.history.borrow_mut();
        let ended = history.moment();
        history.read(Read {
            place,
            host: self.host.number,
            ack: quorum.ack,
            from: quorum.from,
            scan,
            begun,
            ended,
            ended_ms: shared.time.elapsed_ms(),
            seen,
        });
    }

    async fn scan(&mut self, keyspace: usize, quorum: Quorum) {
        let shared = self.host.shared.clone();
        let begun = shared.history.borrow_mut().moment();
        let begin = Scan::begin(
            self.shard(),
            shared.keyspaces[keyspace],
            Bytes::new(),
            None,
            quorum,
        );
        let Ok(mut scan) = begin else { return };
        let mut found: Vec<Item> = Vec::new();
        loop {
            match scan.next_page().await {
                Ok(page) if page.is_empty() => break,
                Ok(page) => found.extend(page),
                Err(_) => return,
            }
        }
        for key in 0..shared.plan.keys {
            let name = key_name(key);
            let item = found.iter().find(|item| item.key == name).cloned();
            let seen = match item {
                Some(item) => seen(Some(item)),
                None => Seen::Hidden,
            };
            self.saw((keyspace, key), quorum, begun, true, seen);
        }
    }

    async fn read_all(&mut self) {
        let shared = self.host.shared.clone();
        let nodes = self.members();
        for keyspace in 0..shared.plan.keyspaces.len() {
            for key in 0..shared.plan.keys {
                let all = Quorum {
                    ack: nodes,
                    from: nodes,
                };
                self.read((keyspace, key), all).await;
                self.read((keyspace, key), Quorum { ack: 2, from: 3 }).await;
            }
        }
    }
}

fn seen(item: Option<Item>) -> Seen {
    match item {
        None => Seen::Absent,
        Some(item) if item.tombstone => Seen::Deleted(item.stamp),
        Some(item) => Seen::Value(item.stamp, write_of(&item.value)),
    }
}
