//! The permits of a request, from admission to release.
//!
//! All parts of a running request share one [`HeldPermit`], which is released when the last holder
//! drops it:
//!
//! ```text
//!                   ┌─ the future of the response     until the head is ready
//!  HeldPermit (Arc) ┼─ the body of the response       until its end, or until it is dropped
//!                   └─ PermitHandle                   for as long as the application keeps it
//!
//!  Sweeper (Weak) ──► takes the permit out, although holders remain:
//!                     the body is read too slowly, or `max_hold` has passed
//! ```
//!
//! Release is tied to `drop`, so a permit is released in the same way whether the request succeeds,
//! fails or panics, or the client disconnects. The only exception is the sweeper, which frees the
//! capacity of the gate while the request itself continues without a permit.
//!
//! # Atomics
//!
//! All atomics of a permit are accessed with `Relaxed` ordering. Before a holder drops its own
//! `Arc`, it stores the values that `drop` reads, and dropping an `Arc` synchronizes with the drop
//! of the last `Arc`. The tick that the sweeper reads may be outdated by the time the sweeper acts
//! on it. A reader that resumes at the last moment may therefore lose its permit, as if it had
//! resumed a moment later.

use std::{
    fmt, iter, mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Extensions;
use waiting_room_core::{
    Timestamp,
    gate::{Permit, PermitOutcome},
};

use super::{
    options::ReleaseAt,
    registry::GateRef,
    sweeper::{Sweep, Sweeper},
};
use crate::request::MinRate;

/// A permit of one gate, shared by all holders in one request. See the [module docs](self).
pub(crate) struct HeldPermit {
    /// The permit, or `None` once it has been released, even if holders remain. The mutex is locked
    /// only to inspect the permit or to take it out. Dropping a permit wakes waiters, which must
    /// not happen under this lock.
    permit: Mutex<Option<Permit>>,
    /// The gate of the permit. `drop` takes the permit out and drops it before this field. The
    /// order matters because a gate by key is removed when its last use ends, and the permit counts
    /// as a use.
    gate: GateRef,
    sweeper: Arc<Sweeper<HeldPermit>>,
    /// The tick of the sweeper at which the server took the latest frame of the body, or [`ASKED`]
    /// while the server is waiting for the application.
    taken_at: AtomicU32,
    /// The time for which the reader may be awaited from `taken_at` on, in nanoseconds. Only the
    /// task that polls the body changes it. It stays at 0 once the reader has been too slow.
    left: AtomicU64,
    /// Whether the permit has been registered with the sweeper, which happens at most once.
    is_swept: AtomicBool,
    /// The outcome of the request as reported to an adaptive limit: a [`Went`] as a `u8`.
    went: AtomicU8,
    /// Whether the response counts as complete: it was sent completely or, with
    /// [`ReleaseAt::Head`], its head is ready. The hold time of an incomplete response reflects the
    /// client rather than the service, so it is not sampled.
    is_over: AtomicBool,
}

/// The permits of all gates that a request has passed. Most layers have at most one gate.
pub(crate) type Permits = Few<Arc<HeldPermit>>;

/// Returns the highest minimum rate of the gates whose permits the request holds, or `None` if no
/// gate has one.
pub(crate) fn min_rate(permits: &Permits) -> Option<MinRate> {
    permits.iter().filter_map(|held| held.gate.concurrency().min_rate).max()
}

/// The permits that the body of a response holds until it ends or is dropped.
///
/// After the release, only the application can still hold the permits, and the sweeper no longer
/// checks whether the body is being read.
#[derive(Debug)]
pub(crate) struct BodyPermits(Permits);

/// The permits of a request, stored in the request's extensions.
///
/// If the application keeps a clone, the permits are held beyond the response, for example for a
/// task that serves a WebSocket, for work on another thread that cannot be canceled, or for a job
/// that continues in the background. Without a clone, such work would exceed the limit, because it
/// would run alongside the next request that the gate admits.
/// [`max_hold`](crate::Concurrency::max_hold) bounds how long permits can be held.
///
/// ```
/// # use tower_waiting_room::gate::PermitHandle;
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
    /// Creates a handle to the permits of this layer.
    pub(crate) const fn new(held: Permits) -> Self {
        Self(held)
    }

    /// Inserts the handle into the extensions of a request, together with the permits of an outer
    /// layer, so that the application finds a single handle to all permits.
    pub(crate) fn insert(self, extensions: &mut Extensions) {
        let outer = extensions.insert(self);
        if let Some(outer) = outer
            && let Some(ours) = extensions.get_mut::<Self>()
        {
            ours.0.extend(outer.0);
        }
    }

    /// Returns whether one of the permits was granted by this gate.
    pub(super) fn is_of(&self, gate: &GateRef) -> bool {
        self.0.iter().any(|held| held.gate.is(gate))
    }

    /// Reports to an [adaptive](crate::Concurrency::adaptive) gate that the request met an
    /// overload, regardless of the status of the response.
    ///
    /// Call this method when the service notices that it cannot keep up, for example when a
    /// database rejects a connection and the response comes from a cache. A gate with a fixed limit
    /// ignores the call.
    pub fn overloaded(&self) {
        self.0.iter().for_each(|held| held.answered(true));
    }
}

