//! Connections of senders, answered.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_secret::{Door, Guard};

use super::active::Active;
use super::digest;
use super::install;
use super::opening::Opening;
use super::place::Place;
use super::progress::Received;
use super::state::{Journal, State};
use super::unit::Writer;
use crate::CopyError;
use crate::error::RefusalCode;
use crate::gate::Gate;
use crate::plan::Plan;
use crate::wire::frame;
use crate::wire::link::{BUSY_EVERY, Link, Received as Incoming};
use crate::wire::message::{self, DigestRequest, Found, Holds, Opened, kind};
use crate::wire::refusal;

/// How long connections may take to notice that their sender has gone.
const LEAVING_MAX: Duration = Duration::from_secs(10);

/// Before the next look for a connection, where one could not be taken.
const PAUSE: Duration = Duration::from_millis(200);
/// No two lines about that within this.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// A target directory that takes copies.
pub struct Receiver {
    place: Place,
    gate: Gate,
    guard: Arc<Guard>,
    opening: Opening,
    received: Arc<Received>,
    state: Mutex<Taken>,
    is_whole: AtomicBool,
}

/// The copy under way, and who carries it.
#[derive(Default)]
struct Taken {
    active: Option<Arc<Active>>,
    finished: Option<u128>,
}

impl Receiver {
    /// A receiver into `directory`, which need not exist.
    pub fn new(directory: PathBuf) -> Receiver {
        Receiver {
            place: Place { directory },
            gate: Gate::default(),
            guard: Guard::off(Door::Copy),
            opening: Opening::default(),
            received: Arc::default(),
            state: Mutex::default(),
            is_whole: AtomicBool::new(false),
        }
    }

    /// One that takes them only from those who prove what `guard` asks for.
    #[must_use]
    pub fn guarded_by(self, guard: Arc<Guard>) -> Receiver {
        Receiver { guard, ..self }
    }

    /// What has been received so far.
    pub fn received(&self) -> &Arc<Received> {
        &self.received
    }

