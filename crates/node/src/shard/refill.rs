//! A shard whose past is not certain does not answer for keys before every replica has given it
//! what it should hold: its "absent" would count as knowledge. It takes writes like any other.
//! So does one that has just started, for the moment until others have been heard who may know
//! better (decision 22).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dunlin_entry::{Origin, Stamp, Vector, Version};
use dunlin_log::disk::Disk;
use dunlin_proto::api::RecoveryStatus;
use dunlin_proto::{Asker, Life, ShardAddress, Told};
use tokio::time::Instant;

use super::lacks::{Filled, Given, Lacks, Source, inherited, lacks};
use super::mark::{is_full, read_json};
use super::past::Doubt;
use super::unsure::Unsure;
use super::{Peer, Shard};
use crate::limits::{HEAR_INTERVAL, HEAR_PATIENCE, HEAR_PATIENCE_MAX};
use crate::replication::address_of;
use crate::sabotage::Sabotage;

/// File in a shard's directory that says over restarts that its past is not certain. Empty, as
/// earlier versions make it, it stands for a shard that was found empty.
pub const REFILL_FILE: &str = "refill";
/// What `dunlin log repair` writes into it.
pub const REFILL_REPAIRED: &str = "\"repaired\"";

/// Whether this shard's past is certain, and what it lacks if not.
pub(super) struct Refill {
    doubt: Cell<Option<Doubt>>,
    /// Others who may know better have not been heard yet.
    unheard: Cell<bool>,
    /// Neither: reads are answered.
    answers: Cell<bool>,
    path: PathBuf,
    /// The mark on disk says so, too.
    is_noted: bool,
    /// Last record of the log at the start.
    opened_at: u64,
    /// No version found at the start is greater.
    floor: Version,
    /// Counts the doubts of this life: what was begun under one says nothing of the next.
    round: Cell<u64>,
    /// What each replica had when it was first heard.
    targets: RefCell<BTreeMap<ShardAddress, Vector>>,
    given: RefCell<BTreeMap<ShardAddress, Given>>,
    /// Entries that were there before this start and came by logs.
    old_entries: Cell<u64>,
    /// Records dropped since the last flush, because others have deleted and forgotten them.
    forgotten: Cell<u64>,
    ending: Cell<bool>,
    /// Backfills under way from others of uncertain past.
    mixing: Cell<u64>,
    /// In this life all were compared with all that the others hold.
    is_compared: Cell<bool>,
    /// Which acknowledgements do not count.
    pub(super) unsure: Unsure,
    /// What others told of themselves.
    told: RefCell<BTreeMap<ShardAddress, Told>>,
}

/// What a backfill is to remember from its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    round: u64,
    old_entries: u64,
}

/// Records that one of uncertain past gives. No refill ends meanwhile.
pub(crate) struct Mixing {
    shard: Rc<Shard>,
    has_met: Cell<bool>,
}

impl Mixing {
    pub fn begin(shard: &Rc<Shard>) -> Mixing {
        let mixing = &shard.refill.mixing;
        mixing.set(mixing.get() + 1);
        Mixing {
            shard: shard.clone(),
            has_met: Cell::new(false),
        }
    }

    /// To be called before any of them is stored: some may have been deleted, and the delete forgotten, which
    /// only comparisons with those of certain past show.
    ///
    /// # Errors
    /// Nothing is to be stored when this shard is whole, or when a restart would not know of it.
    pub fn meets(&self) -> Result<(), String> {
        let refill = &self.shard.refill;
        let doubt = refill.doubt.get().ok_or("this shard is whole")?;
        if doubt.lost_the_end_only() {
            note(&*self.shard.env.disk, &refill.path, Doubt::Mixed)
                .map_err(|error| format!("the refill mark cannot be made: {error}"))?;
            refill.doubt.set(Some(Doubt::Mixed));
        }
        self.has_met.set(true);
        Ok(())
    }
}

impl Drop for Mixing {
    fn drop(&mut self) {
        let refill = &self.shard.refill;
        if self.has_met.get() {
            // Comparisons that began before are made again.
            refill.old_entries.set(refill.old_entries.get() + 1);
        }
        refill.mixing.set(refill.mixing.get().saturating_sub(1));
    }
}

