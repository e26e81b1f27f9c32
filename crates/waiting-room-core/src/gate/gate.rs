//! The [`Gate`] type: its state, its construction, its snapshot, and the [`Permit`] of a request that
//! enters and leaves without the lock.
//!
//! The other operations of a gate are in `verbs.rs`. The code that runs under the gate's lock is
//! in `locked.rs` and `queue.rs`.

use std::{collections::BTreeMap, fmt, task::Waker, time::Duration};

use super::{
    counter::{Counter, Counts, Running},
    line::{ByTenant, Classes, Line, QueueShares, Single},
    pace::{HoldEstimate, ServiceRate},
    retry_schedule::RetrySchedule,
    rules::{Discipline, GateRules, Tenants},
    waiters::{Grant, Waiters},
};
use crate::{
    ConfigError, Timestamp,
    sync::{Arc, Mutex, unpoisoned},
    time::{Clock, SystemClock},
};

/// Limits the number of requests that run at once, queues a bounded number of further requests, and
/// refuses the rest.
///
/// All clones refer to the same gate. See the [crate docs](crate#the-gate).
///
/// ```
/// use waiting_room_core::{Gate, gate::{Arrival, Entry, GateRules}};
///
/// let gate = Gate::new(GateRules::new(1).queue(1), 7)?;
/// let enter = || gate.enter(Arrival::default(), gate.now());
/// let Entry::Admitted(permit) = enter() else { panic!("the gate is empty") };
/// let Entry::Queued(place) = enter() else { panic!("the queue has space") };
/// assert!(matches!(enter(), Entry::Refused(_)));
///
/// drop(permit);
/// assert!(place.time_out().is_ok(), "the permit has already been granted");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Gate(pub(super) Arc<Shared>);

/// State shared by all clones of a gate.
pub(super) struct Shared {
    /// The atomic counter that requests contend for. Most requests enter and leave through this
    /// counter without taking the lock.
    pub(super) counter: Counter,
    /// The rules that the gate was created with. The current limit is stored in the counter,
    /// because the limit can be changed later.
    pub(super) rules: GateRules,
    pub(super) running: Running,
    clock: Box<dyn Clock>,
    pub(super) state: Mutex<State>,
}

/// State that is read and modified only while the lock is held.
pub(super) struct State {
    /// The order of the waiting requests.
    pub(super) line: Box<dyn Line>,
    /// The waiting requests, and the requests whose outcome has not been collected yet.
    pub(super) waiters: Waiters,
    /// The number of waiting requests. A request that has been granted a permit or refused is no
    /// longer counted, even if its future has not been polled since.
    pub(super) queued: u32,
    /// The time at which a request last joined an empty queue. If the queue is not empty now, it
    /// has not been empty since that time.
    pub(super) last_empty: Timestamp,
    pub(super) rate: ServiceRate,
    pub(super) typical_hold: HoldEstimate,
    /// The times at which refused clients are asked to come back.
    pub(super) slots: RetrySchedule,
    pub(super) outcomes: GateOutcomes,
    /// Whether requests that hold a permit from another gate are admitted or queued while this gate
    /// is being drained. The flag has no effect while the gate is open.
    pub(super) serves_those_inside: bool,
    /// The wakers of the [`Idle`](super::Idle) futures, keyed by the number assigned to each
    /// future.
    pub(super) idle: BTreeMap<u64, Waker>,
    /// The number that was most recently assigned to an `Idle` future. Numbers are never reused.
    pub(super) idle_number: u64,
}

