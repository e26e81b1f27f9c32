//! The gates under one name: a single gate, or one gate for each value of a key.
//!
//! A [`GateSet`] belongs to one [`Concurrency`] of the configuration. With
//! [`for_each`](Concurrency::for_each) it makes a gate when the first request with a key arrives,
//! and forgets the gate when the last request with that key has ended. So the number of gates is
//! bounded by the number of requests in progress, however many keys clients send.
//!
//! ```text
//!  request ─► GateSet::of ─► GateRef ─► Entry ─► Permit, or a place in the queue
//!                │  makes the gate        │
//!                ▼  if it is missing      ▼  the last GateRef is dropped
//!             gates by key ◄──────── removes the gate, unless it is still in use
//! ```
//!
//! # Locks
//!
//! The map of gates has a lock for each of its parts. A gate is made while such a lock is held, and
//! reads the rules and the drain state under it. Therefore a change is written first, with no lock
//! held across, and then applied to all gates of the map. A gate that is being made meanwhile
//! either reads the new value, or is already in the map when the change gets there.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use dashmap::DashMap;
use waiting_room_core::{
    ConfigError, Gate, Timestamp,
    error::ConfigErrorKind,
    gate::{
        AdaptiveLimit, Arrival, DrainQueue, Entry, GateRules, GateSnapshot, Idle, Permit,
        PermitOutcome, Sample,
    },
    rate::KeyHash,
    time::Clock,
};

use super::concurrency::Concurrency;
use crate::{
    ambient::{StageClock, random_bytes},
    misconfiguration::Misconfiguration,
    rate_headers::PolicyLine,
    request::{Caller, Found},
    telemetry::{GateEvent, Subject, Telemetry},
};

/// The gates under one name, and the settings that they share.
pub(crate) struct GateSet {
    /// As configured. The limit in it may be outdated: `rules` has the one in force.
    concurrency: Concurrency,
    name: Arc<str>,
    subject: Subject,
    /// The line of the limit in force for the headers of refusals, built at the first refusal and
    /// again after the limit has changed.
    line: ArcSwapOption<GateLine>,
    /// The rules in force, for gates that are yet to be made. Read while a part of the map of gates
    /// is locked; being lock-free, it cannot deadlock with a change that walks through the map.
    rules: ArcSwap<GateRules>,
    /// Serializes changes of the limit. Without it, two concurrent changes could reach the gates in
    /// different orders and leave them with different limits.
    changing: Mutex<()>,
    gates: Gates,
    /// How a gate that is made during a drain treats its queue; `None` while the gates are open.
    /// Never locked while all gates are visited, see `make`.
    draining: Mutex<Option<DrainQueue>>,
    /// The limit that adapts itself to the samples of finished requests; `None` for a fixed limit.
    /// Only with a single gate: validation refuses it together with a key.
    adaptive: Option<Mutex<Box<dyn AdaptiveLimit>>>,
    clock: StageClock,
    telemetry: Telemetry,
}

/// The header line of a gate, cached together with the limit that it states.
pub(crate) struct GateLine {
    /// The limit for which `line` was built. If it differs from the limit in force, the line is
    /// stale.
    limit: u32,
    pub(crate) line: PolicyLine,
}

enum Gates {
    /// By the hash of the key's value. A gate is kept while a request holds a [`GateRef`] to it.
    ByKey(DashMap<KeyHash, Gate>),
    /// One gate for all requests that the scope covers.
    One(Gate),
}

/// The gate of one request. The last reference to be dropped removes a gate by key from the map.
pub(crate) struct GateRef {
    /// `None` only inside `drop`: this clone has to be gone before the other ones are counted.
    gate: Option<Gate>,
    /// The key under which the gate is in the map; `None` for a single gate.
    key: Option<KeyHash>,
    set: Arc<GateSet>,
}

/// The result of looking for the gate of a request.
pub(super) enum Lookup {
    /// The request needs a permit of this gate.
    Gate(GateRef),
    /// No gate under this name covers the request.
    None,
    /// The key is the client address, and the server does not report it.
    Stranger,
    /// The request lacks the key, and [`MissingKey`](crate::request::MissingKey) refuses such
    /// requests.
    Unknown,
}