impl BodyPermits {
    /// Takes over the permits that are held after the head of the response is ready.
    pub(crate) const fn new(held: Permits) -> Self {
        Self(held)
    }

    /// Records that the response was sent completely, which makes its hold time a valid sample.
    pub(crate) fn over(&self) {
        self.0.iter().for_each(|held| held.over());
    }

    /// Releases the permits, because the body has ended, has failed, or was dropped.
    pub(crate) fn let_go(&mut self) {
        // A permit that is still held after this point is held by the application, not by a stalled
        // body.
        self.asked();
        self.0.clear();
    }

    /// Records that the server took a frame of this many bytes, and that more frames may follow.
    /// Until the server asks for the next frame, it awaits the client.
    pub(crate) fn taken(&self, bytes: usize) {
        self.0.iter().for_each(|held| held.taken(bytes));
    }

    /// Records that the server asked for a frame that the application has not produced yet. Until
    /// the frame is produced, the server does not await the client.
    pub(crate) fn asked(&self) {
        self.0.iter().for_each(|held| held.asked());
    }
}

impl HeldPermit {
    /// Wraps a permit that `gate` has just granted. If the gate has a `max_hold`, the sweeper
    /// watches the permit from the start. Otherwise the sweeper starts to watch the permit when the
    /// first frame of the response is taken.
    pub(super) fn new(permit: Permit, gate: GateRef, sweeper: &Arc<Sweeper<Self>>) -> Arc<Self> {
        let has_end = gate.concurrency().max_hold.is_some();
        let held = Arc::new(Self {
            permit: Mutex::new(Some(permit)),
            gate,
            sweeper: Arc::clone(sweeper),
            taken_at: AtomicU32::new(ASKED),
            left: AtomicU64::new(nanos(GRACE)),
            is_swept: AtomicBool::new(false),
            went: AtomicU8::new(Went::Unknown as u8),
            is_over: AtomicBool::new(false),
        });
        if has_end {
            held.have_swept();
        }
        held
    }

    /// Records that the head of the response is ready, and returns whether the body has to hold the
    /// permit.
    ///
    /// `is_overloaded` is true if the status of the response indicates an overload. With
    /// [`ReleaseAt::Head`], the request counts as completed at this point.
    pub(crate) fn is_held_after_head(&self, is_overloaded: bool) -> bool {
        self.answered(is_overloaded);
        let is_held = matches!(self.gate.concurrency().release_at, ReleaseAt::BodyEnd);
        if !is_held {
            self.over();
        }
        is_held
    }