impl Refill {
    /// Of the shard in `dir`; its past is doubted for a reason found at the start, if any. The
    /// mark is on disk when this returns, unless that is full and the next start will find the
    /// same reason.
    ///
    /// # Errors
    /// When the mark cannot be made: without it a restart would answer too early.
    pub fn open(
        disk: &dyn Disk,
        dir: &Path,
        doubt: Option<Doubt>,
        opened_at: u64,
        floor: Version,
    ) -> io::Result<Refill> {
        let path = dir.join(REFILL_FILE);
        let mut is_noted = true;
        if let Some(doubt) = doubt
            && begun(disk, dir) != Some(doubt)
        {
            match note(disk, &path, doubt) {
                Err(full) if is_full(&full) && doubt.lost_the_end_only() => is_noted = false,
                noted => noted?,
            }
        }
        Ok(Refill {
            doubt: Cell::new(doubt),
            unheard: Cell::new(true),
            answers: Cell::new(false),
            path,
            is_noted,
            opened_at,
            floor,
            round: Cell::new(0),
            targets: RefCell::default(),
            given: RefCell::default(),
            old_entries: Cell::new(0),
            forgotten: Cell::new(0),
            ending: Cell::new(false),
            mixing: Cell::new(0),
            is_compared: Cell::new(false),
            unsure: Unsure::new(doubt.is_some()),
            told: RefCell::default(),
        })
    }

    /// Whether the past is doubted.
    pub fn is_begun(&self) -> bool {
        self.doubt.get().is_some()
    }

    /// Whether what led to the doubt may be replaced on disk.
    pub fn is_noted(&self) -> bool {
        self.is_noted
    }

    pub(super) fn set(&self, doubt: Option<Doubt>, unheard: bool) {
        self.doubt.set(doubt);
        self.unheard.set(unheard);
        self.answers.set(doubt.is_none() && !unheard);
    }
}

/// What a mark in the directory says, if there is one.
pub(super) fn begun(disk: &dyn Disk, dir: &Path) -> Option<Doubt> {
    match read_json(disk, &dir.join(REFILL_FILE)) {
        Ok(doubt) => Some(doubt),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // Whatever it cannot be read as, and whyever, it may be there.
        Err(_) => Some(Doubt::Empty),
    }
}

/// Empty or cut short by a crash, the mark stands for the most.
pub(super) fn note(disk: &dyn Disk, path: &Path, doubt: Doubt) -> io::Result<()> {
    let file = disk.open(path, true)?;
    file.set_len(0)?;
    file.write_at(&serde_json::to_vec(&doubt)?, 0)?;
    file.sync()?;
    path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir))
}

impl Shard {
    /// Whether this shard's past is not certain, and it is being filled.
    pub fn is_refilling(&self) -> bool {
        self.refill.doubt.get().is_some()
    }

    /// Whether what this shard's node once said may be forgotten here, as far as is known at the start: its
    /// directory is a copy, or an older one.
    pub(crate) fn may_have_forgotten(&self) -> bool {
        let doubt = self.refill.doubt.get();
        doubt.is_some_and(|d| matches!(d, Doubt::Restored | Doubt::Moved | Doubt::Contradicted))
    }

    /// Whether it answers for what it holds. If not, reads must ask others.
    pub fn answers(&self) -> bool {
        self.refill.answers.get() || self.env.sabotage == Sabotage::AnswerUncertain
    }

    /// Whether the moment after the start is over in which others are to be heard first.
    pub(super) fn has_heard(&self) -> bool {
        !self.refill.unheard.get()
    }

    /// Whether it has begun to answer for what it holds: nothing is to be asked in haste.
    pub(crate) fn is_settled(&self) -> bool {
        self.refill.answers.get()
    }

    /// How this shard's word is to be taken.
    pub(crate) fn life(&self) -> Life {
        Life {
            incarnation: self.origin.incarnation(),
            is_whole: self.refill.answers.get(),
        }
    }

    /// Whether a record found here counts as written, although the past is not certain.
    pub(crate) fn counts(&self, stamp: Stamp) -> bool {
        self.refill.answers.get() || stamp.version > self.refill.floor
    }

    /// Last record of the log that this life found.
    pub(crate) fn opened_at(&self) -> u64 {
        self.refill.opened_at
    }

