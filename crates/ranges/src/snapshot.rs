//! A whole range to a replica that is too far behind: fetched beside what it has, put in its place in one step that
//! is flushed, and only then told to raft.

use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_node::Services;
use dunlin_node::plug::PlugItems;
use dunlin_proto::{CANNOT, Response};
use dunlin_raftlog::Position;
use dunlin_rpc::Sink;
use dunlin_versions::{Meta, Row, Store};
use raft::eraftpb::{Message, MessageType};
use tokio::time::{Instant, sleep, timeout};

use crate::descriptor::Descriptor;
use crate::group::{Group, Inbound, Sent, applied};
use crate::hold::Copied;
use crate::plug::at_shard;
use crate::ranges::{AtShard, COPIES_MAX};
use crate::wire::{NUMBER, SNAPSHOT, get_bytes, put_bytes};

/// Bytes of rows sent at once.
const PAGE_BYTES: usize = 256 << 10;
/// Bytes of them that may be under way.
const WINDOW_BYTES: usize = 1 << 20;
/// How long a leader may send nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a fetch that failed.
const PAUSE: Duration = Duration::from_secs(1);

impl AtShard {
    /// Whether what a message offers must be in the store before raft hears of it.
    pub fn is_fetched_first(&self, group: &Group, message: &Message) -> bool {
        message.get_msg_type() == MessageType::MsgSnapshot
            && message.get_snapshot().get_metadata().index > group.meta.get().applied
    }

    /// Fetches the snapshot that a leader offers, unless one is being fetched.
    pub fn fetch(&self, group: &Group, offer: Box<Message>) {
        if group.is_fetching.replace(true) {
            return;
        }
        let (Some(services), id) = (self.services.upgrade(), group.id) else {
            return;
        };
        tokio::task::spawn_local(async move {
            let Some(own) = at_shard(&services) else {
                return;
            };
            let Some(group) = own.group(id) else { return };
            // The leader offers it again meanwhile, in vain.
            let Ok(_permit) = own.copies.acquire().await else {
                return;
            };
            tracing::info!(
                range = id,
                replica = group.others.own,
                "a copy of a range is fetched"
            );
            match own.install(&services, &group, &offer).await {
                Ok((position, descriptor)) => {
                    let (replica, index) = (group.others.own, position.index);
                    tracing::info!(range = id, replica, index, "a copy of a range is here");
                    group
                        .counters
                        .snapshots
                        .set(group.counters.snapshots.get() + 1);
                    let mut message = offer;
                    message.set_snapshot(group.storage.head(position));
                    own.receive(&group, Inbound::Installed(message, descriptor));
                }
                Err(why) => {
                    tracing::info!(range = id, why, "a snapshot of a range is fetched later");
                    sleep(PAUSE).await;
                }
            }
            group.is_fetching.set(false);
        });
    }

    /// Loads the rows of a copy into a place of the store, to the last.
    async fn fill(&self, place: u32, items: &mut PlugItems) -> Result<(), String> {
        while let Some(item) = next_item(items).await? {
            let (rows, is_last) = decode_rows(item).ok_or("a page of it cannot be read")?;
            self.behind(move |store| store.load(place, &rows)).await?;
            if is_last {
                return Ok(());
            }
        }
        Err("it ended too early".to_owned())
    }

