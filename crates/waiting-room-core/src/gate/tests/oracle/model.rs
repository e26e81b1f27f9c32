//! A naive gate for one thread. The model searches lists from end to end, and counts requests anew
//! instead of maintaining counters.

use std::collections::BTreeMap;

use crate::gate::{
    deadline::longest_wait,
    gate::line,
    waiters::{Waiter, Waiters},
};

use super::*;

/// The model of a gate, with its own current time.
pub(super) struct Model {
    pub(super) now: Timestamp,
    pub(super) limit: u32,
    pub(super) is_draining: bool,
    /// The running requests and their classes.
    pub(super) running: Vec<(u64, usize)>,
    /// The waiting requests, in order of arrival.
    pub(super) line: Vec<Name>,
    pub(super) outcomes: GateOutcomes,
    rules: GateRules,
    /// The outcomes of requests that have stopped waiting and have not been polled since.
    fates: BTreeMap<u64, (Name, Fate)>,
    /// The lanes in which requests wait, in the order of their turns.
    round: Vec<u64>,
    names: u64,
    /// The number of requests that have joined the line, instead of waiting behind it.
    joined: u64,
    last_empty: Timestamp,
    /// The spans of time in which requests were waiting, and whether each span ended with a
    /// release.
    waits: Vec<(Duration, bool)>,
    waited_until: Timestamp,
    /// The time at which each running request was admitted.
    given: BTreeMap<u64, Timestamp>,
    /// The run times of requests that ended while other requests were waiting.
    holds: Vec<Duration>,
}

/// A waiting request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    name: u64,
    class: usize,
    lane: u64,
    since: Timestamp,
    deadline: Timestamp,
    on_deadline: RefusedBecause,
    /// When the request joined the line, or `None` if it waits behind it.
    joined: Option<u64>,
}

#[derive(Debug)]
pub(super) enum Verdict {
    Admitted(u32),
    Queued(Timestamp),
    Refused(RefusedBecause),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Granted { at: Timestamp, ran: u32, waited: Duration },
    Refused(RefusedBecause),
}

