//! A gate with its name: one for all requests, or one for each value of a key.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use dashmap::DashMap;
use waiting_room_core::{
    Arrival, Clock, ConfigError, ConfigErrorKind, DrainQueue, Gate, GateRules, GateSnapshot,
    HoldOutcome, Idle, KeyHash, Limit, Permit, Sample, Timestamp,
};

use super::concurrency::Concurrency;
use crate::{
    misconfiguration::Misconfiguration,
    rate::Now,
    request::{Caller, Found},
    respond::PolicyLine,
    telemetry::{GateEvent, Subject, Telemetry},
    token::random_bytes,
};

/// The gates under one name.
pub(crate) struct Named {
    concurrency: Concurrency,
    name: Arc<str>,
    subject: Subject,
    /// What refusals tell, of the limit in force.
    line: ArcSwapOption<(u32, PolicyLine)>,
    /// Those in force, of which the limit may have been changed. Read where a gate is made, with a
    /// part of the gates locked; so whoever changes them and goes through all gates locks neither.
    rules: ArcSwap<GateRules>,
    /// Locked while the limit is changed, so that the last one is in force at all gates.
    changing: Mutex<()>,
    gates: Gates,
    /// What a gate that is made does with those who wait; `None` if it is open.
    draining: Mutex<Option<DrainQueue>>,
    adaptive: Option<Mutex<Box<dyn Limit>>>,
    now: Now,
    telemetry: Telemetry,
}

enum Gates {
    /// By the hash of the value; there while a request has to do with it.
    ByKey(DashMap<KeyHash, Gate>),
    One(Gate),
}

/// The gate of a request.
pub(crate) struct NamedGate {
    /// `None` at the end, when it is looked whether anybody else has to do with it.
    gate: Option<Gate>,
    key: Option<KeyHash>,
    named: Arc<Named>,
}

/// Which of the gates under a name a request has to go through.
pub(super) enum Which {
    Gate(NamedGate),
    None,
    /// It cannot be told.
    Unknown,
}

impl Named {
    pub(super) fn new(
        concurrency: &Concurrency,
        now: &Now,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        let rules = concurrency.rules.clone();
        let gates = match concurrency.for_each {
            Some(_) => Gates::ByKey(DashMap::new()),
            None => Gates::One(gate(rules.clone(), now)?),
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
            now: Arc::clone(now),
            telemetry: telemetry.clone(),
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The gate of a request.
    pub(super) fn of(self: &Arc<Self>, caller: &Caller<'_>) -> Which {
        if !self.concurrency.scope.covers(&caller.head) {
            return Which::None;
        }
        let (gate, key) = match (&self.gates, &self.concurrency.for_each) {
            (Gates::ByKey(gates), Some(by)) => {
                match by.find(self.concurrency.missing_key, caller) {
                    Found::Bypass => return Which::None,
                    Found::Refuse => return Which::Unknown,
                    Found::Stranger => {
                        self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                        return Which::Unknown;
                    }
                    Found::Key(key) => {
                        let made = gates.entry(key).or_try_insert_with(|| self.make());
                        let Ok(gate) = made else { return Which::Unknown };
                        (gate.clone(), Some(key))
                    }
                }
            }
            (Gates::One(gate), _) => (gate.clone(), None),
            (Gates::ByKey(_), None) => unreachable!("gates by key have a key"),
        };
        Which::Gate(NamedGate { gate: Some(gate), key, named: Arc::clone(self) })
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
        let (mut snapshots, now) = (Vec::new(), (self.now)());
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
        let made = gate(GateRules::clone(&self.rules.load()), &self.now)?;
        // Either this sees it, or whoever drains finds the gate.
        if let Some(queue) = *lock(&self.draining) {
            drop(made.drain(queue));
        }
        Ok(made)
    }
}

impl NamedGate {
    pub(crate) fn concurrency(&self) -> &Concurrency {
        &self.named.concurrency
    }

    /// Whether it is for one value of a key.
    pub(crate) const fn is_by_key(&self) -> bool {
        self.key.is_some()
    }

    pub(crate) fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("it is there until this is dropped")
    }

    /// How the discipline sees a request that came at `since`, and may be inside of other gates.
    pub(super) fn arrival(
        &self,
        caller: &Caller<'_>,
        since: Timestamp,
        is_inside: bool,
    ) -> Arrival {
        let rules = self.concurrency();
        let mut arrival = Arrival::default();
        if is_inside {
            arrival = arrival.inside();
        }
        if let Some(class) = &rules.class {
            arrival = arrival.class(class(&caller.head));
        }
        if let Some(fair_by) = &rules.fair_by {
            // Those without a key take turns as one tenant for each address.
            let tenant = fair_by.hash(caller).or_else(|| caller.address_hash());
            arrival = arrival.tenant(tenant.map_or(0, KeyHash::as_u64));
        }
        let headers = caller.head.headers();
        let patience = rules.deadlines.iter().filter_map(|deadline| deadline.of(headers)).min();
        patience.map_or(arrival, |patience| arrival.deadline(since + patience))
    }

    /// Whether both are one gate, and not just gates of one name.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.named, &other.named) && self.key == other.key
    }