/// The counts and measurements of a gate at one instant, for metrics and status pages.
///
/// With the `serde` feature, a snapshot serializes to a map of its fields. The field `oldest_wait`
/// is serialized as `oldest_wait_seconds`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GateSnapshot {
    /// The number of running requests, which are counted even if there is no limit. After the limit
    /// has been lowered, this number may exceed the limit until enough requests have ended.
    pub in_flight: u32,
    /// The current limit, or `None` if there is no limit.
    pub limit: Option<u32>,
    /// The number of requests waiting for a permit.
    pub queued: u32,
    /// The longest current wait, or zero if no request is waiting.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "oldest_wait_seconds",
            serialize_with = "crate::time::as_seconds::of_duration"
        )
    )]
    pub oldest_wait: Duration,
    /// The number of requests served per second while other requests are waiting, or `None` until
    /// enough releases have been observed.
    pub service_rate: Option<f64>,
    /// Whether the gate is being drained.
    pub is_draining: bool,
    /// Counts of the outcomes of all requests that did not run immediately.
    pub outcomes: GateOutcomes,
}

/// Counters for the outcomes of all requests that did not run immediately. The counters start at
/// zero when the gate is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GateOutcomes {
    /// Requests that left the queue because their futures were dropped.
    pub cancelled: u64,
    /// Requests that were refused, on arrival or in the queue, because the gate was being drained.
    pub drained: u64,
    /// Requests that were removed from a full queue in favour of another request.
    pub evicted: u64,
    /// Requests that were refused because the queue was full.
    pub full: u64,
    /// Requests that were granted a permit after joining the queue.
    pub granted: u64,
    /// Requests that joined the queue.
    pub queued: u64,
    /// Requests that were refused on arrival because they could not have been served in time, or
    /// that were still waiting at the earlier deadline that the discipline sets under overload.
    pub shed: u64,
    /// Requests that were still waiting at the deadline set by the rules or by the client.
    pub timed_out: u64,
}

impl Gate {
    /// Creates an open gate with these rules and the system clock.
    ///
    /// The `seed` randomizes the times at which refused clients are asked to come back.
    ///
    /// # Errors
    ///
    /// Returns an error if [`GateRules::validate`] rejects the rules.
    pub fn new(rules: GateRules, seed: u64) -> Result<Self, ConfigError> {
        Self::with_clock(rules, seed, SystemClock::new())
    }

    /// Creates an open gate like [`new`](Self::new), but with the given clock.
    ///
    /// # Errors
    ///
    /// Returns an error if [`GateRules::validate`] rejects the rules.
    pub fn with_clock(rules: GateRules, seed: u64, clock: impl Clock) -> Result<Self, ConfigError> {
        rules.validate()?;
        let state = State {
            line: line(&rules),
            waiters: Waiters::default(),
            queued: 0,
            last_empty: Timestamp::ZERO,
            rate: ServiceRate::new(),
            typical_hold: HoldEstimate::new(),
            slots: RetrySchedule::new(rules.longest_retry, seed),
            outcomes: GateOutcomes::default(),
            serves_those_inside: false,
            idle: BTreeMap::new(),
            idle_number: 0,
        };
        Ok(Self(Arc::new(Shared {
            counter: Counter::new(rules.limit.unwrap_or(GateRules::MAX_LIMIT)),
            running: Running::new(rules.discipline.classes()),
            rules,
            clock: Box::new(clock),
            state: Mutex::new(state),
        })))
    }

    /// Returns the current time on this gate's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Returns the current limit, or `None` if there is no limit.
    ///
    /// Even without a limit, a gate runs at most [`GateRules::MAX_LIMIT`] requests at once, so a
    /// limit of exactly that value is reported as `None`.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        Some(self.0.counter.counts().limit).filter(|limit| *limit < GateRules::MAX_LIMIT)
    }

    /// Returns whether the gate is also referenced by a clone, a [`Permit`], an
    /// [`Acquire`](super::Acquire), or an [`Idle`](super::Idle).
    ///
    /// A gate that is not shared has no running or waiting requests, so an owner of many gates may
    /// drop such a gate.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns the counts and measurements of the gate at `now`.
    #[must_use]
    pub fn snapshot(&self, now: Timestamp) -> GateSnapshot {
        // The lock is taken before the counter is read. The queue, the limit and the draining flag
        // do not change while the lock is held, so all values except `in_flight` belong to one
        // instant.
        let state = unpoisoned(self.0.state.lock());
        let Counts { in_flight, is_draining, .. } = self.0.counter.counts();
        GateSnapshot {
            in_flight,
            limit: self.limit(),
            queued: state.queued,
            oldest_wait: state
                .line
                .oldest(&state.waiters)
                .map_or(Duration::ZERO, |since| now.since(since)),
            service_rate: state.rate.per_second(),
            is_draining,
            outcomes: state.outcomes,
        }
    }
}

