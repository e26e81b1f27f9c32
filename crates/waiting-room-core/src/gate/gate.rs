//! The gate: who runs, and who waits for it.

use std::{
    collections::BTreeMap,
    fmt,
    task::{Poll, Waker},
    time::Duration,
};

use super::{
    arrival::Arrival,
    counter::{Counter, Counts},
    critical::{Critical, Entered},
    idle::Idle,
    line::{ByTenant, Classes, Line, Single},
    permit::{Grant, Permit},
    place::Place,
    refused::GateRefused,
    return_slots::ReturnSlots,
    rules::{Discipline, GateRules, Tenants},
    running::Running,
    service_rate::ServiceRate,
    snapshot::{GateOutcomes, GateSnapshot},
    sync::{Arc, Mutex, lock},
    typical_hold::TypicalHold,
    waiter::Waiter,
    waiters::{Id, Waiters},
    wakes::Wakes,
};
use crate::{Clock, ConfigError, ConfigErrorKind, SystemClock, Timestamp};

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
pub struct Gate(Arc<Shared>);

/// What a gate says to somebody who comes.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "one may run, wait, or neither")]
pub enum Entry {
    /// It may run.
    Admitted(Permit),
    /// It may wait for its turn.
    Queued(Place),
    /// Neither.
    Refused(GateRefused),
}

/// What becomes of those who wait when a gate is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "they have their turn or not")]
pub enum DrainQueue {
    /// They are refused.
    Refuse,
    /// They have their turn, and so do those who wait at [another gate](super::Arrival::inside).
    Serve,
}

/// What all clones of a gate have in common.
pub(super) struct Shared {
    pub(super) counter: Counter,
    pub(super) rules: GateRules,
    pub(super) running: Running,
    clock: Box<dyn Clock>,
    state: Mutex<State>,
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
    pub(super) typical_hold: TypicalHold,
    pub(super) slots: ReturnSlots,
    pub(super) outcomes: GateOutcomes,
    /// Whether those who are inside of other gates come in while it is drained.
    pub(super) serves_those_inside: bool,
    /// Those who wait for the gate to be idle, and how many have.
    pub(super) idle: BTreeMap<u64, Waker>,
    pub(super) idle_number: u64,
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
            typical_hold: TypicalHold::new(),
            slots: ReturnSlots::new(rules.longest_retry, seed),
            outcomes: GateOutcomes::default(),
            serves_those_inside: false,
            idle: BTreeMap::new(),
            idle_number: 0,
        };
        Ok(Self(Arc::new(Shared {
            counter: Counter::new(rules.limit.unwrap_or(GateRules::MAX_LIMIT)),
            running: Running::new(&rules.discipline),
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

    /// Somebody comes at `now`: runs at once, or waits, or is refused.
    ///
    /// Nobody passes those who wait, and as many wait as may, exactly.
    #[must_use]
    pub fn enter(&self, arrival: Arrival, now: Timestamp) -> Entry {
        let entered = match self.0.counter.enter() {
            Some(in_flight) => Entered::Granted(Grant { at: now, in_flight }),
            None => self.critical(now, |critical| critical.enter(&arrival)),
        };
        match entered {
            Entered::Granted(grant) => {
                self.0.running.begins(arrival.class);
                Entry::Admitted(Permit::new(self.clone(), arrival.class, grant, now))
            }
            Entered::Queued(id, deadline) => Entry::Queued(Place::new(self.clone(), id, deadline)),
            Entered::Refused(refused) => Entry::Refused(refused),
        }
    }

    /// Changes how many may run: none with 0, which closes the gate, and as many as come with
    /// `None`. Those who run go on, whatever the limit.
    ///
    /// # Errors
    ///
    /// A limit above [`GateRules::MAX_LIMIT`]; the old one stays.
    pub fn set_limit(&self, limit: impl Into<Option<u32>>) -> Result<(), ConfigError> {
        let limit = limit.into().unwrap_or(GateRules::MAX_LIMIT);
        if limit > GateRules::MAX_LIMIT {
            let expected = format!("at most {}", GateRules::MAX_LIMIT);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "limit", limit, expected));
        }
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.limit = limit);
            critical.grant();
        });
        Ok(())
    }

    /// Lets nobody in any more, until it is [opened](Self::open) again. The future is ready once
    /// nobody runs and nobody waits.
    pub fn drain(&self, queue: DrainQueue) -> Idle {
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.is_draining = true);
            critical.state.serves_those_inside = queue == DrainQueue::Serve;
            if queue == DrainQueue::Refuse {
                critical.refuse_all();
            }
        });
        Idle::new(self.clone())
    }

    /// Lets people in again.
    pub fn open(&self) {
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.is_draining = false);
        });
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
        let state = lock(&self.0.state);
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

    /// When to come back, for one who waited for too long: its refusal does not say.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.critical(now, |critical| critical.retry_after())
    }

    /// A permit is given back.
    pub(super) fn release(&self, class: u8, given_at: Timestamp) {
        self.0.running.ends(class);
        if self.0.is_measured() || !self.0.counter.leave() {
            self.critical(self.now(), |critical| critical.leave(given_at));
        }
    }

    /// What became of somebody who waits, as [`Waiters::poll`] tells it.
    pub(super) fn poll(
        &self,
        id: Id,
        waker: &Waker,
        clone: &mut Option<Waker>,
    ) -> Option<Poll<Waiter>> {
        lock(&self.0.state).waiters.poll(id, waker, clone)
    }

    /// Does something under the lock, and wakes whom it concerns when it is released.
    pub(super) fn critical<T>(
        &self,
        now: Timestamp,
        act: impl FnOnce(&mut Critical<'_>) -> T,
    ) -> T {
        let mut wakes = Wakes::default();
        let mut state = lock(&self.0.state);
        let mut critical = Critical::new(&self.0, &mut state, now, &mut wakes);
        let given = act(&mut critical);
        critical.end();
        drop(state);
        wakes.wake();
        given
    }
}

impl Shared {
    /// Whether one who leaves says how much the service gets done, though nobody waits.
    fn is_measured(&self) -> bool {
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
