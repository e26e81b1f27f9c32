use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    MemoryStore, Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{
        Renewal, RoomMode, RoomSnapshot, Shares,
        event::{Event, RoomPlan, Schedule},
    },
    time::ManualClock,
};

use super::{
    Coverage, Divergence, SuitePlan, run as check, run_after_a_flood, run_at_once,
    suite::store_conformance,
};
use crate::seed::{SEED_VARIABLE, seed};

mod plain;

const COMMANDS: u64 = 20_000;

fn run(seed: u64, fault: Fault) -> Result<Coverage, Divergence> {
    run_commands(seed, COMMANDS, fault)
}

fn run_commands(seed: u64, commands: u64, fault: Fault) -> Result<Coverage, Divergence> {
    let plan = SuitePlan::new(seed, commands);
    block_on(check(plan, async |rules, clock| Faulty::new(fault, rules, clock)))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    crate::run(async |_| future.await)
}

/// Returns `count` fresh seeds, or only the fixed seed if one is set.
fn seeds(count: u64) -> Vec<u64> {
    let is_fixed = std::env::var_os(SEED_VARIABLE).is_some();
    let count = if is_fixed { 1 } else { count };
    let first = seed();
    eprintln!("seeds: {first} and {} more", count - 1);
    (0..count).map(|index| first.wrapping_add(index)).collect()
}

/// Returns a number from an environment variable, with which a campaign can make its runs longer,
/// or `otherwise` if the variable is not a number.
fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn the_room_agrees_with_the_naive_model() {
    let mut coverage = Coverage::default();
    let seeds = seeds(number("CONFORMANCE_SEEDS", 10));
    let commands = number("CONFORMANCE_COMMANDS", COMMANDS);
    for &seed in &seeds {
        match run_commands(seed, commands, Fault::None) {
            Ok(seen) => coverage.add(&seen),
            Err(divergence) => panic!("{divergence}"),
        }
    }
    for said in Coverage::SAID {
        let enough = if seeds.len() == 1 { 0 } else { 20 };
        assert!(coverage.count(said) >= enough, "{said} is too rare:\n{coverage}");
    }
}

#[test]
fn every_fault_of_a_store_is_found() {
    for seed in seeds(3) {
        for fault in FAULTS {
            let divergence = run(seed, fault).err();
            assert!(divergence.is_some(), "seed {seed}: {fault:?} was not noticed");
        }
    }
}

#[test]
fn a_divergence_is_the_same_for_the_same_seed() {
    let seed = seeds(1)[0];
    let first = run(seed, Fault::KeepsSlots).unwrap_err();
    assert_eq!(run(seed, Fault::KeepsSlots).unwrap_err(), first);
    assert_eq!(first.seed(), seed);
    assert!(first.to_string().starts_with(&format!("seed {seed}, step {}", first.step())));
}

#[test]
fn a_store_that_reads_first_and_writes_later_is_caught_by_parallel_enters() {
    for seed in seeds(3) {
        let racy = async |rules: RoomRules, clock| {
            let wide = rules.clone().total_active_users(1_000).new_users_per_minute(None);
            let store = Faulty::new(Fault::Races, wide, clock);
            Faulty { limit: rules.total_active_users, ..store }
        };
        let divergence = block_on(run_at_once(seed, racy)).unwrap_err();
        assert!(divergence.given().contains(" admitted, and "), "{divergence}");
        let sound = async |rules, clock| Faulty::new(Fault::None, rules, clock);
        assert_eq!(block_on(run_at_once(seed, sound)), Ok(()));
    }
}

#[test]
fn a_flood_of_leaves_revives_no_proof_and_costs_no_visitor_a_place() {
    block_on(run_after_a_flood(
        async |rules, clock| MemoryStore::with_clock(rules, clock).unwrap(),
        async |store| {
            for who in 0..1_000_000 {
                store.leave(VisitorId::new(1 << 100 | who)).await.unwrap();
            }
        },
    ));
}

#[test]
fn the_whole_suite_passes_a_sound_store_and_reports_its_replies() {
    let sound = async |rules, clock| Faulty::new(Fault::None, rules, clock);
    let coverage = block_on(store_conformance(sound));
    assert!(coverage.count("admitted:slot") > 0, "{coverage}");
}

#[test]
#[should_panic(expected = "the store breaks its contract: seed ")]
fn the_whole_suite_panics_at_a_store_with_a_fault() {
    let faulty = async |rules, clock| Faulty::new(Fault::OneTooMany, rules, clock);
    block_on(store_conformance(faulty));
}

/// The faults that a store may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The line is ordered by the second touch.
    ForgetsArrivals,
    /// The order of a prequeue is not drawn.
    KeepsArrivals,
    /// Visitors who have left keep their slots.
    KeepsSlots,
    /// Visitors who give up are not counted.
    IgnoresAbandoned,
    /// The clock is a millisecond behind, so everything lapses late.
    LapsesLate,
    /// The store admits one visitor too many.
    OneTooMany,
    /// A place is given at the first touch.
    OneTouch,
    /// The store decides by a number that was read before an `await`.
    Races,
    /// The position may go up.
    RaisesPositions,
    /// The store claims to know passes that are older than its room.
    RemembersTooMuch,
    /// A pass resumes a session that was ended.
    Resurrects,
    /// A network gets one place more than its share.
    SharesTooMuch,
    /// Each clone has a state of its own.
    Splits,
    /// Events start a millisecond early.
    StartsEarly,
    /// The store's time is a millisecond ahead.
    TimeAhead,
}

