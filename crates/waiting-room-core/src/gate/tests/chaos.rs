//! Tests with threads that call random operations of a gate at random times. The threads record the
//! results in a ledger, which has to agree with the gate.
//!
//! `WAITING_ROOM_CHAOS_OPERATIONS` sets the number of operations, which is 120 000 by default.
//! `WAITING_ROOM_CHAOS_SEED` sets the seed, which is random by default. Both values are printed.

use std::{
    env,
    hash::{BuildHasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::AtomicU64,
    thread,
};

use super::*;

#[test]
fn no_interleaving_of_threads_loses_or_doubles_a_permit() {
    let number = |name| env::var(name).ok().map(|given| given.parse::<u64>().unwrap());
    let operations = number("WAITING_ROOM_CHAOS_OPERATIONS").unwrap_or(120_000);
    let seed = number("WAITING_ROOM_CHAOS_SEED")
        .unwrap_or_else(|| RandomState::new().hash_one(operations));
    println!("{operations} operations, WAITING_ROOM_CHAOS_SEED={seed}");
    let disciplines = disciplines();
    let each = operations / disciplines.len() as u64;
    for (discipline, number) in disciplines.into_iter().zip(0..) {
        chaos(discipline, each, seed.wrapping_add(number));
    }
}

fn disciplines() -> [Discipline; 6] {
    [
        Discipline::AdaptiveLifo { interval: ms(20) },
        Discipline::ControlledDelay { target: ms(10), interval: ms(20) },
        Discipline::FairByTenant(Tenants::Each),
        Discipline::FairByTenant(Tenants::Shuffled),
        Discipline::Fifo,
        Discipline::Priority { reserved: vec![1, 0, 1], aging: ms(10) },
    ]
}

/// Runs rounds of random operations. No operation runs between two rounds, so the ledger can then
/// be compared with the gate.
fn chaos(discipline: Discipline, operations: u64, seed: u64) {
    let rules = GateRules::new(LIMIT).queue(QUEUE).max_wait(ms(50)).discipline(discipline);
    let world = World::new(rules);
    let ledger = Ledger::default();
    let mut threads: Vec<_> =
        (0..THREADS).map(|thread| Actor::new(seed.wrapping_mul(31) + thread)).collect();
    let rounds = operations.div_ceil(THREADS * ROUND);
    for round in 0..rounds {
        // In every other round, the limit does not change, so the bound on the number of running
        // requests is exact.
        let is_steady = round % 2 == 0;
        if is_steady {
            world.gate.open();
        }
        let snapshot = world.snapshot();
        let most = snapshot.limit.unwrap_or(u32::MAX).max(snapshot.in_flight);
        ledger.most.store(most.into(), Ordering::SeqCst);
        thread::scope(|scope| {
            for actor in &mut threads {
                scope.spawn(|| (0..ROUND).for_each(|_| actor.acts(&world, &ledger, is_steady)));
            }
        });
        threads.iter_mut().for_each(|actor| actor.looks_round(&ledger));
        let waiting = threads.iter().map(|actor| actor.places.len()).sum();
        ledger.agrees(&world, waiting);
    }
    threads.iter_mut().for_each(|actor| actor.goes_home(&ledger));
    // When the last queued requests are dropped, their permits become free or pass to other
    // requests that are dropped later.
    ledger.agrees(&world, 0);
    assert_eq!(world.counts(), (0, 0));
    let out = world.snapshot().outcomes;
    let rarest = out.granted.min(out.cancelled).min(out.timed_out).min(out.drained);
    assert!(rarest > 0, "at least one outcome never occurred: {out:?}");
}

/// The events that the threads have observed, as counted by the threads themselves.
#[derive(Default)]
struct Ledger {
    /// The number of permits that threads hold.
    held: AtomicU64,
    /// The maximum number of permits that may be held in this round.
    most: AtomicU64,
    arrived: AtomicU64,
    admitted: AtomicU64,
    queued: AtomicU64,
    /// The number of requests that were refused on arrival.
    refused: AtomicU64,
}

impl Ledger {
    /// Records that a thread has received a permit.
    fn holds(&self) {
        let held = self.held.fetch_add(1, Ordering::SeqCst) + 1;
        let most = self.most.load(Ordering::SeqCst);
        assert!(held <= most, "{held} requests are running, but at most {most} may run");
    }

    /// Records that a thread is about to release a permit.
    fn lets_go(&self) {
        self.held.fetch_sub(1, Ordering::SeqCst);
    }

    /// Compares the ledger with the gate, once every thread has collected all outcomes and
    /// `waiting` requests are still waiting.
    fn agrees(&self, world: &World, waiting: usize) {
        let count = |number: &AtomicU64| number.load(Ordering::SeqCst);
        let snapshot = world.snapshot();
        let out = world.snapshot().outcomes;
        assert_eq!(u64::from(snapshot.in_flight), count(&self.held), "a permit is lost or doubled");
        assert_eq!(snapshot.queued as usize, waiting);
        assert!(snapshot.queued <= QUEUE);
        let has_room = snapshot.limit.is_none_or(|limit| snapshot.in_flight < limit);
        assert!(!has_room || snapshot.queued == 0, "no waiter got a free permit: {snapshot:?}");
        let come = count(&self.admitted) + count(&self.queued) + count(&self.refused);
        assert_eq!(come, count(&self.arrived));
        assert_eq!(out.queued, count(&self.queued));
        let refused = out.drained + out.evicted + out.full + out.shed + out.timed_out;
        let ended = out.granted + out.cancelled + refused + u64::from(snapshot.queued);
        assert_eq!(out.queued + count(&self.refused), ended, "{out:?}");
    }
}

/// One thread, with its permits and its queued requests.
struct Actor {
    chance: u64,
    permits: Vec<Permit>,
    places: Vec<Waiting>,
}

impl Actor {
    fn new(seed: u64) -> Self {
        Self { chance: seed, permits: Vec::new(), places: Vec::new() }
    }

    fn acts(&mut self, world: &World, ledger: &Ledger, is_steady: bool) {
        match self.below(100) {
            0..30 => self.enters(world, ledger),
            30..55 => drop(self.any_permit(ledger)),
            55..70 => self.polls(ledger),
            70..77 => drop(self.any_place()),
            77..84 => self.times_out(ledger),
            84..89 => self.panics(ledger),
            89..97 => world.after(Duration::from_micros(self.below(1_000))),
            _ if is_steady => _ = world.snapshot(),
            97 => self.sets_limit(world, ledger),
            98 => drop(world.gate.drain(self.any(&[DrainQueue::Refuse, DrainQueue::Serve]))),
            _ => world.gate.open(),
        }
    }

    fn enters(&mut self, world: &World, ledger: &Ledger) {
        let mut arrival = Arrival::default().class(self.any(&[0, 1, 2])).tenant(self.below(6));
        if self.below(4) == 0 {
            let patience = Duration::from_micros(self.below(20_000));
            arrival = arrival.deadline(world.gate.now() + patience);
        }
        ledger.arrived.fetch_add(1, Ordering::SeqCst);
        let number = match world.enter(arrival) {
            Entry::Admitted(permit) => {
                self.takes(permit, ledger);
                &ledger.admitted
            }
            Entry::Queued(place) => {
                let mut waiting = Waiting { place, wakes: Arc::default() };
                // Another thread may already have released a permit to this request.
                match waiting.poll() {
                    Some(told) => self.hears(told, ledger),
                    None => self.places.push(waiting),
                }
                &ledger.queued
            }
            Entry::Refused(_) => &ledger.refused,
        };
        number.fetch_add(1, Ordering::SeqCst);
    }

    fn polls(&mut self, ledger: &Ledger) {
        if let Some(mut waiting) = self.any_place() {
            match waiting.poll() {
                Some(told) => self.hears(told, ledger),
                None => self.places.push(waiting),
            }
        }
    }

    fn times_out(&mut self, ledger: &Ledger) {
        if let Some(waiting) = self.any_place() {
            self.hears(waiting.place.time_out(), ledger);
        }
    }

    fn panics(&mut self, ledger: &Ledger) {
        let permit = self.any_permit(ledger);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _permit = permit;
            resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
    }

    fn sets_limit(&mut self, world: &World, ledger: &Ledger) {
        let limit =
            self.any(&[None, Some(0), Some(1), Some(2), Some(LIMIT), Some(LIMIT), Some(12)]);
        ledger.most.fetch_max(limit.unwrap_or(u32::MAX).into(), Ordering::SeqCst);
        world.gate.set_limit(limit).unwrap();
    }

    /// Polls all queued requests of the thread to collect their outcomes. Each request with an
    /// outcome must have been woken exactly once.
    fn looks_round(&mut self, ledger: &Ledger) {
        for mut waiting in std::mem::take(&mut self.places) {
            let wakes = waiting.wakes();
            match waiting.poll() {
                Some(told) => {
                    assert_eq!(wakes, 1, "the request was not woken exactly once");
                    self.hears(told, ledger);
                }
                None => self.places.push(waiting),
            }
        }
    }

    fn goes_home(&mut self, ledger: &Ledger) {
        self.places.clear();
        while self.any_permit(ledger).is_some() {}
    }

    fn hears(&mut self, told: Result<Permit, GateRefused>, ledger: &Ledger) {
        if let Ok(permit) = told {
            self.takes(permit, ledger);
        }
    }

    fn takes(&mut self, permit: Permit, ledger: &Ledger) {
        ledger.holds();
        self.permits.push(permit);
    }

    fn any_permit(&mut self, ledger: &Ledger) -> Option<Permit> {
        let index = self.index(self.permits.len())?;
        ledger.lets_go();
        Some(self.permits.swap_remove(index))
    }

    fn any_place(&mut self) -> Option<Waiting> {
        let index = self.index(self.places.len())?;
        Some(self.places.swap_remove(index))
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len()).unwrap()]
    }

    fn index(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| usize::try_from(self.below(len as u64)).unwrap())
    }

    /// Returns a random number below `bound`, generated with xorshift (G. Marsaglia).
    fn below(&mut self, bound: u64) -> u64 {
        self.chance = self.chance.max(1);
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance >> 11) % bound
    }
}

const LIMIT: u32 = 5;
const QUEUE: u32 = 7;
const THREADS: u64 = 4;
/// The number of operations that each thread executes per round.
const ROUND: u64 = 500;
