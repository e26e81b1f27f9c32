//! The gates under one name: a single gate, or one gate for each value of a key.
//!
//! A [`GateSet`] belongs to one [`Concurrency`] of the configuration. With
//! [`for_each`](Concurrency::for_each), the set creates a gate when the first request with a key
//! value arrives, and removes the gate when the last request with that value has ended. The number
//! of gates is therefore bounded by the number of requests in progress, no matter how many values
//! clients send.
//!
//! ```text
//!  request ─► GateSet::of ─► GateRef ─► Entry ─► Permit, or a place in the queue
//!                │  creates the gate      │
//!                ▼  if it is missing      ▼  the last GateRef is dropped
//!             gates by key ◄──────── removes the gate, unless it is still in use
//! ```
//!
//! # Locks
//!
//! The map of gates has one lock per shard. While the lock of its shard is held, a gate is created
//! from the current rules and the current drain state. A change to the rules or the drain state is
//! therefore stored first and then applied to all gates in the map. No lock has to be held across
//! these two steps. A gate that is created at the same time either reads the new value, or is
//! already in the map when the change visits its shard.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use waiting_room_core::{
    ConfigError, Gate, Timestamp,
    error::ConfigErrorKind,
    gate::{
        AdaptiveLimit, Arrival, Discipline, DrainQueue, Entry, GateRules, GateSnapshot, Idle,
        Permit, PermitOutcome, Sample,
    },
    rate::KeyHash,
    time::Clock,
};

use super::{by_key::GatesByKey, concurrency::Concurrency, share::Share};
use crate::{
    ambient::{StageClock, random_bytes},
    misconfiguration::Misconfiguration,
    rate_headers::PolicyLine,
    request::{Caller, Found},
    telemetry::{GateEvent, GateTime, Subject, Telemetry},
};

/// The gates under one name, and the settings that they share.
pub(crate) struct GateSet {
    /// The configuration of the gates. The limit in this field may be outdated: `rules` contains
    /// the current limit.
    concurrency: Concurrency,
    name: Arc<str>,
    subject: Subject,
    /// The header line that states the current limit in refusals. The line is built at the first
    /// refusal, and again after the limit has changed.
    line: ArcSwapOption<GateLine>,
    /// The current rules, from which new gates are created. This field is read while a shard of the
    /// map is locked. The read is lock-free, so it cannot deadlock with a change that iterates over
    /// the map.
    rules: ArcSwap<GateRules>,
    /// A lock that serializes changes to the limit. Without this lock, two concurrent changes could
    /// reach the gates in different orders and leave them with different limits.
    changing: Mutex<()>,
    gates: Gates,
    /// The treatment of the queue at a gate that is created during a drain, or `None` while the
    /// gates are open. This mutex is never locked while the gates are being visited (see `make`).
    draining: Mutex<Option<DrainQueue>>,
    /// The limit that adapts to the samples of finished requests, or `None` for a fixed limit. Only
    /// a gate without a key can be adaptive, because validation rejects an adaptive limit with a
    /// key.
    adaptive: Option<Mutex<Box<dyn AdaptiveLimit>>>,
    /// The share of a limit for all nodes, or `None` for a limit of this node. Only a gate without a
    /// key can have a share.
    share: Option<Arc<Share>>,
    clock: StageClock,
    telemetry: Telemetry,
}

/// The header line of a gate, cached together with the limit that it states.
pub(crate) struct GateLine {
    /// The limit for which `line` was built. If the current limit is different, the line is stale.
    limit: u32,
    pub(crate) line: PolicyLine,
}

enum Gates {
    /// The gates, indexed by the hash of their key values. A gate stays in the map while a request
    /// holds a [`GateRef`] to it.
    ByKey(GatesByKey),
    /// One gate for all requests that the scope covers.
    One(Gate),
}

/// The gate of one request. Dropping the last reference to a gate by key removes the gate from the
/// map.
pub(crate) struct GateRef {
    /// The gate. This field is `None` only inside `drop`, which has to drop this clone of the gate
    /// before it counts the remaining clones.
    gate: Option<Gate>,
    /// The key under which the gate is stored in the map, or `None` for a single gate.
    key: Option<KeyHash>,
    set: Arc<GateSet>,
}

/// The result of looking up the gate of a request.
pub(super) enum Lookup {
    /// The request needs a permit of this gate.
    Gate(GateRef),
    /// No gate under this name covers the request.
    None,
    /// The key is the client's address, which the server does not provide.
    Stranger,
    /// The request lacks the key, and [`MissingKey`](crate::request::MissingKey) refuses such
    /// requests.
    Unknown,
}

