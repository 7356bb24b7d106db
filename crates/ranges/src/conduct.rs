//! A leader takes its range from the replicas that it has to those that it should have, one step at a time, and
//! publishes its replicas.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_metadata::{Keyspace, RangeReplica, RangeReplicas};
use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use tokio::time::sleep;

use crate::descriptor::{Change, Descriptor, Entry, Member};
use crate::group::{Group, keyspace_of, number_of};
use crate::next_step::{Known, Progress, Repair, next_step};
use crate::plug::Part;
use crate::prepare::{ReplicaReply, ReplicaRequest};
use crate::ranges::AtShard;
use crate::stamps;
use crate::wire::{NUMBER, PREPARE, PROBE};

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Pause between two publications.
const PUBLISH: Duration = Duration::from_millis(500);
/// All is calm when it was as it should be at so many looks in a row.
const CALM_LOOKS: u32 = 40;
/// Timestamps may be so far ahead of the clock, in milliseconds, when a leader hands over; its successor takes them further.
const AHEAD_MS: u64 = 2_000;
/// How long another shard may take to answer.
const WITHIN: Duration = Duration::from_secs(5);

impl AtShard {
    /// Goes on for as long as the shard runs.
    pub async fn conduct(self: Rc<Self>) {
        loop {
            sleep(LOOK).await;
            let Some(services) = self.services.upgrade() else {
                return;
            };
            for group in self.led() {
                // One that waits for another shard holds nobody up.
                if group.others.is_conducted.replace(true) {
                    continue;
                }
                let (own, services) = (self.clone(), services.clone());
                tokio::task::spawn_local(async move {
                    own.step(&services, &group).await;
                    group.others.is_conducted.set(false);
                });
            }
        }
    }

    /// Publishes the replicas of ranges that are led here, where they have changed, and plans where they should be, for as
    /// long as the shard runs. The metadata store may not answer for long: no step waits for it.
    pub async fn publish(self: Rc<Self>) {
        let mut seen = None;
        loop {
            sleep(PUBLISH).await;
            let Some(services) = self.services.upgrade() else {
                return;
            };
            let led = self.led();
            // Where it fails the next look tries again.
            for (keyspace, now) in due(&services, &led) {
                if let Err(error) = services.publish_ranges(&keyspace, &now).await {
                    tracing::info!(%error, keyspace = keyspace.name, "the replicas of ranges are not published yet");
                }
            }
            if led.is_empty() {
                continue;
            }
            match services.plan_ranges(&mut seen).await {
                Ok(0) => {}
                Ok(keyspaces) => tracing::info!(keyspaces, "ranges get other places"),
                Err(error) => {
                    tracing::info!(%error, "it is not planned yet where ranges should be")
                }
            }
        }
    }

    fn led(&self) -> Vec<Rc<Group>> {
        let groups = self.groups.borrow();
        let led = groups.values().filter(|group| group.serves());
        led.cloned().collect()
    }

    /// Looks for the next step of a range, and begins it.
    async fn step(self: &Rc<Self>, services: &Rc<Services>, group: &Rc<Group>) {
        let id = keyspace_of(group.id);
        let Some(keyspace) = services.transactional_keyspace(id) else {
            return;
        };
        let Some(record) = keyspace.range(number_of(group.id)) else {
            return;
        };
        let Some(descriptor) = group.others.descriptor.borrow().clone() else {
            return;
        };
        let target = record.target.iter().map(|place| ShardAddress {
            node: place.node,
            shard: place.shard,
        });
        let target: Vec<ShardAddress> = target.collect();
        let progress = self.progress(services, group, &descriptor).await;
        let last = group.node.borrow().raft.raft_log.last_index();
        let step = next_step(&Known {
            descriptor: &descriptor,
            target: &target,
            planned: record.planned,
            is_calm: group.others.calm.get() >= CALM_LOOKS,
            may_transfer: ahead_ms(services, group) < AHEAD_MS,
            own: group.others.own,
            progress: &progress,
            last,
        });
        let is_well = progress.values().all(|one| one.can_lead(last));
        let calm = &group.others.calm;
        match step {
            Repair::Nothing if is_well => calm.set(calm.get().saturating_add(1)),
            Repair::Follow | Repair::Transfer(_) => {}
            _ => calm.set(0),
        }
        let before = group.others.step.replace(Some(step.clone()));
        if before.as_ref() != Some(&step) && step != Repair::Nothing {
            tracing::info!(
                keyspace = keyspace.name,
                range = record.number,
                ?step,
                "the replicas of a range change"
            );
        }
        let change = match step {
            Repair::Nothing | Repair::Wait(_) => return,
            Repair::Transfer(to) => {
                if !self.hand_over(group, to).await {
                    // Requests were held meanwhile: not again at once.
                    calm.set(0);
                }
                return;
            }
            Repair::Leave => Change::Leave,
            Repair::Follow => Change::Follow {
                target: record.planned,
                leader: group.others.own,
            },
            Repair::Remove(id) => Change::Remove(id),
            Repair::Enter { add, remove } => Change::Enter { add, remove },
            Repair::Prepare(at) => {
                let request = ReplicaRequest {
                    group: group.id,
                    id: descriptor.next,
                    number: descriptor.config,
                };
                match self.send_to(services, at, PREPARE, request).await {
                    ReplicaReply::Yes(directory) => Change::AddLearner {
                        id: descriptor.next,
                        at,
                        directory,
                    },
                    ReplicaReply::No | ReplicaReply::Unknown => return,
                }
            }
        };
        // A former leader proposes nothing, and a change made for another configuration does not count.
        let config = descriptor.config;
        group.others.change.replace(Some(Entry { config, change }));
        self.touch(group);
    }

