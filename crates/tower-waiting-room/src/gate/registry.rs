//! A gate with its name: one for all requests, or one for each value of a key.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use dashmap::DashMap;
use waiting_room_core::{
    AdaptiveLimit, Arrival, Clock, ConfigError, ConfigErrorKind, DrainQueue, Entry, Gate,
    GateRules, GateSnapshot, Idle, KeyHash, Permit, PermitOutcome, Sample, Timestamp,
};

use super::concurrency::Concurrency;
use crate::{
    ambient::{StageClock, random_bytes},
    misconfiguration::Misconfiguration,
    rate_headers::PolicyLine,
    request::{Caller, Found},
    telemetry::{GateEvent, Subject, Telemetry},
};

/// The gates under one name.
pub(crate) struct GateSet {
    concurrency: Concurrency,
    name: Arc<str>,
    subject: Subject,
    /// What refusals tell, of the limit in force.
    line: ArcSwapOption<GateLine>,
    /// Those in force, of which the limit may have been changed. Read where a gate is made, with a
    /// part of the gates locked; so whoever changes them and goes through all gates locks neither.
    rules: ArcSwap<GateRules>,
    /// Locked while the limit is changed, so that the last one is in force at all gates.
    changing: Mutex<()>,
    gates: Gates,
    /// What a gate that is made does with those who wait; `None` if it is open.
    draining: Mutex<Option<DrainQueue>>,
    adaptive: Option<Mutex<Box<dyn AdaptiveLimit>>>,
    clock: StageClock,
    telemetry: Telemetry,
}

/// What refusals tell of a gate with this limit.
pub(crate) struct GateLine {
    limit: u32,
    pub(crate) line: PolicyLine,
}

enum Gates {
    /// By the hash of the value; there while a request has to do with it.
    ByKey(DashMap<KeyHash, Gate>),
    One(Gate),
}

/// The gate of a request.
pub(crate) struct GateRef {
    /// `None` at the end, when it is looked whether anybody else has to do with it.
    gate: Option<Gate>,
    key: Option<KeyHash>,
    set: Arc<GateSet>,
}

/// Lookup of the gates under a name a request has to go through.
pub(super) enum Lookup {
    Gate(GateRef),
    None,
    /// It cannot be told, as the address of the client is unknown.
    Stranger,
    /// It cannot be told.
    Unknown,
}

impl GateSet {
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

    /// The gate of a request.
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

    /// Changes how many may run at each of them.
    pub(crate) fn set_limit(&self, limit: Option<u32>) -> Result<(), ConfigError> {
        if self.adaptive.is_some() {
            let (kind, given) = (ConfigErrorKind::Contradicts, format!("{limit:?}"));
            let expected = format!("none: the gate {:?} finds its limit by itself", self.name);
            return Err(ConfigError::new(kind, "concurrency", given, expected));
        }
        let _changing = lock(&self.changing);
        let changed = GateRules::clone(&self.rules.load()).limit(limit);
        changed.validate()?;
        // Either a gate that is made sees it, or it is found among all others.
        self.rules.store(Arc::new(changed));
        self.each(|gate| _ = gate.set_limit(limit));
        Ok(())
    }

    /// Lets nobody in any more; ready once all are empty.
    pub(crate) fn drain(&self, queue: DrainQueue) -> Vec<Idle> {
        *lock(&self.draining) = Some(queue);
        let mut idle = Vec::new();
        self.each(|gate| idle.push(gate.drain(queue)));
        idle
    }

    /// Lets people in again.
    pub(crate) fn open(&self) {
        *lock(&self.draining) = None;
        self.each(Gate::open);
    }

    /// Forgets the gates by key that nobody has to do with: who waited for them to be idle kept them
    /// when their last request went.
    pub(crate) fn forget_idle(&self) {
        if let Gates::ByKey(gates) = &self.gates {
            gates.retain(|_, gate| gate.is_shared());
        }
    }

    /// All of them in numbers.
    pub(crate) fn snapshots(&self) -> Vec<GateSnapshot> {
        let (mut snapshots, now) = (Vec::new(), self.clock.now());
        self.each(|gate| snapshots.push(gate.snapshot(now)));
        snapshots
    }

