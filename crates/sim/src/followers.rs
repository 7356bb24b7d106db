//! Followers that roam: each goes on from its token at another replica again and again, whatever happens to
//! the cluster, and must have been given all that a replica holds once it has read that one's log to its end.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::{Rc, Weak};
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Position, Rank, Version};
use dunlin_node::{Begun, Follow, FollowError, From, Next, Scope, Services, Wanted};
use dunlin_proto::{ShardAddress, Token};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{sleep, timeout};

use crate::harness::host::{Host, Shared};
use crate::plan::Plan;
use crate::resumed::{Given as TokenGiven, Happenings, Resumed};

/// Sets the seed of their choices apart.
const SEED: u64 = 5 << 16;
/// Followers of a run.
const FOLLOWERS: usize = 24;
/// Of which so many may be at one shard.
const LANES: u64 = 3;

/// Up to where each origin's entries of a partition were given.
pub(crate) type Last = BTreeMap<(Origin, u16), Version>;

/// What a follower was given last of a key.
#[derive(Debug, Clone)]
pub struct Given {
    partition: u16,
    /// Of two the greater is the newer.
    pub rank: Rank,
    /// Where it was logged.
    position: Position,
    /// Whether it is a delete.
    pub delete: bool,
    /// Of a value that goes by itself, when.
    pub expiry_ms: Option<u64>,
}

/// One follower, wherever it is.
#[derive(Debug)]
pub struct Follower {
    number: usize,
    pub(crate) keyspace: u32,
    pub(crate) partitions: Vec<u16>,
    pub(crate) token: Option<(Token, TokenGiven)>,
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
    /// How often a value was not looked for at a replica that had not heard of it yet.
    unheard: std::cell::Cell<u64>,
    missed: RefCell<Option<String>>,
    shown: RefCell<BTreeMap<(u32, Bytes), Given>>,
    pub(crate) happenings: Happenings,
    /// All running shards that are followed.
    shards: RefCell<BTreeMap<ShardAddress, Weak<Services>>>,
    resumed: RefCell<Resumed>,
    /// How often what a stream told was taken.
    pub(crate) streamed: std::cell::Cell<u64>,
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

    /// Notes that they were given what they must not have been.
    pub fn miss(&self, text: String) {
        self.missed.borrow_mut().get_or_insert(text);
    }