    /// What this shard says of itself to a peer.
    pub(crate) fn as_asker(&self, peer: &Peer) -> Asker {
        Asker {
            address: self.address,
            incarnation: self.origin.incarnation(),
            opened_at: self.refill.opened_at,
            vouched: self.store.applied(),
            is_settled: self.refill.answers.get() && peer.heard.get(),
        }
    }

    /// Takes note of what another shard says of itself; answers what it said in an earlier life,
    /// if that was more.
    pub(crate) fn told_by(&self, asker: &Asker) -> Option<Told> {
        let mut told = self.refill.told.borrow_mut();
        let before = told.get(&asker.address).copied();
        if asker.is_settled {
            told.insert(asker.address, remember(before, asker));
        }
        contradiction(before, asker)
    }

    /// Another shard was told of more by an earlier life of this one.
    pub(crate) fn contradicted(&self, peer: &Peer, told: Told) {
        // It may have been asked before all had given all they have.
        let is_compared = self.refill.is_compared.get();
        if is_compared || !self.may_doubt() {
            return;
        }
        tracing::info!(
            by = peer.label,
            once = told.vouched,
            now = self.refill.opened_at,
            "it is told that it had more log records once"
        );
        self.doubt_past(Doubt::Contradicted);
    }

    /// Begins a refill, or a further reaching one than is under way, in the middle of a life.
    pub(super) fn doubt_past(&self, doubt: Doubt) {
        if !self.may_doubt() {
            return;
        }
        tracing::warn!(
            "{}: it answers no reads before the other replicas have given it what it lacks",
            doubt.reason()
        );
        self.refill.round.set(self.refill.round.get() + 1);
        self.refill.targets.borrow_mut().clear();
        self.refill.given.borrow_mut().clear();
        self.refill.unsure.doubt();
        self.refill.set(Some(doubt), self.refill.unheard.get());
        if let Err(error) = note(&*self.env.disk, &self.refill.path, doubt) {
            // It goes on in this life, and the next is told the same.
            tracing::warn!(%error, "the refill mark cannot be made");
        }
    }

    /// Whether there is no doubt yet that reaches as far as any.
    fn may_doubt(&self) -> bool {
        let begun = self.refill.doubt.get();
        begun.is_none_or(|begun| begun == Doubt::Moved)
            && self.env.sabotage != Sabotage::AnswerUncertain
    }

    /// Whether a replica has entries of this very shard that are not here.
    fn is_behind_itself(&self, theirs: &Vector) -> bool {
        let mine = self.vector.borrow();
        let of_mine = |(origin, _): &(Origin, Version)| address_of(*origin) == self.address;
        // The last start that the directory knows of was sealed by a later one.
        let last = self.remembered_incarnation;
        let is_more = |(origin, version): (Origin, Version)| {
            if origin.is_seal() {
                last > 0 && version >= Version(last.into())
            } else {
                version > mine.get(origin)
            }
        };
        theirs.iter().filter(of_mine).any(is_more)
    }

    /// Says why the past is doubted, at the start.
    pub(super) fn tell_doubt(&self) {
        match self.refill.doubt.get() {
            None => {}
            Some(Doubt::Empty) => {
                tracing::info!("it holds no data: the other replicas are asked for it");
            }
            Some(doubt) => tracing::warn!(
                "{}: it answers no reads before the other replicas have given it what it lacks",
                doubt.reason()
            ),
        }
    }

    /// Waits for the word of those who can be reached before reads are answered.
    pub(super) async fn hear_loop(self: Rc<Self>) {
        let begun = Instant::now();
        while self.is_unheard(begun) {
            tokio::time::sleep(HEAR_INTERVAL).await;
        }
        self.refill.set(self.refill.doubt.get(), false);
    }

    fn is_unheard(&self, begun: Instant) -> bool {
        let waited = begun.elapsed();
        let peers = self.peers.borrow();
        let mut silent = peers
            .values()
            .filter(|peer| peer.shares.get() && !peer.heard.get())
            .peekable();
        silent.peek().is_some()
            && waited < HEAR_PATIENCE_MAX
            && (waited < HEAR_PATIENCE || silent.any(|peer| peer.caller.is_connected()))
    }

