//! A gate: its state, how it is made, and its numbers.

use std::{collections::BTreeMap, fmt, task::Waker, time::Duration};

use super::{
    counter::{Counter, Counts, Running},
    line::{ByTenant, Classes, Line, Single},
    pace::{HoldEstimate, ServiceRate},
    retry_schedule::RetrySchedule,
    rules::{Discipline, GateRules, Tenants},
    waiters::Waiters,
};
use crate::{
    Clock, ConfigError, SystemClock, Timestamp,
    sync::{Arc, Mutex, unpoisoned},
};

/// Lets a number of requests run at once, has some more wait in order, and refuses the rest.
///
/// Clones are the same gate. See the [crate docs](crate#the-gate).
///
/// ```
/// use waiting_room_core::{Arrival, Entry, Gate, GateRules};
///
/// let gate = Gate::new(GateRules::new(1).queue(1), 7)?;
/// let enter = || gate.enter(Arrival::default(), gate.now());
/// let Entry::Admitted(permit) = enter() else { panic!("nobody else is here") };
/// let Entry::Queued(place) = enter() else { panic!("one may wait") };
/// assert!(matches!(enter(), Entry::Refused(_)));
///
/// drop(permit);
/// assert!(place.time_out().is_ok(), "it was its turn before");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Gate(pub(super) Arc<Shared>);

/// What all clones of a gate have in common.
pub(super) struct Shared {
    pub(super) counter: Counter,
    pub(super) rules: GateRules,
    pub(super) running: Running,
    clock: Box<dyn Clock>,
    pub(super) state: Mutex<State>,
}

/// What is changed under the lock.
pub(super) struct State {
    pub(super) line: Box<dyn Line>,
    pub(super) waiters: Waiters,
    /// How many wait: who has not heard what became of it does not.
    pub(super) queued: u32,
    /// When somebody last came into an empty queue.
    pub(super) last_empty: Timestamp,
    pub(super) rate: ServiceRate,
    pub(super) typical_hold: HoldEstimate,
    pub(super) slots: RetrySchedule,
    pub(super) outcomes: GateOutcomes,
    /// Whether those who are inside of other gates come in while it is drained.
    pub(super) serves_those_inside: bool,
    /// Those who wait for the gate to be idle, and how many have.
    pub(super) idle: BTreeMap<u64, Waker>,
    pub(super) idle_number: u64,
}

/// A gate at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GateSnapshot {
    /// How many run: counted, never derived from the limit.
    pub in_flight: u32,
    /// How many may run; `None` for as many as come.
    pub limit: Option<u32>,
    /// How many wait.
    pub queued: u32,
    /// For how long the one has waited who has waited the longest.
    pub oldest_wait: Duration,
    /// How many are served in a second while somebody waits, as far as is known.
    pub service_rate: Option<f64>,
    /// Whether the gate is being emptied.
    pub is_draining: bool,
    /// What has become of those who did not run at once.
    pub outcomes: GateOutcomes,
}

/// What has become of all who did not run at once, since the gate was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateOutcomes {
    /// Went away from the queue.
    pub cancelled: u64,
    /// Were refused because the gate was being emptied.
    pub drained: u64,
    /// Had to make room for another in the queue.
    pub evicted: u64,
    /// Were refused because as many waited as may.
    pub full: u64,
    /// Were given a permit in the queue.
    pub granted: u64,
    /// Came into the queue.
    pub queued: u64,
    /// Would have waited, or waited, for longer than they may under overload.
    pub shed: u64,
    /// Waited for as long as they might.
    pub timed_out: u64,
}

impl Gate {
    /// An open gate under these rules, on the machine's clock. The `seed` spreads the times at
    /// which those who are refused come back.
    ///
    /// # Errors
    ///
    /// Rules that cannot be obeyed.
    pub fn new(rules: GateRules, seed: u64) -> Result<Self, ConfigError> {
        Self::with_clock(rules, seed, SystemClock::new())
    }

    /// The same on another clock.
    ///
    /// # Errors
    ///
    /// Rules that cannot be obeyed.
    pub fn with_clock(rules: GateRules, seed: u64, clock: impl Clock) -> Result<Self, ConfigError> {
        rules.validate()?;
        let state = State {
            line: line(&rules.discipline),
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

    /// The time on the clock of this gate.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The limit in force; `None` for as many as come.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        Some(self.0.counter.counts().limit).filter(|limit| *limit < GateRules::MAX_LIMIT)
    }

    /// Whether there are other clones of it: permits, places, or handles.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The gate in numbers.
    #[must_use]
    pub fn snapshot(&self, now: Timestamp) -> GateSnapshot {
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

impl Shared {
    /// Whether one who leaves says how much the service gets done, though nobody waits.
    pub(super) fn is_measured(&self) -> bool {
        self.rules.queue == 0 && !self.counter.counts().has_room()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("counts", &self.0.counter).finish_non_exhaustive()
    }
}

/// An empty line.
pub(super) fn line(discipline: &Discipline) -> Box<dyn Line> {
    match discipline {
        Discipline::AdaptiveLifo { .. } => Box::new(Single::adaptive_lifo()),
        Discipline::ControlledDelay { .. } | Discipline::Fifo => Box::new(Single::fifo()),
        Discipline::FairByTenant(tenants) => Box::new(ByTenant::new(*tenants == Tenants::Shuffled)),
        Discipline::Priority { reserved, aging } => Box::new(Classes::new(reserved, *aging)),
    }
}