    /// Records the outcome according to the status of the response. An overload that the
    /// application has reported through its handle remains recorded, even if the response has
    /// status 200.
    fn answered(&self, is_overloaded: bool) {
        if is_overloaded {
            self.went.store(Went::Overloaded as u8, Ordering::Relaxed);
        } else {
            let unknown = Went::Unknown as u8;
            let done = Went::Done as u8;
            _ = self.went.compare_exchange(unknown, done, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Records that the response was sent completely.
    fn over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Begins to await the reader, which has taken a frame of this many bytes. This method runs for
    /// every frame, so it stores a tick instead of reading a clock.
    fn taken(self: &Arc<Self>, bytes: usize) {
        let Some(min_rate) = self.gate.concurrency().min_rate else { return };
        let left = self.charge();
        if !left.is_zero() {
            let left = min_rate.earn(left, bytes, GRACE);
            self.left.store(nanos(left), Ordering::Relaxed);
        }
        self.taken_at.store(self.sweeper.tick(), Ordering::Relaxed);
        self.have_swept();
    }

    /// Stops awaiting the reader.
    fn asked(&self) {
        self.charge();
        self.taken_at.store(ASKED, Ordering::Relaxed);
    }

    /// Subtracts the time for which the reader has been awaited, and returns the time that is left.
    fn charge(&self) -> Duration {
        let left = Duration::from_nanos(self.left.load(Ordering::Relaxed));
        let taken_at = self.taken_at.load(Ordering::Relaxed);
        if taken_at == ASKED {
            return left;
        }
        // Each short time is rounded to whole periods, but the sum of many such times is right,
        // because exactly one tick passes per period.
        let left = left.saturating_sub(self.sweeper.since(taken_at));
        self.left.store(nanos(left), Ordering::Relaxed);
        left
    }

    /// Takes the permit out, so that the caller can drop it outside the lock. Returns `None` if the
    /// permit has already been taken out.
    fn free(&self) -> Option<Permit> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Passes the outcome to the adaptive limit, unless there was no response.
    fn learn(&self, permit: &Permit) {
        let went = self.went.load(Ordering::Relaxed);
        if went == Went::Overloaded as u8 {
            self.gate.learn(permit, PermitOutcome::Overloaded);
        } else if went == Went::Done as u8 {
            self.gate.learn(permit, PermitOutcome::Done);
        }
    }

    /// Registers the permit with the sweeper, unless it is already registered.
    fn have_swept(self: &Arc<Self>) {
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            self.sweeper.add(self);
        }
    }
}

impl Sweep for HeldPermit {
    /// Releases the permit if the body is read too slowly, or if the permit was held for
    /// `max_hold`. The permit is dropped at the end of the call, while no lock is held.
    fn sweep(&self, stalled: impl Fn(u32) -> Duration, now: Timestamp) -> bool {
        let taken_at = self.taken_at.load(Ordering::Relaxed);
        let left = Duration::from_nanos(self.left.load(Ordering::Relaxed));
        let is_slow = left.is_zero() || taken_at != ASKED && stalled(taken_at) >= left;
        let is_over = self.gate.concurrency().max_hold.is_some_and(|most| {
            let permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
            permit.as_ref().is_some_and(|permit| now.since(permit.given_at()) >= most)
        });
        let freed = if is_slow || is_over { self.free() } else { None };
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
        // The last holder has been dropped. The sample is taken before the permit is dropped, and
        // only if the response was sent completely. A permit that the sweeper has taken out is not
        // sampled.
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

/// The outcome of a request, as reported to an adaptive limit.
enum Went {
    /// The request has no response, either because it is still running, or because it failed or its
    /// client disconnected.
    Unknown,
    /// The response is not a sign of overload.
    Done,
    /// The response had the status 503 or 504, or the application reported an overload.
    Overloaded,
}

/// The time for which a reader may be awaited: the grace and a quarter of it. Times are measured in
/// whole periods of the sweeper, and may be too long by one period, at most a quarter of the grace.
const GRACE: Duration = Duration::from_nanos(nanos(MinRate::GRACE) * 5 / 4);

/// Returns a duration of a few seconds in nanoseconds.
const fn nanos(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + time.subsec_nanos() as u64
}

/// The value of `taken_at` while the server is waiting for the application. The tick counter
/// reaches this value after 2³² periods, which takes 3.4 years at the shortest period of 25 ms. If
/// a frame is taken in that single period, its reader is not awaited.
const ASKED: u32 = u32::MAX;

/// A collection of a few values, in no particular order.
///
/// The first value needs no allocation, and a collection of at most one value is copied and dropped
/// in a few instructions. Further values form a list.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    /// One of the values, or `None` if there is none.
    one: Option<T>,
    others: Option<Box<Self>>,
}

impl<T> Few<T> {
    /// Creates an empty collection.
    pub(crate) const fn new() -> Self {
        Self { one: None, others: None }
    }

    /// Adds a value.
    pub(super) fn push(&mut self, value: T) {
        if !self.is_empty() {
            self.others = Some(Box::new(mem::take(self)));
        }
        self.one = Some(value);
    }

    /// Removes one of the values.
    fn pop(&mut self) -> Option<T> {
        let others = self.others.take().map(|others| *others).unwrap_or_default();
        mem::replace(self, others).one
    }

    /// Moves the values of another collection into this one.
    pub(super) fn extend(&mut self, mut values: Self) {
        while let Some(value) = values.pop() {
            self.push(value);
        }
    }

    /// Drops the values for which `keeps` returns false.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        let mut all = mem::take(self);
        while let Some(value) = all.pop() {
            if keeps(&value) {
                self.push(value);
            }
        }
    }

    /// Drops all values.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns whether there are no values.
    pub(crate) const fn is_empty(&self) -> bool {
        self.one.is_none()
    }

    /// Returns the values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let lists = iter::successors(Some(self), |list| list.others.as_deref());
        lists.filter_map(|list| list.one.as_ref())
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn few(values: &[u8]) -> Few<u8> {
        let mut few = Few::new();
        values.iter().for_each(|value| few.push(*value));
        few
    }

    fn set(few: &Few<u8>) -> BTreeSet<u8> {
        let values: BTreeSet<u8> = few.iter().copied().collect();
        assert_eq!((values.len(), values.is_empty()), (few.iter().count(), few.is_empty()));
        values
    }

    #[test]
    fn any_values_are_kept_and_the_others_dropped() {
        for values in [&[][..], &[1], &[1, 2], &[1, 2, 4]] {
            for kept in 0..8 {
                let mut some = few(values);
                some.retain(|value| kept & value != 0);
                let expected = values.iter().copied().filter(|value| kept & value != 0);
                assert_eq!(set(&some), expected.collect());
            }
            let mut all = few(&[8]);
            all.extend(few(values));
            assert_eq!(set(&all), [values, &[8]].concat().into_iter().collect());
            all.clear();
            assert!(set(&all).is_empty());
        }
    }
}