impl Gate {
    /// Admits a request of this class if a permit is free, no other request is waiting for one, and
    /// the gate is not being drained.
    ///
    /// This is the fast path of [`enter`](Self::enter). It usually needs a single compare-and-swap,
    /// and never locks the gate. `None` does not mean that the request is refused: call `enter` to
    /// have the request queued or refused.
    #[inline]
    #[must_use]
    pub fn try_enter(&self, class: u8, now: Timestamp) -> Option<Permit> {
        let in_flight = self.0.counter.enter()?;
        self.0.running.begins(class);
        Some(Permit::new(self.clone(), class, Grant { at: now, in_flight }, now))
    }

    /// Releases a permit that was granted to a request of this class at `given_at`.
    ///
    /// One compare-and-swap is enough if the release affects no other request. The lock is needed
    /// if the release has to be measured, if the permit goes to a waiter, or if the release may
    /// complete a drain.
    fn release(&self, class: u8, given_at: Timestamp) {
        // The count of the class is decremented first, because the next waiter is chosen below, and
        // that choice has to be based on the new count.
        self.0.running.ends(class);
        if self.0.is_measured() || !self.0.counter.leave() {
            self.critical(self.now(), |critical| critical.leave(given_at));
        }
    }
}

impl Shared {
    /// Returns whether a release counts as a sample of the service rate even though no request is
    /// waiting.
    ///
    /// The service rate is normally measured while requests are waiting. No request ever waits at a
    /// gate without a queue, so the rate of such a gate is measured from releases that happen while
    /// the gate is full.
    pub(super) fn is_measured(&self) -> bool {
        self.rules.queue == 0 && !self.counter.counts().has_room()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("counts", &self.0.counter).finish_non_exhaustive()
    }
}

/// The right of one request to run. Dropping the permit releases it.
///
/// A permit is released however the request ends: with success, with an error, with a panic, or
/// because its client disconnects. The released permit goes to the next waiting request, or becomes
/// free.
#[must_use = "dropping the permit releases it immediately"]
pub struct Permit {
    gate: Gate,
    class: u8,
    grant: Grant,
    /// The time at which the request arrived at the gate.
    since: Timestamp,
}

impl Permit {
    pub(super) const fn new(gate: Gate, class: u8, grant: Grant, since: Timestamp) -> Self {
        Self { gate, class, grant, since }
    }

    /// Returns the time at which the permit was granted.
    #[must_use]
    pub const fn given_at(&self) -> Timestamp {
        self.grant.at
    }

    /// Returns how long the request waited for the permit, or zero if it ran immediately.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.grant.at.since(self.since)
    }

    /// Returns the number of requests that were running when the permit was granted, including the
    /// request that holds the permit.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.grant.in_flight
    }

    /// Returns the gate that granted the permit.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.release(self.class, self.grant.at);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Creates an empty line for the discipline of a gate.
pub(super) fn line(rules: &GateRules) -> Box<dyn Line> {
    match &rules.discipline {
        Discipline::AdaptiveLifo { .. } => Box::new(Single::adaptive_lifo()),
        Discipline::ControlledDelay { .. } => Box::new(QueueShares::new(rules.queue)),
        Discipline::Fifo => Box::new(Single::fifo()),
        Discipline::FairByTenant(tenants) => Box::new(ByTenant::new(*tenants == Tenants::Shuffled)),
        Discipline::Priority { reserved, aging } => Box::new(Classes::new(reserved, *aging)),
    }
}