const FAULTS: [Fault; 14] = [
    Fault::ForgetsArrivals,
    Fault::IgnoresAbandoned,
    Fault::KeepsArrivals,
    Fault::KeepsSlots,
    Fault::LapsesLate,
    Fault::OneTooMany,
    Fault::OneTouch,
    Fault::RaisesPositions,
    Fault::RemembersTooMuch,
    Fault::Resurrects,
    Fault::SharesTooMuch,
    Fault::Splits,
    Fault::StartsEarly,
    Fault::TimeAhead,
];

/// A store with a fault.
#[derive(Debug)]
struct Faulty {
    fault: Fault,
    /// The number of slots of a store that races.
    limit: u32,
    clock: ManualClock,
    /// The clock of the room, which may lag behind that of the run.
    late: ManualClock,
    room: MemoryStore,
}

impl Faulty {
    fn new(fault: Fault, rules: RoomRules, clock: ManualClock) -> Self {
        let lag = Duration::from_millis(u64::from(fault == Fault::LapsesLate));
        let late = ManualClock::new(waiting_room_core::time::Clock::now(&clock).before(lag));
        let room = MemoryStore::with_clock(Self::rules(fault, rules), late.clone()).unwrap();
        Self { fault, limit: u32::MAX, clock, late, room }
    }

    fn rules(fault: Fault, rules: RoomRules) -> RoomRules {
        let slots = rules.total_active_users;
        match (fault, rules.shares) {
            (Fault::OneTooMany, _) => rules.total_active_users(slots + 1),
            (Fault::SharesTooMuch, Shares::Limit(share)) => rules.shares(Shares::Limit(share + 1)),
            _ => rules,
        }
    }

    /// Returns the room, after setting its clock.
    fn room(&self) -> &MemoryStore {
        let now = waiting_room_core::time::Clock::now(&self.clock);
        let lag = u64::from(self.fault == Fault::LapsesLate);
        self.late.advance_to(now.before(Duration::from_millis(lag)));
        &self.room
    }
}

impl Clone for Faulty {
    fn clone(&self) -> Self {
        let fault = self.fault;
        let limit = self.limit;
        let clock = self.clock.clone();
        let late = self.late.clone();
        let room = if fault == Fault::Splits {
            let rules = RoomRules::clone(&self.room.rules());
            MemoryStore::with_clock(rules, late.clone()).unwrap()
        } else {
            self.room.clone()
        };
        Self { fault, limit, clock, late, room }
    }
}

impl Store for Faulty {
    fn now(&self) -> Timestamp {
        let ahead = u64::from(self.fault == Fault::TimeAhead);
        self.room().now() + Duration::from_millis(ahead)
    }

    fn remembers_since(&self) -> Timestamp {
        if self.fault == Fault::RemembersTooMuch {
            return Timestamp::ZERO;
        }
        self.room().remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.room().rules()
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.room().plan()
    }

    async fn stay(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.room().stay(ticket).await
    }

    async fn schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        let early = Duration::from_millis(1);
        let change = |event: &Event| {
            if self.fault == Fault::KeepsArrivals {
                event.clone().shuffle_at_start(None)
            } else {
                event.clone().start(event.start.before(early))
            }
        };
        if !matches!(self.fault, Fault::KeepsArrivals | Fault::StartsEarly) {
            return self.room().schedule(schedule).await;
        }
        let mut changed = schedule.clone();
        changed.replace(schedule.events().iter().map(change), Timestamp::ZERO)?;
        self.room().schedule(changed).await
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        if self.fault == Fault::Races {
            let is_free = self.room().snapshot().await?.active < self.limit;
            tokio::task::yield_now().await;
            if !is_free {
                self.room().configure(|rules| rules.mode(RoomMode::QueueAll)).await?;
            }
        }
        match self.room().enter(id).await? {
            Verdict::Wait { ticket, .. } if self.fault == Fault::OneTouch => {
                self.room().check_in(ticket).await
            }
            verdict @ (Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
                Ok(verdict)
            }
        }
    }

    async fn check_in(&self, mut ticket: Ticket) -> Result<Verdict, StoreError> {
        if self.fault == Fault::ForgetsArrivals && !ticket.placed {
            ticket.first_seen = self.now();
        }
        if self.fault == Fault::RaisesPositions {
            ticket.shown_position = None;
        }
        self.room().check_in(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        match self.room().renew(pass).await? {
            Renewal::End if self.fault == Fault::Resurrects => Ok(Renewal::Renew(pass)),
            renewal @ (Renewal::End | Renewal::Renew(_)) => Ok(renewal),
        }
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        if self.fault == Fault::KeepsSlots {
            return Ok(());
        }
        self.room().leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.room().sweep().await
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        let mut snapshot = self.room().snapshot().await?;
        if self.fault == Fault::OneTooMany {
            snapshot.total_active_users -= 1;
        }
        if self.fault == Fault::IgnoresAbandoned {
            snapshot.abandoned = 0;
        }
        Ok(snapshot)
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        let fault = self.fault;
        let spoilt = move |rules| {
            let rules = change(rules);
            if rules.total_active_users == 0 { rules } else { Self::rules(fault, rules) }
        };
        self.room().configure(spoilt).await
    }
}