impl Model {
    pub(super) fn new(rules: &GateRules, now: Timestamp) -> Self {
        Self {
            now,
            limit: rules.limit.unwrap_or(u32::MAX),
            is_draining: false,
            running: Vec::new(),
            line: Vec::new(),
            outcomes: GateOutcomes::default(),
            rules: rules.clone(),
            fates: BTreeMap::new(),
            round: Vec::new(),
            names: 0,
            joined: 0,
            last_empty: now,
            waits: Vec::new(),
            waited_until: now,
            given: BTreeMap::new(),
            holds: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self, arrival: &Arrival) -> (u64, Verdict) {
        self.names += 1;
        let newcomer = self.newcomer(arrival);
        let has_room = self.line.is_empty() && self.in_flight() < self.limit;
        let is_full = self.line.len() >= self.rules.queue as usize;
        let verdict = if self.is_draining {
            Verdict::Refused(RefusedBecause::Drained)
        } else if has_room {
            self.running.push((newcomer.name, newcomer.class));
            self.given.insert(newcomer.name, self.now);
            Verdict::Admitted(self.in_flight())
        } else if self.is_hopeless(&newcomer) {
            Verdict::Refused(RefusedBecause::Shed)
        } else if !is_full {
            if self.line.is_empty() {
                self.last_empty = self.now;
                self.waited_until = self.now;
            }
            self.join(newcomer)
        } else if let Some(evicted) = self.evicted_for(&newcomer) {
            self.refuse(evicted, RefusedBecause::Evicted);
            self.join(newcomer)
        } else {
            Verdict::Refused(RefusedBecause::Full)
        };
        if let Verdict::Refused(because) = &verdict {
            self.count(*because);
        }
        (self.names, verdict)
    }

    pub(super) fn release(&mut self, name: u64) {
        let is_over = self.in_flight() > self.limit;
        let given_at = self.given.remove(&name).unwrap();
        if !self.line.is_empty() && (self.is_draining || !is_over) {
            self.waits(true);
            self.holds.push(self.now.since(given_at));
        }
        self.running.retain(|(other, _)| *other != name);
        self.grant();
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
        self.grant();
    }

    pub(super) fn drain(&mut self, queue: DrainQueue) {
        self.is_draining = true;
        while let (DrainQueue::Refuse, Some(first)) = (queue, self.line.first()) {
            self.refuse(*first, RefusedBecause::Drained);
        }
    }

    pub(super) fn time_out(&mut self, name: u64) {
        if let Some(waiting) = self.waiting(name) {
            self.waits(false);
            self.refuse(waiting, waiting.on_deadline);
        }
    }

    pub(super) fn cancel(&mut self, name: u64) {
        if let Some(waiting) = self.waiting(name) {
            self.waits(false);
            self.leave_line(waiting);
            self.outcomes.cancelled += 1;
        } else if let (_, Fate::Granted { .. }) = self.fates.remove(&name).unwrap() {
            self.release(name);
        }
    }

    /// Removes and returns the outcome of a request that is no longer waiting.
    pub(super) fn take(&mut self, name: u64) -> Fate {
        self.fates.remove(&name).expect("the request has an outcome").1
    }

    pub(super) fn is_waiting(&self, name: u64) -> bool {
        self.waiting(name).is_some()
    }

    pub(super) fn oldest_wait(&self) -> Duration {
        self.line.iter().map(|waiter| self.now.since(waiter.since)).max().unwrap_or_default()
    }

    fn grant(&mut self) {
        while self.in_flight() < self.limit && !self.line.is_empty() {
            let next = self.next();
            if next.deadline < self.now {
                self.refuse(next, next.on_deadline);
                continue;
            }
            self.leave_line(next);
            if self.line.iter().any(|waiter| waiter.lane == next.lane) {
                self.round.retain(|lane| *lane != next.lane);
                self.round.push(next.lane);
            }
            self.running.push((next.name, next.class));
            self.given.insert(next.name, self.now);
            self.outcomes.granted += 1;
            let ran = self.in_flight();
            let waited = self.now.since(next.since);
            let fate = Fate::Granted { at: self.now, ran, waited };
            self.fates.insert(next.name, (next, fate));
        }
    }

    /// Returns the request that is served next.
    fn next(&self) -> Name {
        match &self.rules.discipline {
            Discipline::AdaptiveLifo { interval } if self.stands_for(*interval) => {
                *self.line.last().unwrap()
            }
            Discipline::Priority { reserved, aging } => {
                let runs = |class| self.running.iter().filter(|(_, other)| *other == class).count();
                let is_short = |class: usize| runs(class) < reserved[class] as usize;
                let mut in_shares =
                    self.line.iter().filter(|waiter| is_short(waiter.class)).collect::<Vec<_>>();
                in_shares.sort_by_key(|waiter| waiter.class);
                let rank = |name: &&Name| {
                    let aged = self.now.since(name.since).as_nanos() / aging.as_nanos();
                    (name.class as i128 - aged as i128, name.class)
                };
                let by_rank = self.line.iter().min_by_key(rank).unwrap();
                **in_shares.first().unwrap_or(&by_rank)
            }
            Discipline::FairByTenant(_) => {
                *self.line.iter().find(|waiter| waiter.lane == self.round[0]).unwrap()
            }
            Discipline::ControlledDelay { .. } => {
                let joined = self.line.iter().filter(|waiter| waiter.joined.is_some());
                *joined.min_by_key(|waiter| waiter.joined).unwrap()
            }
            Discipline::AdaptiveLifo { .. } | Discipline::Fifo => self.line[0],
        }
    }

    /// Returns whether a tenant may have another request in line.
    fn is_below_share(&self, tenant: u64) -> bool {
        let in_line = |waiter: &&Name| waiter.lane == tenant && waiter.joined.is_some();
        let share = (self.rules.queue as usize / 8).max(1);
        tenant == 0 || self.line.iter().filter(in_line).count() < share
    }

    /// Returns the number of requests of a tenant behind the line.
    fn behind(&self, tenant: u64) -> usize {
        let is_behind = |waiter: &&Name| waiter.lane == tenant && waiter.joined.is_none();
        self.line.iter().filter(is_behind).count()
    }

    /// Lets requests behind the line join it, in order of arrival.
    fn settle(&mut self) {
        for index in 0..self.line.len() {
            if self.line[index].joined.is_none() && self.is_below_share(self.line[index].lane) {
                self.joined += 1;
                self.line[index].joined = Some(self.joined);
            }
        }
    }

    /// Returns the request that is evicted in favour of a newcomer, if any.
    fn evicted_for(&self, newcomer: &Name) -> Option<Name> {
        match &self.rules.discipline {
            Discipline::AdaptiveLifo { .. } => self.line.first().copied(),
            Discipline::Priority { reserved, .. } => {
                let share = |name: &Name| reserved[name.class] as usize;
                let in_excess =
                    self.line.iter().filter(|waiter| self.in_lane(waiter.lane) > share(waiter));
                let last = in_excess.max_by_key(|waiter| waiter.class)?;
                let is_owed = self.in_lane(newcomer.lane) < share(newcomer);
                (last.class > newcomer.class || is_owed).then_some(*last)
            }
            Discipline::FairByTenant(_) => {
                let longest = self
                    .line
                    .iter()
                    .max_by_key(|waiter| (self.in_lane(waiter.lane), waiter.lane))?;
                let is_longer = self.in_lane(longest.lane) > self.in_lane(newcomer.lane) + 1;
                is_longer
                    .then(|| *self.line.iter().rfind(|waiter| waiter.lane == longest.lane).unwrap())
            }
            Discipline::ControlledDelay { .. } => {
                let behind = self.line.iter().filter(|waiter| waiter.joined.is_none());
                let most = behind.max_by_key(|waiter| (self.behind(waiter.lane), waiter.lane))?;
                let last = self.line.iter().rfind(|waiter| waiter.lane == most.lane);
                last.copied().filter(|_| self.is_below_share(newcomer.lane))
            }
            Discipline::Fifo => None,
        }
    }

    fn newcomer(&self, arrival: &Arrival) -> Name {
        let mut wait = self.rules.max_wait;
        let mut on_deadline = RefusedBecause::TimedOut;
        if let Discipline::ControlledDelay { target, interval } = self.rules.discipline {
            // The deadlines have to agree to the nanosecond, so the model uses the same function as
            // the gate. The function `longest_wait` has its own tests.
            let is_empty = self.line.is_empty();
            let since = if is_empty { self.now } else { self.last_empty };
            wait = longest_wait(self.now.since(since), self.rules.max_wait, target, interval);
            if wait < self.rules.max_wait {
                on_deadline = RefusedBecause::Shed;
            }
        }
        let mut deadline = self.now + wait;
        if let Some(clients) = arrival.deadline {
            let clients = clients.before(self.typical_hold());
            if clients <= deadline {
                deadline = clients;
                on_deadline = RefusedBecause::TimedOut;
            }
        }
        let class = if let Discipline::Priority { reserved, .. } = &self.rules.discipline {
            usize::from(arrival.class).min(reserved.len() - 1)
        } else {
            0
        };
        let lane = self.lane(class, arrival.tenant);
        let joined = None;
        Name { name: self.names, class, lane, since: self.now, deadline, on_deadline, joined }
    }

    fn lane(&self, class: usize, tenant: u64) -> u64 {
        match &self.rules.discipline {
            Discipline::Priority { .. } => class as u64,
            Discipline::ControlledDelay { .. } | Discipline::FairByTenant(Tenants::Each) => tenant,
            Discipline::FairByTenant(Tenants::Shuffled) => {
                hand(tenant).into_iter().min_by_key(|lane| self.in_lane(*lane)).unwrap()
            }
            Discipline::AdaptiveLifo { .. } | Discipline::Fifo => 0,
        }
    }

    /// Returns whether a newcomer cannot be served in time, judging by the estimates.
    fn is_hopeless(&self, newcomer: &Name) -> bool {
        let Some(rate) = self.rate() else { return newcomer.deadline < self.now };
        let ahead = match &self.rules.discipline {
            Discipline::AdaptiveLifo { interval } if self.stands_for(*interval) => 0,
            Discipline::Priority { reserved, .. } if reserved[newcomer.class] > 0 => {
                self.in_lane(newcomer.lane)
            }
            Discipline::Priority { .. } => {
                self.line.iter().filter(|waiter| waiter.class <= newcomer.class).count()
            }
            Discipline::FairByTenant(_) => {
                let others = self.round.iter().filter(|lane| **lane != newcomer.lane).count();
                self.in_lane(newcomer.lane) + others
            }
            Discipline::ControlledDelay { .. } => {
                let joined = self.line.iter().filter(|waiter| waiter.joined.is_some()).count();
                let is_below = self.is_below_share(newcomer.lane);
                joined + if is_below { 0 } else { self.behind(newcomer.lane) }
            }
            Discipline::AdaptiveLifo { .. } | Discipline::Fifo => self.line.len(),
        };
        self.now + Duration::from_secs_f64((ahead + 1) as f64 / rate) > newcomer.deadline
    }

    /// Returns the median of the last fifteen run times, or zero if there are fewer than eight or
    /// no request is waiting.
    fn typical_hold(&self) -> Duration {
        let mut last = self.holds.iter().rev().take(15).copied().collect::<Vec<_>>();
        last.sort_unstable();
        let is_known = last.len() >= 8 && !self.line.is_empty();
        if is_known { last[last.len() / 2] } else { Duration::ZERO }
    }

    /// Returns the number of releases per second of time with waiting requests, where older
    /// releases count less. Returns `None` while the queue is empty, because no estimate is applied
    /// to the first request that waits.
    fn rate(&self) -> Option<f64> {
        let mut served = 0.0;
        let mut seconds = 0.0;
        for (waited, is_served) in &self.waits {
            served += if *is_served { 1.0 } else { 0.0 };
            seconds += waited.as_secs_f64();
            let kept = f64::max(16.0 / served, 10.0 / seconds).min(1.0);
            served *= kept;
            seconds *= kept;
        }
        (!self.line.is_empty() && served >= 8.0 && seconds > 0.0).then(|| served / seconds)
    }

    fn waits(&mut self, is_served: bool) {
        self.waits.push((self.now.since(self.waited_until), is_served));
        self.waited_until = self.now;
    }

    fn stands_for(&self, interval: Duration) -> bool {
        !self.line.is_empty() && self.now.since(self.last_empty) > interval
    }

    fn join(&mut self, newcomer: Name) -> Verdict {
        self.line.push(newcomer);
        self.settle();
        self.outcomes.queued += 1;
        if !self.round.contains(&newcomer.lane) {
            self.round.push(newcomer.lane);
        }
        Verdict::Queued(newcomer.deadline)
    }

    fn refuse(&mut self, waiting: Name, because: RefusedBecause) {
        self.leave_line(waiting);
        self.count(because);
        self.fates.insert(waiting.name, (waiting, Fate::Refused(because)));
    }

    fn leave_line(&mut self, waiting: Name) {
        self.line.retain(|other| other.name != waiting.name);
        self.settle();
        let line = &self.line;
        self.round.retain(|lane| line.iter().any(|waiter| waiter.lane == *lane));
    }

    fn count(&mut self, because: RefusedBecause) {
        match because {
            RefusedBecause::Drained => self.outcomes.drained += 1,
            RefusedBecause::Evicted => self.outcomes.evicted += 1,
            RefusedBecause::Full => self.outcomes.full += 1,
            RefusedBecause::Shed => self.outcomes.shed += 1,
            RefusedBecause::TimedOut => self.outcomes.timed_out += 1,
        }
    }

    fn waiting(&self, name: u64) -> Option<Name> {
        self.line.iter().find(|waiter| waiter.name == name).copied()
    }

    fn in_lane(&self, lane: u64) -> usize {
        self.line.iter().filter(|waiter| waiter.lane == lane).count()
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap()
    }
}

/// Returns the lanes of a tenant, in the order in which the tenant's requests join them if all
/// lanes are initially empty.
fn hand(tenant: u64) -> [u64; 8] {
    let shuffled = Discipline::FairByTenant(Tenants::Shuffled);
    let mut empty = line(&GateRules::new(1).discipline(shuffled));
    let mut waiters = Waiters::default();
    [(); 8].map(|()| {
        let lane = empty.lane(0, tenant);
        let never = (Timestamp::MAX, RefusedBecause::TimedOut);
        let id = waiters.insert(Waiter::new(lane, 0, Timestamp::ZERO, never));
        empty.push(id, &mut waiters);
        lane
    })
}