    /// Fetches it and puts it in the place of what there is.
    async fn install(
        self: &Rc<Self>,
        services: &Rc<Services>,
        group: &Rc<Group>,
        offer: &Message,
    ) -> Result<(Position, Descriptor), String> {
        let (at, directory) = (group.others.find(offer.from)).ok_or("an unknown leader")?;
        let mut asked = BytesMut::with_capacity(33);
        asked.put_u8(SNAPSHOT);
        asked.put_u64_le(group.id);
        asked.put_u64_le(group.others.own);
        asked.put_u64_le(group.meta.get().directory);
        asked.put_u64_le(directory);
        let opened = services
            .open(at, NUMBER, asked.freeze(), WINDOW_BYTES)
            .await;
        let mut items = opened.map_err(|error| error.to_string())?;
        let head = next_item(&mut items).await?;
        let head = decode_head(head.ok_or("it ended before it began")?);
        let (told, descriptor) = head.ok_or("its head cannot be read")?;
        // `raft` ignores one that does not name it: store and log would differ for good.
        if descriptor.member(group.others.own).is_none() {
            return Err("it is of a time when this was no replica yet".to_owned());
        }
        let place = self.take_place();
        if let Err(why) = self.fill(place, &mut items).await {
            self.clear_behind(place);
            return Err(why);
        }
        let before = group.meta.get();
        let is_there = || {
            let now = self.group(group.id);
            now.is_some_and(|now| Rc::ptr_eq(&now, group))
        };
        if told.applied <= before.applied || !is_there() {
            self.clear_behind(place);
            return Err("what is here is newer, or is no more".to_owned());
        }
        let meta = Meta {
            own: before.own,
            directory: before.directory,
            config: before.config,
            place,
            is_mute: before.is_mute,
            ..told
        };
        let position = applied(&meta);
        let state = self.behind(move |store| store.state(&meta)).await?;
        if told.applied <= group.meta.get().applied || !is_there() {
            self.clear_behind(place);
            return Err("what is here is newer, or is no more".to_owned());
        }
        // From here to the end of this step nothing is waited for.
        *group.state.borrow_mut() = state;
        self.store
            .set_with(group.id, &meta, &descriptor.encode())
            .map_err(|error| error.to_string())?;
        self.set_meta(group, meta);
        group.storage.set_configuration(descriptor.conf_state());
        self.behind(Store::flush).await?;
        self.clear_behind(before.place);
        Ok((position, descriptor))
    }

    /// Sends all rows of a range to another replica of it.
    pub async fn send_snapshot(self: Rc<Self>, asked: Bytes, mut sink: Sink<Response>) {
        let Some((group, who)) = self.is_asked_by_replica(asked) else {
            return sink.refuse(CANNOT, "this replica is not the one that was asked");
        };
        if self.sending() >= COPIES_MAX || !group.others.may_copy() {
            return sink.refuse(
                CANNOT,
                "copies are sent to others, or writes are too fast for one",
            );
        }
        let meta = group.meta.get();
        let serving = Serving::begin(&group, who, self.store.about_bytes(meta.place));
        let mut rows = self.store.rows(&meta);
        let head = match self.store.descriptor(group.id) {
            Ok(Some(descriptor)) => encode_head(&meta, &descriptor),
            _ => return sink.refuse(CANNOT, "this replica has nothing yet"),
        };
        if sink.send(Response::Plug(head)).await.is_err() {
            return;
        }
        let Some(services) = self.services.upgrade() else {
            return;
        };
        let mut throttle = services.copy_throttle();
        drop(services);
        loop {
            let start = Instant::now();
            let read = move || {
                let page = rows.next(PAGE_BYTES);
                (rows, page)
            };
            let (back, page) = match self.runner.run_read_after(read).await {
                Ok((back, Ok(page))) => (back, page),
                Ok((_, Err(error))) => return sink.refuse(CANNOT, &error.to_string()),
                Err(gone) => return sink.refuse(CANNOT, &gone.to_string()),
            };
            rows = back;
            if !serving.is_held() {
                return sink.refuse(CANNOT, "writes are too fast for a copy");
            }
            let is_last = rows.is_over();
            let item = encode_rows(&page, is_last);
            let bytes = item.len();
            serving.sends(bytes as u64);
            if sink.send(Response::Plug(item)).await.is_err() {
                return;
            }
            let pause = throttle(bytes, start.elapsed());
            // Clients who write would wait longer for a copy that is too slow for the entries behind it.
            if !group.others.is_urgent() && !is_last {
                sleep(pause).await;
            }
            if is_last {
                return sink.end();
            }
        }
    }

    /// Copies that are sent from this shard.
    fn sending(&self) -> usize {
        let groups = self.groups.borrow();
        let sending = groups.values().map(|group| group.serving.borrow().len());
        sending.sum()
    }