    /// The newest that any of them was ever given, by keyspace and key.
    pub fn shown(&self) -> Ref<'_, BTreeMap<(u32, Bytes), Given>> {
        self.shown.borrow()
    }

    /// How many tokens were used, and by what had happened since.
    pub fn resumed(&self) -> Resumed {
        *self.resumed.borrow()
    }

    /// How partitions were gone on with, how often what was given was compared with a store, and how often a
    /// value was not looked for at a replica that had not heard of it yet.
    pub fn counts(&self) -> (Begun, u64, u64) {
        (*self.begun.borrow(), self.checked.get(), self.unheard.get())
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

/// Lets followers come to a shard, some at a time, each as soon as another has gone.
pub fn run(host: &Rc<Host>, services: &Rc<Services>) {
    let shards = &host.shared.followers.shards;
    let address = services.shard().address();
    shards.borrow_mut().insert(address, Rc::downgrade(services));
    for lane in 0..LANES {
        tokio::task::spawn_local(run_lane(host.clone(), services.clone(), lane));
    }
}

async fn run_lane(host: Rc<Host>, services: Rc<Services>, lane: u64) {
    let shard = u64::from(services.shard().address().shard);
    let mut random = StdRng::seed_from_u64(host.seed(SEED + shard * LANES + lane));
    loop {
        for keyspace in &host.shared.keyspaces {
            let now_ms = host.shared.time.elapsed_ms();
            let happenings = &host.shared.followers.happenings;
            happenings.look(&services, *keyspace, now_ms);
        }
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
            let text = if random.random_bool(0.4) {
                follower.stream(&host, &services, &mut random).await
            } else {
                follower.visit(&host, &services, &mut random).await
            };
            if let Some(text) = text {
                host.shared.followers.miss(text);
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
            Some((token, _)) => From::Token(token),
            None => From::Beginning,
        };
        let wanted = Wanted {
            keyspace: self.keyspace,
            partitions: self.partitions.clone(),
            prefix: Bytes::new(),
            who: "the simulation".to_owned(),
        };
        let mut follow = match services.followers().open(from, wanted).await {
            Ok(follow) => follow,
            Err(FollowError::Token(error)) => return Some(format!("{}: {error}", host.name)),
            Err(_) => return None,
        };
        let all = &host.shared.followers;
        if let Some((token, given)) = &self.token {
            let (happenings, shared) = (&all.happenings, &host.shared);
            let partitions = &self.partitions;
            let resumed =
                happenings.since(given, token, shared, services, self.keyspace, partitions);
            *all.resumed.borrow_mut() += resumed;
        }
        let mut last = Last::new();
        // Most break off at once, some stay for long.
        let steps = if random.random_bool(0.8) {
            random.random_range(1..4)
        } else {
            random.random_range(4..30)
        };
        for _ in 0..steps {
            let wait = Duration::from_millis(random.random_range(20..300));
            match timeout(wait, follow.next()).await {
                Ok(Ok(next)) => {
                    if let Some(text) = self.take(next, &mut last, host, services.shard().address())
                    {
                        return Some(format!("{}: {text}", host.name));
                    }
                    let happenings = &host.shared.followers.happenings;
                    let (keyspace, partitions) = (self.keyspace, &self.partitions);
                    let given = happenings.give(&host.shared, services, keyspace, partitions);
                    self.token = self.again(&follow).map(|token| (token, given));
                }
                Ok(Err(_)) => break,
                Err(_) if random.random_bool(0.5) => break,
                Err(_) => {}
            }
        }
        host.shared.followers.begun.borrow_mut().add(follow.begun());
        if follow.is_current() {
            self.compare(host, services)
        } else {
            None
        }
    }

    /// The token, as it comes back from its text.
    fn again(&self, follow: &Follow) -> Option<Token> {
        let token = follow.token();
        let again = token.to_string().parse().ok();
        assert_eq!(again, Some(token));
        again
    }

    pub(crate) fn take(
        &mut self,
        next: Next,
        last: &mut Last,
        host: &Host,
        here: ShardAddress,
    ) -> Option<String> {
        match next {
            Next::Records {
                partition,
                begins,
                records,
                ..
            } => {
                if begins == Some(Scope::Complete) {
                    self.given.retain(|_, given| given.partition != partition);
                    // All of the partition comes again, in the order of another log.
                    last.retain(|(_, at), _| *at != partition);
                }
                records
                    .into_iter()
                    .for_each(|entry| self.give(entry, host, here));
            }
            Next::Entries(entries) => {
                for entry in entries {
                    let position = entry.position();
                    let is_new = |before: Version| position.sequence > before;
                    let place = (position.origin, entry.partition);
                    if !entry.copy
                        && let Some(before) = last.insert(place, position.sequence)
                        && !is_new(before)
                    {
                        return Some(format!(
                            "follower {} is given {position:?} behind {before}",
                            self.number
                        ));
                    }
                    self.give(entry, host, here);
                }
            }
        }
        None
    }

    fn give(&mut self, entry: Entry, host: &Host, here: ShardAddress) {
        let all = &host.shared.followers;
        let given = Given {
            partition: entry.partition,
            rank: entry.rank(),
            position: entry.position(),
            delete: entry.kind == Kind::Delete,
            expiry_ms: entry.expiry_ms,
        };
        let mut shown = all.shown.borrow_mut();
        let place = (self.keyspace, entry.key.clone());
        let before = shown.get(&place);
        if before.is_none_or(|before| before.rank < given.rank) {
            shown.insert(place, given.clone());
            if !is_held(host, here, &entry, &given) {
                all.miss(format!(
                    "follower {} at {} was shown {given:?} (copy {}, position {:?}) of key {} of keyspace {} at {} ms, which no majority of its replicas has",
                    self.number,
                    host.name,
                    entry.copy,
                    entry.position(),
                    entry.key.escape_ascii(),
                    self.keyspace,
                    host.shared.time.elapsed_ms(),
                ));
            }
        }
        let held = self.given.get(&entry.key);
        if held.is_none_or(|held| held.rank < given.rank) {
            self.given.insert(entry.key.clone(), given);
        }
    }

    /// Whether it was given all that the shard holds, whose log it has read to its end.
    fn compare(&self, host: &Host, services: &Services) -> Option<String> {
        let shared = &host.shared;
        // What is logged may be shown a moment before it is stored.
        if services.shard().store().applied() < services.shard().log_last() {
            return None;
        }
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
            let forgotten = self.given.iter().filter(|(key, given)| {
                given.partition == *partition
                    && !given.delete
                    && given.expiry_ms.is_none()
                    && shared.plan.keeps_all()
                    && !page.items.iter().any(|(held, _)| held == *key)
            });
            // What it was shown elsewhere a moment ago may not be here yet: nobody could tell it more.
            let known = services.shard().vector();
            let (heard, unheard): (Vec<_>, Vec<_>) = forgotten.partition(|(_, given)| {
                known.get(given.position.origin) >= given.position.sequence
            });
            let exempt = &shared.followers.unheard;
            exempt.set(exempt.get() + unheard.len() as u64);
            if let Some((key, given)) = heard.first() {
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

/// Whether a majority of an entry's replicas has it, or what beats it, as far as can be said: of those that do
/// not run it may be, and where disks are lost, or replicas change, nothing is asked.
fn is_held(host: &Host, here: ShardAddress, entry: &Entry, given: &Given) -> bool {
    let (shared, plan) = (&host.shared, &host.shared.plan);
    let number = shared.keyspaces.iter().position(|k| *k == entry.keyspace);
    let keeps = |number: usize| plan.is_durable(number) && !plan.forgets_deletes(number);
    let topology = shared.metadata.topology().borrow().clone();
    if !plan.keeps_disks() || plan.moves || !number.is_some_and(keeps) || given.expiry_ms.is_some()
    {
        return true;
    }
    let placement = dunlin_node::Placement::compute(&topology);
    let Some(placed) = placement.keyspace(entry.keyspace) else {
        return true;
    };
    let replicas = placed.replicas(entry.partition, placed.width(entry.from));
    let shards = shared.followers.shards.borrow();
    let lacks = |replica: &&ShardAddress| {
        if **replica == here {
            // It is in its log, and may not be in its store yet.
            return false;
        }
        let shard = shards.get(replica).and_then(Weak::upgrade);
        shard.is_some_and(|services| {
            let bound = Bound::Included(&entry.key[..]);
            let (keyspace, partition) = (entry.keyspace, entry.partition);
            let store = services.shard().store();
            let page = store.scan_page(keyspace, partition, bound, bound, 1, usize::MAX, None);
            page.is_ok_and(|page| page.items.iter().all(|(_, held)| held.rank() < given.rank))
        })
    };
    replicas.iter().filter(lacks).count() <= replicas.len() - (replicas.len() / 2 + 1)
}