    /// Takes note of a replica's vector, and of the end of the refill if this shard has it all.
    pub(crate) fn refill_heard(self: &Rc<Self>, peer: ShardAddress, theirs: &Vector) {
        if !self.is_refilling() {
            return;
        }
        if self.refill.doubt.get() == Some(Doubt::Moved) && self.is_behind_itself(theirs) {
            // There was a later life, and deletes may have been forgotten since.
            self.doubt_past(Doubt::Contradicted);
        }
        let mut targets = self.refill.targets.borrow_mut();
        // What it has lost since it cannot give.
        let left = |target: &Vector| {
            let left =
                |(origin, version): (Origin, Version)| (origin, version.min(theirs.get(origin)));
            target.iter().map(left).collect()
        };
        let target = targets.get(&peer).map_or_else(|| theirs.clone(), left);
        targets.insert(peer, target);
        drop(targets);
        self.refill.unsure.hear(theirs);
        if self.is_placed()
            && !self
                .lacking()
                .iter()
                .any(|(_, lacks)| *lacks == Lacks::Word)
        {
            self.refill.unsure.all_are_heard();
        }
        self.end_refill_if_whole();
    }

    /// Takes note of an entry that came by a log: one that was written before this start may have
    /// been deleted since, and the delete be forgotten.
    pub(crate) fn refill_meets(&self, origin: Origin, version: Version) {
        if !self.is_refilling() {
            return;
        }
        let targets = self.refill.targets.borrow();
        let target = targets.get(&address_of(origin));
        if target.is_none_or(|target| version <= target.get(origin)) {
            self.refill
                .old_entries
                .set(self.refill.old_entries.get() + 1);
        }
    }

    /// Takes note that records were dropped.
    pub(crate) fn refill_forgot(&self, count: u64) {
        self.refill
            .forgotten
            .set(self.refill.forgotten.get() + count);
    }

    /// To be kept from before a backfill until it has ended.
    pub(crate) fn backfill_begins(&self) -> Begun {
        Begun {
            round: self.refill.round.get(),
            old_entries: self.refill.old_entries.get(),
        }
    }

    /// Takes note of a backfill's end.
    pub(crate) fn refill_given(&self, peer: ShardAddress, begun: Begun, is_compared: bool) {
        if self.is_refilling() && begun.round == self.refill.round.get() {
            let given = Given {
                old_entries: begun.old_entries,
                is_compared,
            };
            self.refill.given.borrow_mut().insert(peer, given);
        }
    }

    /// Whether a backfill from this peer is due: one that began before logs have brought what they
    /// can would have to be made again.
    pub(crate) fn refill_wants(&self, peer: &Peer) -> bool {
        let lacking = self.lacking();
        let is_due = |(of, lacks): &(Rc<Peer>, Lacks)| {
            of.address == peer.address && *lacks == Lacks::Records
        };
        lacking.iter().any(is_due) && lacking.iter().all(|(_, lacks)| *lacks != Lacks::Entries)
    }

    /// Who has not given all yet.
    fn lacking(&self) -> Vec<(Rc<Peer>, Lacks)> {
        let Some(doubt) = self.refill.doubt.get() else {
            return Vec::new();
        };
        let vector = self.vector.borrow();
        let filled = Filled {
            address: self.address,
            origin: self.origin,
            vector: &vector,
            doubt,
            old_entries: self.refill.old_entries.get(),
            own_only: self.env.sabotage == Sabotage::RefillOwnOnly,
        };
        let placement = self.placement();
        let targets = self.refill.targets.borrow();
        let given = self.refill.given.borrow();
        let peers = self.peers.borrow();
        let sharing = peers.values().filter(|peer| peer.shares.get());
        sharing
            .filter_map(|peer| {
                let source = Source {
                    address: peer.address,
                    target: targets.get(&peer.address),
                    now: &peer.vector.borrow(),
                    pulled: &peer.pulled.borrow(),
                    given: given.get(&peer.address).copied(),
                };
                let shares = |writer| placement.share(self.address, writer);
                lacks(&filled, &source, shares).map(|lacks| (peer.clone(), lacks))
            })
            .collect()
    }