    /// Reports what became of a request here.
    pub(crate) fn report(&self, event: GateEvent) {
        self.named.telemetry.gate(&self.named.subject, event);
    }

    /// Somebody comes who holds a permit of it already.
    pub(super) fn entered_twice(&self) {
        self.named.telemetry.misconfigured(Misconfiguration::CountedTwice);
    }

    /// Somebody was given a permit after a while.
    pub(super) fn granted(&self, permit: &Permit) {
        self.report(GateEvent::AdmittedQueued);
        self.named.telemetry.gate_time(&self.named.subject, WAIT, || permit.waited());
    }

    /// What a refusal tells of the limit in force; nothing, if there is none.
    pub(crate) fn line(&self) -> Option<PolicyLine> {
        let limit = self.gate().limit()?;
        let known = self.named.line.load();
        if let Some(known) = known.as_deref().filter(|(of, _)| *of == limit) {
            return Some(known.1.clone());
        }
        let line = PolicyLine::concurrent(&self.named.name, limit).ok()?;
        self.named.line.store(Some(Arc::new((limit, line.clone()))));
        Some(line)
    }

    /// A permit is about to be given back.
    pub(super) fn released(&self, permit: &Permit) {
        let held = || (self.named.now)().since(permit.given_at());
        self.named.telemetry.gate_time(&self.named.subject, HOLD, held);
    }

    /// A request went so, with this permit, which is about to be given back.
    pub(super) fn learn(&self, permit: &Permit, outcome: HoldOutcome) {
        let Some(adaptive) = &self.named.adaptive else { return };
        let now = (self.named.now)();
        let hold = now.since(permit.given_at());
        let mut adaptive = lock(adaptive);
        let limit = adaptive.observe(&Sample::new(now, permit.in_flight(), hold, outcome));
        let limit = Some(limit.max(LEAST)).filter(|limit| *limit < GateRules::MAX_LIMIT);
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

impl Drop for NamedGate {
    fn drop(&mut self) {
        self.gate = None;
        if let (Gates::ByKey(gates), Some(key)) = (&self.named.gates, &self.key) {
            gates.remove_if(key, |_, gate| !gate.is_shared());
        }
    }
}

impl fmt::Debug for NamedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedGate").field("name", &self.named.name).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// With none to run, a limit would hear of nobody, and stay so.
pub(super) const LEAST: u32 = 1;

const HOLD: &str = "waiting_room_gate_hold_seconds";
const WAIT: &str = "waiting_room_gate_wait_seconds";

fn gate(rules: GateRules, now: &Now) -> Result<Gate, ConfigError> {
    Gate::with_clock(rules, u64::from_le_bytes(random_bytes()), StageClock(Arc::clone(now)))
}

/// The clock that all stages go by.
struct StageClock(Now);

impl Clock for StageClock {
    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for StageClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageClock").finish_non_exhaustive()
    }
}