    /// Whether a copy has become whole here since the start.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Acquire)
    }

    /// Serves connections for ever, each on a thread of its own; `complain` hears of those that
    /// ended badly, and now and then of those that could not be taken.
    pub fn serve(
        self: &Arc<Self>,
        listener: &TcpListener,
        complain: impl Fn(&str) + Clone + Send + 'static,
    ) -> ! {
        let mut told: Option<Instant> = None;
        loop {
            if let Err(error) = self.take_one(listener, &complain) {
                // Usually the process has run out of descriptors or threads; others end, and it goes on.
                if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
                    told = Some(Instant::now());
                    complain(&format!("a connection could not be taken: {error}"));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn take_one(
        self: &Arc<Self>,
        listener: &TcpListener,
        complain: &(impl Fn(&str) + Clone + Send + 'static),
    ) -> std::io::Result<()> {
        let (stream, peer) = listener.accept()?;
        let number = self.opening.enter(&stream)?;
        let (receiver, complain) = (Arc::clone(self), complain.clone());
        let thread = std::thread::Builder::new().name(format!("copy {peer}"));
        let started = thread.spawn(move || {
            if let Some(line) = receiver.serve_stream(stream, &peer.to_string(), number) {
                complain(&line);
            }
        });
        if started.is_err() {
            self.opening.leave(number);
        }
        started.map(drop)
    }

    /// Serves one, and returns the line about it if it ended badly.
    fn serve_stream(&self, stream: TcpStream, peer: &str, number: u64) -> Option<String> {
        let link = Link::accept(stream, peer, &self.gate, &self.guard);
        let gave_way = !self.opening.leave(number);
        match link {
            Ok(link) => self.serve_link(link).err().map(|error| error.to_string()),
            Err(error) => self.opening.line(&error, gave_way),
        }
    }

    /// Serves one connection to its end.
    pub(crate) fn serve_link(&self, mut link: Link) -> Result<(), CopyError> {
        match self.converse(&mut link) {
            // Senders hang up when they are done, or because they were killed.
            Err(CopyError::Lost { .. }) | Ok(()) => Ok(()),
            Err(error) => {
                let _ = link.send(kind::REFUSED, refusal::encode(&error));
                link.close();
                Err(error)
            }
        }
    }

    fn converse(&self, link: &mut Link) -> Result<(), CopyError> {
        let mut reading = None;
        loop {
            let incoming = link.receive()?;
            match incoming.kind {
                kind::LOOK => {
                    let found = patiently(link, || self.look())?;
                    link.send(kind::FOUND, json(&found)?)?;
                }
                kind::OPEN => {
                    let plan: Plan = serde_json::from_slice(&incoming.body)
                        .map_err(|error| CopyError::Refused(format!("a bad plan: {error}")))?;
                    drop(incoming);
                    let active = patiently(link, || self.open(plan))?;
                    link.send(kind::OPENED, opened(&active)?)?;
                }
                kind::ATTACH => {
                    let id = message::decode_id(&incoming.body);
                    let id = id.map_err(|_| link.out_of_turn(kind::ATTACH))?;
                    let active = patiently(link, || self.attach(id))?;
                    link.send(kind::OPENED, opened(&active)?)?;
                    return self.units(link, &active);
                }
                kind::FINISH => {
                    let id = message::decode_id(&incoming.body);
                    let id = id.map_err(|_| link.out_of_turn(kind::FINISH))?;
                    let finished = patiently(link, || self.finish(id))?;
                    link.send(kind::FINISHED, finished)?;
                    // Only now: the process may be about to end because of it.
                    self.is_whole.store(true, Ordering::Release);
                }
                kind::DIGEST => {
                    let asked = DigestRequest::decode(&incoming.body);
                    let asked = asked.map_err(|_| link.out_of_turn(kind::DIGEST))?;
                    let tally = patiently(link, || {
                        let db = match &mut reading {
                            Some(db) => db,
                            none => none.insert(digest::open(&self.place.directory)?),
                        };
                        digest::digest(db, &asked, &self.gate, &mut None, |pairs, bytes| {
                            self.received.add(pairs, bytes);
                            Ok(())
                        })
                    })?;
                    link.send(kind::DIGESTED, message::encode_tally(&tally))?;
                }
                other => return Err(link.out_of_turn(other)),
            }
        }
    }

    /// Units, until the sender hangs up.
    fn units(&self, link: &mut Link, active: &Active) -> Result<(), CopyError> {
        let mut unit: Option<Writer<'_>> = None;
        let ended = self.unit_frames(link, active, &mut unit);
        if let Some(unit) = unit {
            unit.abandon();
        }
        ended
    }

    fn unit_frames<'a>(
        &self,
        link: &mut Link,
        active: &'a Active,
        unit: &mut Option<Writer<'a>>,
    ) -> Result<(), CopyError> {
        loop {
            let incoming: Incoming = link.receive()?;
            match (incoming.kind, &mut *unit) {
                (kind::BEGIN, _) => {
                    let number = message::decode_unit(&incoming.body);
                    let number = number.map_err(|_| link.out_of_turn(kind::BEGIN))?;
                    if let Some(left) = unit.take() {
                        left.abandon();
                    }
                    *unit = Some(Writer::begin(active, number)?);
                }
                (kind::PAIRS, Some(unit)) => unit.pairs(incoming, &self.received)?,
                (kind::BYTES, Some(unit)) => unit.bytes(incoming, &self.received)?,
                (kind::END, Some(_)) => {
                    let sent = message::decode_tally(&incoming.body);
                    let sent = sent.map_err(|_| link.out_of_turn(kind::END))?;
                    if let Some(unit) = unit.take() {
                        patiently(link, || unit.end(&sent))?;
                    }
                    link.send(kind::DONE, Vec::new())?;
                }
                (other, _) => return Err(link.out_of_turn(other)),
            }
        }
    }

    fn look(&self) -> Result<Found, CopyError> {
        // Nothing is to become whole meanwhile.
        let _taken = self.state();
        let partial = State::load(&self.place).unwrap_or_default();
        let done = match &partial {
            Some(_) => Journal::count(&self.place)?,
            None => 0,
        };
        let holds = match (self.place.holds()?, &partial) {
            // Files that were about to become a database.
            (Holds::Other, Some(_)) => Holds::Nothing,
            (holds, _) => holds,
        };
        let receipt = self.place.valid_receipt();
        if receipt.is_some() && partial.is_none() && self.place.partial().exists() {
            // It was whole, and then the receiver was killed.
            self.place.forget()?;
        }
        Ok(Found {
            holds,
            partial: partial.map(|state| state.plan),
            done,
            receipt,
        })
    }

    fn open(&self, plan: Plan) -> Result<Arc<Active>, CopyError> {
        let mut state = self.state();
        if let Some(active) = &state.active {
            let is_same = active.plan.copy_id == plan.copy_id;
            match (is_alone(active), is_same) {
                // A database that could not be written to may be again when it is opened again.
                (true, _) => state.active = None,
                (false, true) => return Ok(Arc::clone(active)),
                (false, false) => return Err(busy(&self.place)),
            }
        }
        let active = Arc::new(Active::open(&self.place, plan)?);
        state.active = Some(Arc::clone(&active));
        Ok(active)
    }

    /// The copy that connections of an earlier `open`, perhaps of an earlier process, belong to.
    fn attach(&self, copy_id: u128) -> Result<Arc<Active>, CopyError> {
        let mut state = self.state();
        if let Some(active) = &state.active {
            return if active.plan.copy_id.0 == copy_id {
                Ok(Arc::clone(active))
            } else {
                Err(busy(&self.place))
            };
        }
        let begun = State::load(&self.place)?;
        if begun.is_none_or(|state| state.plan.copy_id.0 != copy_id) {
            return Err(unknown(&self.place));
        }
        let active = Arc::new(Active::resume(&self.place)?);
        state.active = Some(Arc::clone(&active));
        Ok(active)
    }

    fn finish(&self, copy_id: u128) -> Result<Vec<u8>, CopyError> {
        let mut state = self.state();
        if state.finished == Some(copy_id) {
            return Ok(Vec::new());
        }
        if state.active.is_none()
            && let Some(receipt) = self.place.valid_receipt()
            && receipt.copy_id.0 == copy_id
            && State::load(&self.place)?.is_none()
        {
            self.place.forget()?;
            return Ok(Vec::new());
        }
        drop(state);
        drop(self.attach(copy_id)?);
        state = self.state();
        let Some(active) = state.active.take() else {
            return Err(unknown(&self.place));
        };
        is_alone(&active);
        match Arc::try_unwrap(active) {
            Ok(active) => install::finish(active)?,
            Err(active) => {
                state.active = Some(active);
                return Err(busy(&self.place));
            }
        };
        state.finished = Some(copy_id);
        Ok(Vec::new())
    }

    fn state(&self) -> MutexGuard<'_, Taken> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until no connection carries units of a copy any more: those of a sender that is through,
/// or was killed, are about to notice.
fn is_alone(active: &Arc<Active>) -> bool {
    let deadline = Instant::now() + LEAVING_MAX;
    // One reference is the receiver's.
    while Arc::strong_count(active) > 1 {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Does `work`, which may take long, and lets the sender know meanwhile that it is being done.
fn patiently<T>(link: &Link, work: impl FnOnce() -> Result<T, CopyError>) -> Result<T, CopyError> {
    let Some(mut stream) = link.reminder() else {
        return work();
    };
    std::thread::scope(|scope| {
        let (done, waits) = channel::<()>();
        scope.spawn(move || {
            while waits.recv_timeout(BUSY_EVERY) == Err(RecvTimeoutError::Timeout) {
                if frame::write(&mut stream, kind::BUSY, &[]).is_err() {
                    return;
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, CopyError> {
    serde_json::to_vec(value).map_err(|error| CopyError::Refused(error.to_string()))
}

fn opened(active: &Active) -> Result<Vec<u8>, CopyError> {
    json(&Opened {
        copy_id: active.plan.copy_id,
        done: active.done().into_keys().collect(),
    })
}

fn busy(place: &Place) -> CopyError {
    CopyError::InUse {
        path: place.directory.clone(),
    }
}

fn unknown(place: &Place) -> CopyError {
    CopyError::Receiver {
        code: RefusalCode::Unknown,
        text: format!("no such copy was begun in {}", place.directory.display()),
    }
}
