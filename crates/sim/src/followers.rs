//! Followers that roam: each goes on from its token at another replica again and again, whatever happens to
//! the cluster, and must have been given all that a replica holds once it has read that one's log to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Rank, Version};
use dunlin_node::{Begun, Follow, From, Next, Scope, Services, Wanted};
use dunlin_proto::Token;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{sleep, timeout};

use crate::harness::host::{Host, Shared};
use crate::plan::Plan;

/// Sets the seed of their choices apart.
const SEED: u64 = 5 << 16;
/// Followers of a run.
const FOLLOWERS: usize = 6;

/// What a follower was given last of a key.
#[derive(Debug, Clone)]
struct Given {
    partition: u16,
    rank: Rank,
    delete: bool,
    expiry_ms: Option<u64>,
}

/// One follower, wherever it is.
#[derive(Debug)]
pub struct Follower {
    number: usize,
    keyspace: u32,
    partitions: Vec<u16>,
    token: Option<Token>,
    /// Until when it follows nobody, in milliseconds since the beginning of the run.
    rests_until_ms: u64,
    given: BTreeMap<Bytes, Given>,
}

/// What came of them.
#[derive(Debug, Default)]
pub struct Followers {
    idle: RefCell<Vec<Follower>>,
    begun: RefCell<Begun>,
    checked: std::cell::Cell<u64>,
    missed: RefCell<Option<String>>,
}

impl Followers {
    /// Of a run; none where its plan has none.
    pub fn new(plan: &Plan, keyspaces: &[u32]) -> Followers {
        let followers = Followers::default();
        if !plan.follows {
            return followers;
        }
        let mut random = StdRng::seed_from_u64(plan.seed ^ SEED);
        for number in 0..FOLLOWERS {
            let at = random.random_range(0..keyspaces.len());
            let count = plan.keyspaces[at].1.partitions;
            let first = random.random_range(0..count);
            let last = (first + random.random_range(0..2)).min(count - 1);
            followers.idle.borrow_mut().push(Follower {
                number,
                keyspace: keyspaces[at],
                partitions: (first..=last).collect(),
                token: None,
                rests_until_ms: 0,
                given: BTreeMap::new(),
            });
        }
        followers
    }

    /// What was not delivered although a token said so.
    pub fn missed(&self) -> Option<String> {
        self.missed.borrow().clone()
    }

    /// How partitions were gone on with, and how often what was given was compared with a store.
    pub fn counts(&self) -> (Begun, u64) {
        (*self.begun.borrow(), self.checked.get())
    }
}

/// A follower that is at a host; it goes on elsewhere when the host ends.
struct Visit {
    shared: Rc<Shared>,
    follower: Option<Follower>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.shared
            .followers
            .idle
            .borrow_mut()
            .extend(self.follower.take());
    }
}

/// Lets followers come to a shard, one after another.
pub async fn run(host: Rc<Host>, services: Rc<Services>) {
    let shard = u64::from(services.shard().address().shard);
    let mut random = StdRng::seed_from_u64(host.seed(SEED + shard));
    loop {
        sleep(Duration::from_millis(random.random_range(5..60))).await;
        let shared = host.shared.clone();
        let follower = {
            let mut idle = shared.followers.idle.borrow_mut();
            let now_ms = shared.time.elapsed_ms();
            let rested: Vec<usize> = (0..idle.len())
                .filter(|at| idle[*at].rests_until_ms <= now_ms)
                .collect();
            match rested.len() {
                0 => None,
                count => Some(idle.remove(rested[random.random_range(0..count)])),
            }
        };
        let Some(follower) = follower else { continue };
        let mut visit = Visit {
            shared,
            follower: Some(follower),
        };
        if let Some(follower) = &mut visit.follower {
            let text = follower.visit(&host, &services, &mut random).await;
            let mut missed = host.shared.followers.missed.borrow_mut();
            if let Some(text) = text {
                missed.get_or_insert(text);
            }
            if random.random_bool(0.3) {
                // Much may have happened when it goes on, also to the shard that it comes to.
                let now_ms = host.shared.time.elapsed_ms();
                follower.rests_until_ms = now_ms + random.random_range(500..8_000);
            }
        }
    }
}