    fn each(&self, mut act: impl FnMut(&Gate)) {
        match &self.gates {
            Gates::ByKey(gates) => gates.iter().for_each(|gate| act(gate.value())),
            Gates::One(gate) => act(gate),
        }
    }

    fn make(&self) -> Result<Gate, ConfigError> {
        let made = gate(GateRules::clone(&self.rules.load()), &self.clock)?;
        // Either this sees it, or whoever drains finds the gate.
        if let Some(queue) = *lock(&self.draining) {
            drop(made.drain(queue));
        }
        Ok(made)
    }
}

impl GateRef {
    pub(crate) fn concurrency(&self) -> &Concurrency {
        &self.set.concurrency
    }

    /// Whether it is for one value of a key.
    pub(crate) const fn is_by_key(&self) -> bool {
        self.key.is_some()
    }

    pub(crate) fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("it is there until this is dropped")
    }

    /// Lets a request in that came at `since` and may be inside of other gates; or has it wait, or
    /// refuses it.
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

    /// What the discipline is told of a request.
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
            // Those without a key take turns as one tenant for each address.
            let tenant = fair_by.hash(caller).or_else(|| caller.address_hash());
            if tenant.is_none() {
                // All of them take turns as one tenant, which was not meant.
                self.set.telemetry.misconfigured(Misconfiguration::PeerUnknown);
            }
            arrival = arrival.tenant(tenant.map_or(0, KeyHash::as_u64));
        }
        let headers = caller.head.headers();
        let patience = rules.deadlines.iter().filter_map(|deadline| deadline.of(headers)).min();
        patience.map_or(arrival, |patience| arrival.deadline(since + patience))
    }

    /// Whether both are one gate, and not just gates of one name.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.set, &other.set) && self.key == other.key
    }

    /// Reports what became of a request here.
    pub(crate) fn report(&self, event: GateEvent) {
        self.set.telemetry.gate(&self.set.subject, event);
    }

    /// Somebody comes who holds a permit of it already.
    pub(super) fn entered_twice(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::CountedTwice);
    }

    /// A request had to wait where no runtime keeps the time.
    pub(super) fn lacks_runtime(&self) {
        self.set.telemetry.misconfigured(Misconfiguration::NoRuntime);
    }

    /// Somebody was given a permit after a while.
    pub(super) fn granted(&self, permit: &Permit) {
        self.report(GateEvent::AdmittedQueued);
        self.set.telemetry.gate_time(&self.set.subject, WAIT, || permit.waited());
    }

    /// What a refusal tells of the limit in force; nothing, if there is none.
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

    /// A permit is about to be given back.
    pub(super) fn released(&self, permit: &Permit) {
        let held = || self.set.clock.now().since(permit.given_at());
        self.set.telemetry.gate_time(&self.set.subject, HOLD, held);
    }

    /// A request went so, with this permit, which is about to be given back.
    pub(super) fn learn(&self, permit: &Permit, outcome: PermitOutcome) {
        let Some(adaptive) = &self.set.adaptive else { return };
        let now = self.set.clock.now();
        let hold = now.since(permit.given_at());
        let mut adaptive = lock(adaptive);
        let limit = adaptive.observe(&Sample::new(now, permit.in_flight(), hold, outcome));
        let limit =
            Some(limit.max(Concurrency::LEAST)).filter(|limit| *limit < GateRules::MAX_LIMIT);
        // Under the lock of the limit, so that the last that it says is the one in force. What was in
        // force is the gate's to say: a limit may have changed by other means than what it hears.
        if limit != self.gate().limit()
            && let Err(error) = self.gate().set_limit(limit)
        {
            unreachable!("no limit is above the highest: {error}");
        }
    }

    /// A permit was taken away, because nobody read the response or it was held for too long.
    pub(super) fn swept(&self, permit: &Permit) {
        self.released(permit);
        self.report(GateEvent::Swept);
    }
}

impl Drop for GateRef {
    fn drop(&mut self) {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const HOLD: &str = "waiting_room_gate_hold_seconds";
const WAIT: &str = "waiting_room_gate_wait_seconds";

fn gate(rules: GateRules, clock: &StageClock) -> Result<Gate, ConfigError> {
    Gate::with_clock(rules, u64::from_le_bytes(random_bytes()), clock.clone())
}
