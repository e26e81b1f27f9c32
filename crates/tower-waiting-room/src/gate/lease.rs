//! The permits of a request, for as long as it holds them.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering},
    },
    time::Duration,
};

use smallvec::SmallVec;
use waiting_room_core::{Permit, PermitOutcome, Timestamp};

use super::{
    options::ReleaseAt,
    registry::GateRef,
    sweeper::{Sweep, Sweeper},
};

/// A permit of one gate, free when the last that holds it is dropped: the future of the response,
/// its body, and whatever the application keeps.
pub(crate) struct HeldPermit {
    /// `None` once it is free, whoever still holds it.
    permit: Mutex<Option<Permit>>,
    gate: GateRef,
    sweeper: Arc<Sweeper<HeldPermit>>,
    /// At which tick of the sweeper the server took a frame and did not ask for the next; or that
    /// it has asked, and it is the application that takes its time.
    taken_at: AtomicU32,
    is_swept: AtomicBool,
    went: AtomicU8,
    is_over: AtomicBool,
}

/// The permits of all gates that a request went through.
pub(crate) type Permits = SmallVec<[Arc<HeldPermit>; 1]>;

/// For how long the request that holds these permits may wait for a frame of its body: the shortest
/// of what their gates say.
pub(crate) fn body_read_timeout(permits: &Permits) -> Option<Duration> {
    permits.iter().filter_map(|held| held.gate.concurrency().body_read_timeout).min()
}

/// The permits as a body holds them, which it lets go of at its end or when it is dropped.
///
/// Whatever holds them from then on is not a body that nobody reads.
#[derive(Debug)]
pub(crate) struct BodyPermits(Permits);

/// The permit of a request, in its extensions.
///
/// Whoever keeps it keeps the permit, also after the response: a task that serves a WebSocket, work
/// on another thread that cannot be cancelled, or a job that goes on in the background.
///
/// ```
/// # use tower_waiting_room::PermitHandle;
/// # async fn convert(_: Vec<u8>) {}
/// async fn handler(permit: Option<axum::Extension<PermitHandle>>, upload: Vec<u8>) {
///     tokio::spawn(async move {
///         convert(upload).await;
///         drop(permit);
///     });
/// }
/// ```
#[derive(Clone)]
pub struct PermitHandle(Permits);

impl PermitHandle {
    pub(crate) const fn new(held: Permits) -> Self {
        Self(held)
    }

    /// With the permits that an outer layer has given.
    pub(crate) fn and(mut self, outer: Self) -> Self {
        self.0.extend(outer.0);
        self
    }

    /// Whether one of the permits is of this gate.
    pub(super) fn is_of(&self, gate: &GateRef) -> bool {
        self.0.iter().any(|held| held.gate.is(gate))
    }

    /// Tells an [adaptive](crate::Concurrency::adaptive) gate that the service could not keep up
    /// with this request, whatever its status is.
    pub fn overloaded(&self) {
        self.0.iter().for_each(|held| held.answered(true));
    }
}

impl BodyPermits {
    pub(crate) const fn new(held: Permits) -> Self {
        Self(held)
    }

    /// The response has come to its end, so that the time it took says something.
    pub(crate) fn over(&self) {
        self.0.iter().for_each(|held| held.over());
    }

    /// The body is over, or is not read to its end.
    pub(crate) fn let_go(&mut self) {
        self.asked();
        self.0.clear();
    }

    /// The server took a frame of the body, and there may be more.
    pub(crate) fn taken(&self) {
        self.0.iter().for_each(HeldPermit::taken);
    }

    /// The server asks for a frame, and the application has none yet.
    pub(crate) fn asked(&self) {
        self.0.iter().for_each(|held| held.asked());
    }
}

impl HeldPermit {
    pub(super) fn new(permit: Permit, gate: GateRef, sweeper: &Arc<Sweeper<Self>>) -> Arc<Self> {
        let has_end = gate.concurrency().max_hold.is_some();
        let held = Arc::new(Self {
            permit: Mutex::new(Some(permit)),
            gate,
            sweeper: Arc::clone(sweeper),
            taken_at: AtomicU32::new(ASKED),
            is_swept: AtomicBool::new(false),
            went: AtomicU8::new(Went::Unknown as u8),
            is_over: AtomicBool::new(false),
        });
        if has_end {
            held.have_swept();
        }
        held
    }

    /// Whether the body of the response holds it. The head of the response says how the request
    /// went, and for some gates that it is over.
    pub(crate) fn is_held_after_head(&self, is_overloaded: bool) -> bool {
        self.answered(is_overloaded);
        let is_held = matches!(self.gate.concurrency().release_at, ReleaseAt::BodyEnd);
        if !is_held {
            self.over();
        }
        is_held
    }

    /// The head of the response says how it went; unless the application has said it.
    fn answered(&self, is_overloaded: bool) {
        if is_overloaded {
            self.went.store(Went::Overloaded as u8, Ordering::Relaxed);
        } else {
            let (unknown, done) = (Went::Unknown as u8, Went::Done as u8);
            _ = self.went.compare_exchange(unknown, done, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The response has come to its end, so that the time it took says something.
    fn over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn taken(self: &Arc<Self>) {
        if self.gate.concurrency().body_stall.is_some() {
            self.taken_at.store(self.sweeper.tick(), Ordering::Relaxed);
            self.have_swept();
        }
    }

    fn asked(&self) {
        self.taken_at.store(ASKED, Ordering::Relaxed);
    }

    /// Frees the permit, whoever holds it.
    fn free(&self) -> Option<Permit> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn learn(&self, permit: &Permit) {
        let went = self.went.load(Ordering::Relaxed);
        if went == Went::Overloaded as u8 {
            self.gate.learn(permit, PermitOutcome::Overloaded);
        } else if went == Went::Done as u8 {
            self.gate.learn(permit, PermitOutcome::Done);
        }
    }

    fn have_swept(self: &Arc<Self>) {
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            self.sweeper.add(self);
        }
    }
}

impl Sweep for HeldPermit {
    /// Frees the permit if the body is not read, or it was held for too long.
    fn sweep(&self, stalled: impl Fn(u32) -> Duration, now: Timestamp) -> bool {
        let rules = self.gate.concurrency();
        let taken_at = self.taken_at.load(Ordering::Relaxed);
        let is_stalled =
            taken_at != ASKED && rules.body_stall.is_some_and(|most| stalled(taken_at) >= most);
        let is_over = rules.max_hold.is_some_and(|most| {
            let permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
            permit.as_ref().is_some_and(|permit| now.since(permit.given_at()) >= most)
        });
        let freed = if is_stalled || is_over { self.free() } else { None };
        if let Some(permit) = &freed {
            self.gate.swept(permit);
        }
        freed.is_some()
    }
}

impl Drop for BodyPermits {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        if let Some(permit) = self.free() {
            self.gate.released(&permit);
            if self.is_over.load(Ordering::Relaxed) {
                self.learn(&permit);
            }
        }
    }
}

impl fmt::Debug for HeldPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPermit").finish_non_exhaustive()
    }
}

impl fmt::Debug for PermitHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitHandle").finish_non_exhaustive()
    }
}

/// How a request went.
enum Went {
    /// There is no response.
    Unknown,
    Done,
    Overloaded,
}

/// Stands for no tick: the sweeper never comes so far.
const ASKED: u32 = u32::MAX;