impl Follower {
    /// Follows one shard for a while; what it was not given, if anything.
    async fn visit(
        &mut self,
        host: &Host,
        services: &Services,
        random: &mut StdRng,
    ) -> Option<String> {
        let from = match self.token.clone() {
            Some(token) => From::Token(token),
            None => From::Beginning,
        };
        let wanted = Wanted {
            keyspace: self.keyspace,
            partitions: self.partitions.clone(),
            prefix: Bytes::new(),
        };
        let mut follow = services.followers().open(from, wanted).await.ok()?;
        let mut last: BTreeMap<Origin, Version> = BTreeMap::new();
        // Some break off at once, some stay for long.
        for _ in 0..random.random_range(1..30) {
            let wait = Duration::from_millis(random.random_range(20..300));
            match timeout(wait, follow.next()).await {
                Ok(Ok(next)) => {
                    if let Some(text) = self.take(next, &mut last) {
                        return Some(format!("{}: {text}", host.name));
                    }
                    self.token = self.again(&follow);
                }
                Ok(Err(_)) => break,
                Err(_) if random.random_bool(0.5) => break,
                Err(_) => {}
            }
        }
        host.shared.followers.begun.borrow_mut().add(follow.begun());
        match follow.is_current() {
            true => self.compare(host, services),
            false => None,
        }
    }

    /// The token, as it comes back from its text.
    fn again(&self, follow: &Follow) -> Option<Token> {
        let token = follow.token();
        let again = token.to_string().parse().ok();
        assert_eq!(again, Some(token));
        again
    }

    fn take(&mut self, next: Next, last: &mut BTreeMap<Origin, Version>) -> Option<String> {
        match next {
            Next::Records {
                partition,
                begins,
                records,
                ..
            } => {
                if begins == Some(Scope::Complete) {
                    self.given.retain(|_, given| given.partition != partition);
                }
                records.into_iter().for_each(|entry| self.give(entry));
            }
            Next::Entries(entries) => {
                for entry in entries {
                    let position = entry.position();
                    let is_new = |before: Version| position.sequence > before;
                    if !entry.copy
                        && let Some(before) = last.insert(position.origin, position.sequence)
                        && !is_new(before)
                    {
                        return Some(format!(
                            "follower {} is given {position:?} behind {before}",
                            self.number
                        ));
                    }
                    self.give(entry);
                }
            }
        }
        None
    }

    fn give(&mut self, entry: Entry) {
        let given = Given {
            partition: entry.partition,
            rank: entry.rank(),
            delete: entry.kind == Kind::Delete,
            expiry_ms: entry.expiry_ms,
        };
        let held = self.given.get(&entry.key);
        if held.is_none_or(|held| held.rank < given.rank) {
            self.given.insert(entry.key.clone(), given);
        }
    }

    /// Whether it was given all that the shard holds, whose log it has read to its end.
    fn compare(&self, host: &Host, services: &Services) -> Option<String> {
        let shared = &host.shared;
        shared
            .followers
            .checked
            .set(shared.followers.checked.get() + 1);
        let store = services.shard().store();
        for partition in &self.partitions {
            let all = (Bound::Unbounded, Bound::Unbounded);
            let page = store.scan_page(
                self.keyspace,
                *partition,
                all.0,
                all.1,
                usize::MAX,
                usize::MAX,
                None,
            );
            // A damaged disk is another matter.
            let Ok(page) = page else { return None };
            for (key, held) in &page.items {
                let given = self.given.get(key);
                // That a value is over its own time tells.
                let is_told = match given {
                    None => held.tombstone,
                    Some(given) => {
                        given.rank >= held.rank() || held.is_expiry && given.expiry_ms.is_some()
                    }
                };
                if !is_told {
                    return Some(format!(
                        "follower {} has read the log of {} to its end and was given {given:?} of key {} of keyspace {}, partition {partition}, which holds {} delete={}",
                        self.number,
                        services.shard().label(),
                        key.escape_ascii(),
                        self.keyspace,
                        held.stamp,
                        held.tombstone,
                    ));
                }
            }
            let forgotten = self.given.iter().find(|(key, given)| {
                given.partition == *partition
                    && !given.delete
                    && given.expiry_ms.is_none()
                    && shared.plan.keeps_all()
                    && !page.items.iter().any(|(held, _)| held == *key)
            });
            if let Some((key, given)) = forgotten {
                return Some(format!(
                    "follower {} has read the log of {} to its end and was not told that {given:?} of key {} of keyspace {}, partition {partition}, is gone",
                    self.number,
                    services.shard().label(),
                    key.escape_ascii(),
                    self.keyspace,
                ));
            }
        }
        None
    }
}