impl GateSet {
    /// Makes the set for one entry of the configuration. A gate by key starts without gates.
    ///
    /// # Errors
    ///
    /// Returns the first rule that [`GateRules::validate`] refuses.
    pub(super) fn new(
        concurrency: &Concurrency,
        clock: &StageClock,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        let rules = concurrency.rules.clone();
        let gates = match concurrency.for_each {
            Some(_) => Gates::ByKey(DashMap::new()),
            None => Gates::One(gate(rules.clone(), clock)?),
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
            clock: clock.clone(),
            telemetry: telemetry.clone(),
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Looks up the gate for a request, and makes it if it is the first request with its key.
    ///
    /// The clone is taken while the part of the map with this key is locked. So a concurrent drop
    /// of the last [`GateRef`] either sees the clone and keeps the gate, or removes it before this
    /// call makes a new one. Two gates for one key would let twice the limit run.
    pub(super) fn of(self: &Arc<Self>, caller: &Caller<'_>) -> Lookup {
        if self.concurrency.scope.as_ref().is_some_and(|scope| !scope.covers(&caller.head)) {
            return Lookup::None;
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
                        let made = gates.entry(key).or_try_insert_with(|| self.make());
                        let Ok(gate) = made else { return Lookup::Unknown };
                        (gate.clone(), Some(key))
                    }
                }
            }
            (Gates::One(gate), _) => (gate.clone(), None),
            (Gates::ByKey(_), None) => unreachable!("gates by key have a key"),
        };
        Lookup::Gate(GateRef { gate: Some(gate), key, set: Arc::clone(self) })
    }

    /// Changes how many requests may run at each gate: 0 closes the gates, `None` removes the
    /// limit. Requests that already run are not interrupted.
    ///
    /// # Errors
    ///
    /// Returns an error for an adaptive gate, which would overwrite the value, and for rules that a
    /// gate cannot keep. The old limit then stays in force.
    pub(crate) fn set_limit(&self, limit: Option<u32>) -> Result<(), ConfigError> {
        if self.adaptive.is_some() {
            let (kind, given) = (ConfigErrorKind::Contradicts, format!("{limit:?}"));
            let expected = format!("none: the gate {:?} finds its limit by itself", self.name);
            return Err(ConfigError::new(kind, "concurrency", given, expected));
        }
        let _changing = lock(&self.changing);
        let changed = GateRules::clone(&self.rules.load()).limit(limit);
        changed.validate()?;
        // Stored before the gates are visited: a gate that is made meanwhile either reads the new
        // rules, or was put into the map with the old ones before its part of the map is visited.
        self.rules.store(Arc::new(changed));
        self.each(|gate| _ = gate.set_limit(limit));
        Ok(())
    }

    /// Stops admitting requests at all gates. Returns one future for each gate, ready once no
    /// request runs or waits there.
    ///
    /// Each future holds a clone of its gate, so gates by key outlive their last request:
    /// [`forget_idle`](Self::forget_idle) removes them afterwards.
    pub(crate) fn drain(&self, queue: DrainQueue) -> Vec<Idle> {
        // The guard is a temporary and is released at the end of this statement. Held across the
        // loop below, it would deadlock with `make`, which locks in the opposite order.
        *lock(&self.draining) = Some(queue);
        let mut idle = Vec::new();
        self.each(|gate| idle.push(gate.drain(queue)));
        idle
    }

    /// Admits requests again at all gates, including those that will be made.
    pub(crate) fn open(&self) {
        *lock(&self.draining) = None;
        self.each(Gate::open);
    }

    /// Removes the gates by key that no request uses. The futures of [`drain`](Self::drain) kept
    /// them in the map when their last request ended.
    pub(crate) fn forget_idle(&self) {
        if let Gates::ByKey(gates) = &self.gates {
            gates.retain(|_, gate| gate.is_shared());
        }
    }

    /// Snapshots of all gates under this name, in no particular order.
    pub(crate) fn snapshots(&self) -> Vec<GateSnapshot> {
        let (mut snapshots, now) = (Vec::new(), self.clock.now());
        self.each(|gate| snapshots.push(gate.snapshot(now)));
        snapshots
    }

    /// Calls `act` for every gate. In a set by key, the part of the map that is being visited is
    /// locked during the call, so `act` must not look up gates.
    fn each(&self, mut act: impl FnMut(&Gate)) {
        match &self.gates {
            Gates::ByKey(gates) => gates.iter().for_each(|gate| act(gate.value())),
            Gates::One(gate) => act(gate),
        }
    }

    /// Makes a gate for a new key. Runs while the part of the map that will hold it is locked.
    fn make(&self) -> Result<Gate, ConfigError> {
        let made = gate(GateRules::clone(&self.rules.load()), &self.clock)?;
        // `drain` sets the state first and visits the gates afterwards. So either the state is
        // already visible here, or the drain finds this gate in the map.
        if let Some(queue) = *lock(&self.draining) {
            drop(made.drain(queue));
        }
        Ok(made)
    }
}

impl GateRef {
    /// The configuration of this gate. The limit in force is that of [`gate`](Self::gate).
    pub(crate) fn concurrency(&self) -> &Concurrency {
        &self.set.concurrency
    }

    /// Whether this is a gate for one value of a key, so that a refusal concerns one client or
    /// tenant and not the whole service.
    pub(crate) const fn is_by_key(&self) -> bool {
        self.key.is_some()
    }