impl GateSet {
    /// Creates the set for one entry of the configuration. A set with a key starts without gates.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that [`GateRules::validate`] rejects.
    pub(super) fn new(
        concurrency: &Concurrency,
        clock: &StageClock,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        let rules = concurrency.rules.clone();
        let gates = match concurrency.for_each {
            Some(_) => Gates::ByKey(GatesByKey::new()),
            None => Gates::One(gate(rules.clone(), clock)?),
        };
        let share = match (&gates, concurrency.shared.clone()) {
            (Gates::One(gate), Some(limit)) => Some(Share::new(limit, gate.clone(), clock.clone())),
            _ => None,
        };
        let name: Arc<str> = concurrency.name.as_ref().into();
        Ok(Self {
            subject: Subject::new(Arc::clone(&name)),
            name,
            line: ArcSwapOption::empty(),
            concurrency: concurrency.clone(),
            rules: ArcSwap::from_pointee(rules),
            changing: Mutex::new(()),
            gates,
            draining: Mutex::new(None),
            adaptive: concurrency.adaptive.as_ref().map(|make| Mutex::new(make())),
            share,
            clock: clock.clone(),
            telemetry: telemetry.clone(),
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Looks up the gate for a request. If the request is the first with its key value, the gate is
    /// created.
    ///
    /// The gate is cloned while the shard of its key is locked. A concurrent drop of the last
    /// [`GateRef`] therefore either sees the clone and keeps the gate, or removes the gate before
    /// this call creates a new one. With two gates for one key, twice as many requests as the limit
    /// allows could run.
    pub(super) fn of(self: &Arc<Self>, caller: &Caller<'_>) -> Lookup {
        if self.concurrency.scope.as_ref().is_some_and(|scope| !scope.covers(&caller.head)) {
            return Lookup::None;
        }
        if self.share.as_ref().is_some_and(|share| !share.start()) {
            self.telemetry.misconfigured(Misconfiguration::NoRuntime);
        }
        let (gate, key) = match (&self.gates, &self.concurrency.for_each) {
            (Gates::ByKey(gates), Some(by)) => {
                match by.find(self.concurrency.missing_key, caller) {
                    Found::Bypass => return Lookup::None,
                    Found::Refuse => return Lookup::Unknown,
                    Found::Stranger => {
                        self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                        return Lookup::Stranger;
                    }
                    Found::Key(key) => {
                        let gate = gates.get_or_make(key, || self.make());
                        let Ok(gate) = gate else { return Lookup::Unknown };
                        (gate, Some(key))
                    }
                }
            }
            (Gates::One(gate), _) => (gate.clone(), None),
            (Gates::ByKey(_), None) => unreachable!("gates by key have a key"),
        };
        Lookup::Gate(GateRef { gate: Some(gate), key, set: Arc::clone(self) })
    }

    /// Changes how many requests may run at each gate. A limit of 0 closes the gates, and `None`
    /// removes the limit. Requests that are already running are not interrupted.
    ///
    /// # Errors
    ///
    /// Returns an error if the gate is adaptive or has a share, which would overwrite the value, or
    /// if the limit is invalid. The old limit then remains in effect.
    pub(crate) fn set_limit(&self, limit: Option<u32>) -> Result<(), ConfigError> {
        let contradicts = |expected: String| {
            let kind = ConfigErrorKind::Contradicts;
            Err(ConfigError::new(kind, "concurrency", format_args!("{limit:?}"), expected))
        };
        if self.adaptive.is_some() {
            return contradicts(format!("no limit: the gate {:?} adapts its own limit", self.name));
        }
        if self.share.is_some() {
            let name = &self.name;
            return contradicts(format!(
                "no limit: the gate {name:?} takes its limit from its share"
            ));
        }
        let _changing = lock(&self.changing);
        let changed = GateRules::clone(&self.rules.load()).limit(limit);
        changed.validate()?;
        // The rules are stored before the gates are visited. A gate that is created at the same
        // time either reads the new rules, or is in the map with the old rules before its shard is
        // visited.
        self.rules.store(Arc::new(changed));
        self.each(|gate| _ = gate.set_limit(limit));
        Ok(())
    }

    /// Starts the task that renews the gate's share, if the gate has one and a runtime is running.
    pub(super) fn start(&self) {
        self.share.iter().for_each(|share| _ = share.start());
    }

    /// Stops admitting requests at all gates. Returns one future for each gate, which completes
    /// once no request runs or waits at that gate.
    ///
    /// Each future holds a clone of its gate, so gates by key outlive their last request.
    /// [`forget_idle`](Self::forget_idle) removes these gates afterwards.
    pub(crate) fn drain(&self, queue: DrainQueue) -> Vec<Idle> {
        // The guard is a temporary that is dropped at the end of this statement. If the guard were
        // held across the loop below, it could deadlock with `make`, which locks in the opposite
        // order.
        *lock(&self.draining) = Some(queue);
        let mut idle = Vec::new();
        self.each(|gate| idle.push(gate.drain(queue)));
        idle
    }

    /// Admits requests again at all gates, including gates that are created later.
    pub(crate) fn open(&self) {
        *lock(&self.draining) = None;
        self.each(Gate::open);
    }

    /// Removes the gates by key that no request uses. The futures of [`drain`](Self::drain) kept
    /// these gates in the map when their last requests ended.
    pub(crate) fn forget_idle(&self) {
        if let Gates::ByKey(gates) = &self.gates {
            gates.forget_idle();
        }
    }

    /// Returns snapshots of all gates under this name, in no particular order.
    pub(crate) fn snapshots(&self) -> Vec<GateSnapshot> {
        let mut snapshots = Vec::new();
        let now = self.clock.now();
        self.each(|gate| snapshots.push(gate.snapshot(now)));
        snapshots
    }

    /// Returns the number of requests that all gates under this name have refused, including gates
    /// by key that no longer exist.
    pub(crate) fn refusals(&self) -> u64 {
        self.subject.refusals()
    }

    /// Calls `act` for every gate. In a set with a key, the shard that is being visited is locked
    /// during the call, so `act` must not look up gates.
    fn each(&self, mut act: impl FnMut(&Gate)) {
        match &self.gates {
            Gates::ByKey(gates) => gates.each(act),
            Gates::One(gate) => act(gate),
        }
    }

    /// Creates a gate for a new key value, while the shard that will contain the gate is locked.
    fn make(&self) -> Result<Gate, ConfigError> {
        let made = gate(GateRules::clone(&self.rules.load()), &self.clock)?;
        // `drain` sets the state first and visits the gates afterwards. Therefore either the state
        // is already visible here, or the drain finds this gate in the map.
        if let Some(queue) = *lock(&self.draining) {
            drop(made.drain(queue));
        }
        Ok(made)
    }
}

impl GateRef {
    /// Returns the configuration of this gate. The configured limit may be outdated;
    /// [`gate`](Self::gate) has the current limit.
    pub(crate) fn concurrency(&self) -> &Concurrency {
        &self.set.concurrency
    }

    /// Returns whether this gate belongs to one key value. A refusal by such a gate concerns one
    /// client or tenant rather than the whole service.
    pub(crate) const fn is_by_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the referenced gate.
    pub(crate) fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("the gate is present until this reference is dropped")
    }

    /// Admits, queues or refuses a request. `since` is the time at which the request arrived at the
    /// layer, and `is_inside` is true if the request already holds a permit of another gate.
    ///
    /// Building an [`Arrival`] means hashing the tenant's key and parsing headers, so no
    /// [`Arrival`] is built if the gate has a free permit.
    pub(super) fn enter(
        &self,
        caller: &Caller<'_>,
        since: Timestamp,
        is_inside: bool,
        now: Timestamp,
    ) -> Entry {
        let class = self.concurrency().class.as_ref().map_or(0, |class| class(&caller.head));
        match self.gate().try_enter(class, now) {
            Some(permit) => Entry::Admitted(permit),
            None => self.gate().enter(self.arrival(caller, class, since, is_inside), now),
        }
    }

    /// Describes a request to the queue discipline: its class, its tenant, and the time at which
    /// its client stops waiting.
    fn arrival(
        &self,
        caller: &Caller<'_>,
        class: u8,
        since: Timestamp,
        is_inside: bool,
    ) -> Arrival {
        let rules = self.concurrency();
        let mut arrival = Arrival::default().class(class);
        if is_inside {
            arrival = arrival.inside();
        }
        if let Some(fair_by) = &rules.fair_by {
            // Requests without the key are grouped by address, with one tenant for each address.
            let tenant = fair_by.hash(caller).or_else(|| caller.address_hash());
            if tenant.is_none() {
                // If the address is unknown too, all such requests share the turns of one tenant,
                // which is probably not intended.
                self.set.telemetry.misconfigured(Misconfiguration::PeerUnknown);
            }
            arrival = arrival.tenant(tenant.map_or(0, KeyHash::as_u64));
        } else if let Discipline::ControlledDelay { .. } = rules.rules.discipline {
            arrival = arrival.tenant(caller.address_hash().map_or(0, KeyHash::as_u64));
        }
        let headers = caller.head.headers();
        // If a request has several deadline headers, the shortest time applies. The time is counted
        // from the arrival at the layer, because the request may already have waited for a store.
        let patience = rules.deadlines.iter().filter_map(|deadline| deadline.of(headers)).min();
        patience.map_or(arrival, |patience| arrival.deadline(since + patience))
    }

    /// Returns whether both references refer to the same gate, that is, whether their layer, name
    /// and key value are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.set, &other.set) && self.key == other.key
    }

    /// Records the outcome of a request at this gate in the log and the metrics.
    pub(crate) fn report(&self, event: GateEvent) {
        self.set.telemetry.gate(&self.set.subject, event);
    }

    /// Reports the arrival of a request that already holds a permit of this gate.
    pub(super) fn entered_twice(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::CountedTwice);
    }