    /// The refill under way, for people.
    pub(super) fn refill_status(&self) -> Option<RecoveryStatus> {
        let doubt = self.refill.doubt.get()?;
        let lacking = self.lacking().into_iter();
        let damage = self.damage();
        // What the others give cannot be compared with what is damaged: it waits for nobody.
        let lacking = lacking.filter(|_| damage.is_none());
        Some(RecoveryStatus {
            reason: doubt.reason().to_owned(),
            waits_for: lacking.map(|(peer, _)| peer.label.clone()).collect(),
            damage,
        })
    }

    /// Ends the refill when nothing is missing: at once where there is nobody to ask, as in a
    /// cluster of one, or when this node has left the members and is to hold nothing.
    pub(crate) fn end_refill_if_whole(self: &Rc<Self>) {
        if !self.is_refilling() || !self.is_placed() || !self.lacking().is_empty() {
            return;
        }
        if !self.peers.borrow().values().any(|peer| peer.shares.get()) {
            return self.end_refill();
        }
        if self.refill.mixing.get() > 0 || self.refill.ending.replace(true) {
            return;
        }
        let shard = self.clone();
        tokio::task::spawn_local(async move {
            let settled = shard.settle_refill().await;
            shard.refill.ending.set(false);
            match settled {
                // What came meanwhile may want another look.
                Ok(()) if shard.refill.mixing.get() == 0 && shard.lacking().is_empty() => {
                    shard.end_refill();
                }
                Ok(()) => {}
                Err(error) => tracing::warn!(error, "a refill does not end; trying again"),
            }
        });
    }

    /// Whether it has heard of the cluster: before, it cannot tell whom to ask.
    fn is_placed(&self) -> bool {
        self.placement().nodes.contains_key(&self.address.node)
    }

    /// What is here must be applied before it is answered for, what was dropped must stay so, and
    /// nobody who left is to be asked again for what it wrote.
    async fn settle_refill(&self) -> Result<(), String> {
        let placement = self.placement();
        let shares = |writer| placement.share(self.address, writer);
        let inherited = inherited(self.address, self.refill.targets.borrow().values(), shares);
        let claims: Vec<_> = {
            let mine = self.vector.borrow();
            let is_news = |(origin, version): &(Origin, Version)| mine.get(*origin) < *version;
            inherited.iter().filter(is_news).collect()
        };
        if !claims.is_empty() && self.env.sabotage != Sabotage::RefillOwnOnly {
            self.claim_aside(&claims).await?;
        }
        if !self.all_applied().await {
            return Err("the own log failed".to_owned());
        }
        let forgotten = self.refill.forgotten.get();
        if forgotten > 0 {
            self.flush().await?;
            self.refill
                .forgotten
                .set(self.refill.forgotten.get() - forgotten);
        }
        Ok(())
    }

    fn end_refill(self: &Rc<Self>) {
        let Some(doubt) = self.refill.doubt.get() else {
            return;
        };
        self.refill.unsure.all_are_heard();
        self.refill.set(None, self.refill.unheard.get());
        if !doubt.lost_the_end_only() {
            self.refill.is_compared.set(true);
        }
        tracing::info!(
            because = doubt.reason(),
            "every replica has given what this shard should hold"
        );
        if let Err(error) = self.env.disk.remove(&self.refill.path) {
            // Only the next start is the slower for it.
            tracing::warn!(%error, "the refill mark stays");
        }
        // Of a log that was doubted nothing was known; now the vector tells what is here.
        let shard = self.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = shard.claim_aside(&[]).await {
                tracing::warn!(error, "the log serves less than it could");
            }
        });
    }
}

/// What is remembered of a shard that says this of itself and answers for it.
fn remember(before: Option<Told>, asker: &Asker) -> Told {
    let vouched = match before {
        Some(before) if before.incarnation == asker.incarnation => {
            before.vouched.max(asker.vouched)
        }
        // A shard that was emptied, and filled again, begins its log anew.
        _ => asker.vouched,
    };
    Told {
        incarnation: asker.incarnation,
        vouched,
    }
}

/// What an earlier life of the asker vouched for, if it is more than the asker found.
fn contradiction(before: Option<Told>, asker: &Asker) -> Option<Told> {
    before.filter(|before| {
        !asker.is_settled
            && before.incarnation < asker.incarnation
            && before.vouched > asker.opened_at
    })
}

#[cfg(test)]
#[path = "refill_tests.rs"]
mod tests;