    fn is_asked_by_replica(&self, mut asked: Bytes) -> Option<(Rc<Group>, u64)> {
        let group = self.group(asked.try_get_u64_le().ok()?)?;
        let who = asked.try_get_u64_le().ok()?;
        let told_by = asked.try_get_u64_le().ok()?;
        let told_to = asked.try_get_u64_le().ok()?;
        let known = group.others.find(who).map(|(_, directory)| directory);
        let is_ours = told_to == group.meta.get().directory && group.failed.borrow().is_none();
        (known == Some(told_by) && is_ours).then_some((group, who))
    }
}

/// A replica that is being sent a snapshot.
struct Serving {
    group: Rc<Group>,
    who: u64,
    since: Instant,
}

impl Serving {
    fn begin(group: &Rc<Group>, who: u64, about_bytes: u64) -> Serving {
        let mut serving = group.serving.borrow_mut();
        let sent = serving.entry(who).or_default();
        *sent = Sent {
            streams: sent.streams + 1,
            about_bytes,
            ..Sent::default()
        };
        let index = group.meta.get().applied;
        let copy = Copied { index, ended: None };
        group.others.copies.borrow_mut().insert(who, copy);
        Serving {
            group: group.clone(),
            who,
            since: Instant::now(),
        }
    }

    /// More of it is on its way.
    fn sends(&self, bytes: u64) {
        let copied = &self.group.counters.copied_bytes;
        copied.set(copied.get() + bytes);
        if let Some(sent) = self.group.serving.borrow_mut().get_mut(&self.who) {
            sent.bytes += bytes;
            sent.about_bytes = sent.about_bytes.max(sent.bytes);
            let ms = self.since.elapsed().as_millis().max(1) as u64;
            sent.bytes_per_s = sent.bytes.saturating_mul(1_000) / ms;
        }
    }

    /// Whether the entries behind the copy are held: without them it would be in vain.
    fn is_held(&self) -> bool {
        let copies = self.group.others.copies.borrow();
        copies.contains_key(&self.who)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let mut serving = self.group.serving.borrow_mut();
        if let Some(sent) = serving.get_mut(&self.who) {
            sent.streams -= 1;
        }
        serving.retain(|_, sent| sent.streams > 0);
        let is_over = !serving.contains_key(&self.who);
        if let Some(copy) = self.group.others.copies.borrow_mut().get_mut(&self.who) {
            copy.ended = is_over.then(Instant::now);
        }
    }
}

fn encode_head(meta: &Meta, descriptor: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(40 + descriptor.len());
    out.put_u64_le(meta.applied);
    out.put_u64_le(meta.term);
    out.put_u64_le(meta.greatest.0);
    out.put_u64_le(meta.watermark.0);
    out.put_u64_le(meta.drops);
    out.put_slice(descriptor);
    out.freeze()
}

/// The next piece of a copy; a leader that stands still holds up no other.
async fn next_item(items: &mut PlugItems) -> Result<Option<Bytes>, String> {
    let item = timeout(PATIENCE, items.next()).await;
    let item = item.map_err(|_| "its leader sends nothing".to_owned())?;
    item.transpose().map_err(|error| error.to_string())
}

fn decode_head(mut from: Bytes) -> Option<(Meta, Descriptor)> {
    let meta = Meta {
        applied: from.try_get_u64_le().ok()?,
        term: from.try_get_u64_le().ok()?,
        greatest: Version(from.try_get_u64_le().ok()?),
        watermark: Version(from.try_get_u64_le().ok()?),
        drops: from.try_get_u64_le().ok()?,
        ..Meta::default()
    };
    Some((meta, Descriptor::decode(from).ok()?))
}

fn encode_rows(rows: &[Row], is_last: bool) -> Bytes {
    let bytes: usize = rows
        .iter()
        .map(|(row, value)| row.len() + value.len() + 8)
        .sum();
    let mut out = BytesMut::with_capacity(1 + bytes);
    out.put_u8(is_last.into());
    for (row, value) in rows {
        put_bytes(&mut out, row);
        put_bytes(&mut out, value);
    }
    out.freeze()
}

fn decode_rows(mut from: Bytes) -> Option<(Vec<Row>, bool)> {
    let is_last = from.try_get_u8().ok()? != 0;
    let mut rows = Vec::new();
    while from.has_remaining() {
        rows.push((get_bytes(&mut from).ok()?, get_bytes(&mut from).ok()?));
    }
    Some((rows, is_last))
}