    /// Reports that a request had to wait even though there is no tokio runtime.
    pub(super) fn lacks_runtime(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::NoRuntime);
    }

    /// Records that a queued request was granted a permit, and how long the request waited for it.
    pub(super) fn granted(&self, permit: &Permit) {
        self.report(GateEvent::AdmittedQueued);
        self.set.telemetry.gate_time(&self.set.subject, GateTime::Wait, || permit.waited());
    }

    /// Returns the header line for a refusal with the current limit, or `None` if the gate has no
    /// limit.
    ///
    /// Two requests that find the cached line stale both build the line and store equal results, so
    /// no lock is needed.
    pub(crate) fn line(&self) -> Option<Arc<GateLine>> {
        let limit = self.gate().limit()?;
        if let Some(known) = self.set.line.load_full().filter(|known| known.limit == limit) {
            return Some(known);
        }
        let line = PolicyLine::concurrent(&self.set.name, limit).ok()?;
        let line = Arc::new(GateLine { limit, line });
        self.set.line.store(Some(Arc::clone(&line)));
        Some(line)
    }

    /// Records how long a permit was held. Call this method just before the permit is dropped.
    pub(super) fn released(&self, permit: &Permit) {
        let held = || self.set.clock.now().since(permit.given_at());
        self.set.telemetry.gate_time(&self.set.subject, GateTime::Hold, held);
    }

    /// Passes a sample of a finished request to the adaptive limit, and applies the limit that it
    /// returns. At a gate with a fixed limit, this method does nothing.
    pub(super) fn learn(&self, permit: &Permit, outcome: PermitOutcome) {
        let Some(adaptive) = &self.set.adaptive else { return };
        let now = self.set.clock.now();
        let hold = now.since(permit.given_at());
        let mut adaptive = lock(adaptive);
        let limit = adaptive.observe(&Sample::new(now, permit.in_flight(), hold, outcome));
        let limit =
            Some(limit.max(Concurrency::LEAST)).filter(|limit| *limit < GateRules::MAX_LIMIT);
        // The limit is set while the adaptive limit is locked. Otherwise two threads could call
        // `observe` in one order and `set_limit` in the other, and an outdated limit would remain
        // in effect. The comparison reads the limit of the gate, which may have been changed by
        // other means.
        if limit != self.gate().limit()
            && let Err(error) = self.gate().set_limit(limit)
        {
            unreachable!("the limit is below the maximum: {error}");
        }
    }

    /// Records that the sweeper took a permit back, because the response was not read or the permit
    /// was held for longer than `max_hold`.
    pub(super) fn swept(&self, permit: &Permit) {
        self.released(permit);
        self.report(GateEvent::Swept);
    }
}

impl Drop for GateRef {
    fn drop(&mut self) {
        // This clone is dropped first, because `is_shared` counts it too. The remaining clones
        // belong to permits, waiters and other requests. `forget` counts the clones, and `of`
        // clones a gate, under the same lock, so a gate that a new request has just found is not
        // removed.
        self.gate = None;
        if let (Gates::ByKey(gates), Some(key)) = (&self.set.gates, &self.key) {
            gates.forget(*key);
        }
    }
}

impl fmt::Debug for GateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateRef").field("name", &self.set.name).finish_non_exhaustive()
    }
}

/// Locks a mutex, even if a thread panicked while holding it. Most of the guarded values are
/// replaced as a whole, so a panic leaves them consistent. If an adaptive limit that the
/// application defines panics, the gate continues to work.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a gate. The seed determines how the retry times of refused clients are spread. The seed
/// is random, so that the nodes of a service do not all spread retry times in the same way.
fn gate(rules: GateRules, clock: &StageClock) -> Result<Gate, ConfigError> {
    Gate::with_clock(rules, u64::from_le_bytes(random_bytes()), clock.clone())
}