    /// The progress of the other replicas. The shard of a replica that does not take entries is probed: the data may be lost.
    async fn progress(
        self: &Rc<Self>,
        services: &Rc<Services>,
        group: &Group,
        descriptor: &Descriptor,
    ) -> BTreeMap<u64, Progress> {
        let mut known = BTreeMap::new();
        for member in &descriptor.members {
            if member.id == group.others.own {
                continue;
            }
            let mut progress = (group.others).progress(&group.node.borrow(), member.id);
            if !progress.is_active || !progress.replicates {
                let request = ReplicaRequest {
                    group: group.id,
                    id: member.id,
                    number: member.directory,
                };
                let reply = self.send_to(services, member.at, PROBE, request).await;
                progress.is_lost = reply == ReplicaReply::No;
            }
            progress.has_wrong_clock = group.is_oracle && services.has_wrong_clock(member.at.node);
            known.insert(member.id, progress);
        }
        known
    }

    /// Sends a request about a replica to a shard; one that cannot be reached says nothing.
    async fn send_to(
        self: &Rc<Self>,
        services: &Rc<Services>,
        at: ShardAddress,
        kind: u8,
        request: ReplicaRequest,
    ) -> ReplicaReply {
        if at == services.shard().address() {
            return self.answer(services, kind, request).await;
        }
        if !services.is_reachable(at) {
            return ReplicaReply::Unknown;
        }
        let answer = services.ask(at, NUMBER, request.encode(kind), WITHIN).await;
        answer.map_or(ReplicaReply::Unknown, ReplicaReply::decode)
    }
}

/// The keyspaces whose ranges are led here by newer configurations than their records have, with the replicas.
fn due(services: &Services, led: &[Rc<Group>]) -> Vec<(Arc<Keyspace>, Vec<RangeReplicas>)> {
    let mut due = BTreeMap::new();
    for group in led {
        let (id, number) = (keyspace_of(group.id), number_of(group.id));
        let Some(keyspace) = services.transactional_keyspace(id) else {
            continue;
        };
        let published = keyspace.range(number).map(|range| range.config);
        let descriptor = group.others.descriptor.borrow();
        if let Some((descriptor, published)) = descriptor.as_ref().zip(published)
            && descriptor.config > published
            // A restart must not fall back behind a configuration that others have acted by.
            && !group.persisting.borrow().iter().any(|one| one.has_change)
            && is_known(group, descriptor)
        {
            let (_, ranges) = due.entry(id).or_insert_with(|| (keyspace, Vec::new()));
            ranges.push(replicas(number, descriptor));
        }
    }
    due.into_values().collect()
}

/// Whether a majority of the voters knows that a configuration is committed. Replicas that it does not name may go then:
/// the others can elect a leader without them, and without this one.
fn is_known(group: &Group, descriptor: &Descriptor) -> bool {
    let node = group.node.borrow();
    let knows = |member: &&Member| {
        member.id == group.others.own || group.others.progress(&node, member.id).knows
    };
    let (knowing, all) = (
        descriptor.voters().filter(knows).count(),
        descriptor.voters().count(),
    );
    2 * knowing > all
}

/// How far timestamps are ahead of the clock, as far as is known here.
fn ahead_ms(services: &Services, group: &Group) -> u64 {
    let given = services.find::<Part>();
    let given = given.map_or(Version(0), |part| part.stamps.last());
    stamps::ahead_ms(services, group.meta.get().greatest.max(given))
}

fn replicas(number: u16, descriptor: &Descriptor) -> RangeReplicas {
    let members = descriptor.members.iter().map(|member| RangeReplica {
        id: member.id,
        node: member.at.node,
        shard: member.at.shard,
        directory: Some(member.directory),
    });
    RangeReplicas {
        number,
        config: descriptor.config,
        followed: descriptor.target,
        replicas: members.collect(),
    }
}