    /// The gate itself.
    pub(crate) fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("it is there until this is dropped")
    }

    /// Admits a request, queues it, or refuses it. `since` is its time of arrival at the layer, and
    /// `is_inside` is true if it holds a permit of another gate.
    ///
    /// A free gate is entered without building the [`Arrival`], which hashes the tenant's key and
    /// parses headers. Only the queue needs these.
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

    /// Describes a request to the queue discipline: its class, its tenant, and when its client
    /// stops waiting.
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
            // Requests without the key are grouped by address, one tenant for each.
            let tenant = fair_by.hash(caller).or_else(|| caller.address_hash());
            if tenant.is_none() {
                // Without an address either, all of these requests share the turns of one tenant,
                // which is probably not intended.
                self.set.telemetry.misconfigured(Misconfiguration::PeerUnknown);
            }
            arrival = arrival.tenant(tenant.map_or(0, KeyHash::as_u64));
        }
        let headers = caller.head.headers();
        // Of several headers, the shortest time counts. It is relative to the arrival at the layer:
        // by now the request may have waited for a store.
        let patience = rules.deadlines.iter().filter_map(|deadline| deadline.of(headers)).min();
        patience.map_or(arrival, |patience| arrival.deadline(since + patience))
    }

    /// Whether both are the same gate: of the same layer, under the same name, for the same key.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.set, &other.set) && self.key == other.key
    }

    /// Records the outcome of a request at this gate in the log and the metrics.
    pub(crate) fn report(&self, event: GateEvent) {
        self.set.telemetry.gate(&self.set.subject, event);
    }

    /// Reports that a request arrived which already holds a permit of this gate.
    pub(super) fn entered_twice(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::CountedTwice);
    }

    /// Reports that a request had to wait where there is no tokio runtime.
    pub(super) fn lacks_runtime(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::NoRuntime);
    }

    /// Records a permit that was granted in the queue, and how long the request waited for it.
    pub(super) fn granted(&self, permit: &Permit) {
        self.report(GateEvent::AdmittedQueued);
        self.set.telemetry.gate_time(&self.set.subject, WAIT, || permit.waited());
    }

    /// The header line for a refusal, with the limit in force; `None` if the gate has no limit.
    ///
    /// Two requests that find the cached line stale both build it and store equal lines, so no lock
    /// is needed.
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

    /// Records how long a permit was held. Called just before the permit is dropped.
    pub(super) fn released(&self, permit: &Permit) {
        let held = || self.set.clock.now().since(permit.given_at());
        self.set.telemetry.gate_time(&self.set.subject, HOLD, held);
    }

    /// Passes a sample of a finished request to the adaptive limit, and applies the limit that it
    /// returns. Does nothing at a gate with a fixed limit.
    pub(super) fn learn(&self, permit: &Permit, outcome: PermitOutcome) {
        let Some(adaptive) = &self.set.adaptive else { return };
        let now = self.set.clock.now();
        let hold = now.since(permit.given_at());
        let mut adaptive = lock(adaptive);
        let limit = adaptive.observe(&Sample::new(now, permit.in_flight(), hold, outcome));
        let limit =
            Some(limit.max(Concurrency::LEAST)).filter(|limit| *limit < GateRules::MAX_LIMIT);
        // The limit is set while the lock of the adaptive limit is held. Otherwise two threads
        // could observe in one order and set in the other, and an outdated limit would stay in
        // force. The comparison reads the gate, because its limit may have been changed by other
        // means.
        if limit != self.gate().limit()
            && let Err(error) = self.gate().set_limit(limit)
        {
            unreachable!("no limit is above the highest: {error}");
        }
    }

    /// Records that the sweeper took a permit back: the response was not read, or the permit was
    /// held for longer than `max_hold`.
    pub(super) fn swept(&self, permit: &Permit) {
        self.released(permit);
        self.report(GateEvent::Swept);
    }
}

impl Drop for GateRef {
    fn drop(&mut self) {
        // This clone is dropped first, since `is_shared` counts it too. The clones that remain
        // belong to permits, waiters and other requests. `remove_if` counts under the lock under
        // which `of` clones, so a gate that a new request has just found is not removed.
        self.gate = None;
        if let (Gates::ByKey(gates), Some(key)) = (&self.set.gates, &self.key) {
            gates.remove_if(key, |_, gate| !gate.is_shared());
        }
    }
}

impl fmt::Debug for GateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateRef").field("name", &self.set.name).finish_non_exhaustive()
    }
}

/// Locks a mutex, also after a panic of a thread that held it. Most of these states are replaced as
/// a whole, so a panic leaves them consistent; and after a panic inside an adaptive limit, which is
/// foreign code, the gate keeps working.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Histogram of the times for which permits were held, in seconds.
const HOLD: &str = "waiting_room_gate_hold_seconds";
/// Histogram of the times for which requests waited before they got a permit, in seconds.
const WAIT: &str = "waiting_room_gate_wait_seconds";

/// Makes a gate. The seed spreads the times at which refused clients are asked to come back; it is
/// random, so that the nodes of a service do not spread them alike.
fn gate(rules: GateRules, clock: &StageClock) -> Result<Gate, ConfigError> {
    Gate::with_clock(rules, u64::from_le_bytes(random_bytes()), clock.clone())
}
