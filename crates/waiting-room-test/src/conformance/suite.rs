//! The run of the suite: gives the same commands to a store and to the model, and compares the
//! replies.

use std::{error::Error, fmt, time::Duration};

use waiting_room_core::{
    Reason, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict,
    error::StoreErrorKind,
    room::{
        Renewal, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
    time::ManualClock,
};

use super::{
    at_once::run_at_once,
    commands::{Command, Commands},
    model::{Model, Numbers, StoreChoice},
    plan::{Coverage, Divergence, Durability, SuitePlan},
    schedule::{PlannedEvent, schedule_of},
};
use crate::seed::{SEED_VARIABLE, seed};

/// Runs the conformance suite on the stores that `build` makes, and prints the seeds to standard
/// error.
///
/// `build` receives the rules of the room and its clock, and returns a store with an empty room. It
/// is called several times. The stores must not share a room, so a store on a server needs a new
/// name or prefix each time. The store must read its time from the given clock.
///
/// The returned numbers show which replies occurred.
///
/// # Panics
///
/// Panics at the first reply that differs from the model's. The message contains the command, both
/// replies and the seed. To repeat a run, set [`SEED_VARIABLE`]. Panics also if the variable is not
/// a number.
pub async fn store_conformance<S: Store>(
    mut build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
) -> Coverage {
    let first = seed();
    eprintln!("seeds of the suite: {first} and the {} after it", SEEDS - 1);
    let mut coverage = Coverage::default();
    for seed in (0..SEEDS).map(|index| first.wrapping_add(index)) {
        let ran = match run(SuitePlan::new(seed, COMMANDS), &mut build).await {
            Ok(replies) => {
                coverage.add(&replies);
                run_at_once(seed, &mut build).await
            }
            Err(divergence) => Err(divergence),
        };
        if let Err(divergence) = ran {
            panic!(
                "the store breaks its contract: {divergence}\nto repeat: {SEED_VARIABLE}={seed}"
            );
        }
    }
    coverage
}

/// Runs a plan against the stores that `build` makes: one at the start, and another after each
/// restart.
///
/// The store must read its time from the given clock, and be the only user of its room.
///
/// # Errors
///
/// Returns the first command at which the store and the model disagree, with the seed to repeat it.
pub async fn run<S: Store>(
    plan: SuitePlan,
    mut build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
) -> Result<Coverage, Divergence> {
    let clock = ManualClock::new(START);
    let mut commands = Commands::new(plan.seed);
    let settings = commands.settings().clone();
    let mut run = SuiteRun {
        plan,
        store: build(settings.clone(), clock.clone()).await,
        model: Model::new(settings.clone(), START),
        settings,
        built: START,
        now: START,
        step: 0,
        has_events: true,
        tells_turns: false,
        coverage: Coverage::default(),
    };
    for step in 1..=plan.commands {
        run.step = step;
        let command = commands.draw(run.now);
        match command {
            Command::Advance(pause) => {
                clock.advance(pause);
                run.now = run.now + pause;
                run.catch_up(&command).await?;
            }
            Command::Restart => {
                run.store = build(run.settings.clone(), clock.clone()).await;
                if plan.durability == Durability::Forgets {
                    run.model = Model::new(run.settings.clone(), run.now);
                    run.built = run.now;
                    commands.saw_restart();
                }
            }
            Command::CheckIn(_)
            | Command::Configure(_)
            | Command::Enter(_)
            | Command::Leave(_)
            | Command::Misconfigure(_)
            | Command::Renew(_)
            | Command::Schedule(_)
            | Command::Snapshot
            | Command::Stay(_)
            | Command::Sweep => run.compare(&command, &mut commands).await?,
        }
    }
    Ok(run.coverage)
}

struct SuiteRun<S> {
    plan: SuitePlan,
    store: S,
    model: Model,
    settings: RoomRules,
    /// The last time at which the room was certainly empty.
    built: Timestamp,
    now: Timestamp,
    step: u64,
    /// Whether the store supports events, as long as it has not refused a schedule as unsupported.
    has_events: bool,
    /// Whether the store has told a visitor of its turn, and thus does not admit visitors who stay.
    tells_turns: bool,
    coverage: Coverage,
}

impl<S: Store> SuiteRun<S> {
    async fn compare(
        &mut self,
        command: &Command,
        commands: &mut Commands,
    ) -> Result<(), Divergence> {
        self.check_time(command)?;
        // Each command goes to a fresh clone, because all clones share the state.
        let store = self.store.clone();
        let now = self.now;
        match command {
            Command::Enter(id) => {
                let given = store.enter(*id).await;
                self.verdict(command, given, commands, |model, told| model.enter(*id, now, told))
            }
            Command::CheckIn(ticket) => {
                let given = store.check_in(*ticket).await;
                self.verdict(command, given, commands, |model, told| {
                    model.check_in(ticket, false, now, told)
                })
            }
            Command::Stay(ticket) => {
                let given = store.stay(*ticket).await;
                self.stay(command, given, ticket, commands)
            }
            Command::Schedule(events) => self.schedule(command, events, commands).await,
            Command::Renew(pass) => {
                let given = store.renew(*pass).await;
                let given = given.map_err(|error| self.failure(command, &error))?;
                commands.saw_renewal(&given);
                self.coverage.note(if given == Renewal::End { "ended" } else { "renewed" });
                let expected = self.model.renew(pass, now);
                if self.model.gives_way(pass.id) {
                    self.coverage.note("gives_way");
                }
                self.same(command, &expected, &given)
            }
            Command::Leave(id) => {
                let given = store.leave(*id).await;
                self.model.leave(*id, now);
                self.succeeded(command, given)
            }
            Command::Sweep => {
                let given = store.sweep().await;
                self.model.sweep(now);
                self.succeeded(command, given)
            }
            Command::Configure(settings) => {
                let given = store.configure(|_| settings.clone()).await;
                self.model.configure(settings.clone(), now);
                self.settings = settings.clone();
                self.succeeded(command, given)?;
                let given = RoomRules::clone(&self.store.rules());
                self.same(command, self.model.settings(), &given)
            }
            Command::Misconfigure(settings) => {
                let given = store.configure(|_| settings.clone()).await;
                self.same(command, &true, &given.is_err())
            }
            Command::Snapshot => {
                let given = store.snapshot().await;
                let given = given.map_err(|error| self.failure(command, &error))?;
                let numbers = self.model.numbers(now);
                let mut expected = snapshot(self.model.settings(), numbers, now, &given);
                if self.model.has_moved_entrants() {
                    expected.oldest_wait = given.oldest_wait;
                }
                expected.event = self.model.event_figures(now);
                self.same(command, &expected, &given)?;
                self.check_plan(command)
            }
            Command::Advance(_) | Command::Restart => Ok(()),
        }
    }

    /// Lets the store and the model notice what the passage of time has changed.
    ///
    /// A store may notice a change of the phase between two commands, in a task of its own, and a
    /// room does the work of a draw in bounded parts.
    async fn catch_up(&mut self, command: &Command) -> Result<(), Divergence> {
        self.model.sweep(self.now);
        for _ in 0..if self.model.is_unsettled(self.now) { SWEEPS } else { 1 } {
            let given = self.store.sweep().await;
            self.succeeded(command, given)?;
        }
        Ok(())
    }

    /// Compares the events of the store and its latest draw with those of the model.
    fn check_plan(&self, command: &Command) -> Result<(), Divergence> {
        let plan = self.store.plan();
        let events = self.model.events().events();
        let base = &self.settings;
        let given = plan.as_ref().map(|plan| (plan.schedule.events(), &plan.rules));
        self.same(command, &(!events.is_empty()).then_some((events, base)), &given)?;
        let Some(plan) = plan else { return Ok(()) };
        let given =
            plan.reveal.as_ref().map(|reveal| (reveal.event().to_owned(), reveal.entrants()));
        self.same(command, &self.model.drawn(), &given)
    }

    /// Replaces the events of the room.
    async fn schedule(
        &mut self,
        command: &Command,
        events: &[PlannedEvent],
        commands: &mut Commands,
    ) -> Result<(), Divergence> {
        let Ok(next) = schedule_of(events) else { return Ok(()) };
        if !self.has_events {
            return Ok(());
        }
        let given = self.store.clone().schedule(next.clone()).await;
        if given.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::Unsupported) {
            self.has_events = false;
            return Ok(());
        }
        let expected = self.changed(next);
        self.same(command, &expected.is_some(), &given.is_ok())?;
        if let Some(next) = expected {
            self.model.schedule(events, next, self.now);
            commands.saw_schedule(events);
            self.coverage.note("scheduled");
        }
        self.check_plan(command)?;
        let given = RoomRules::clone(&self.store.rules());
        self.same(command, self.model.settings(), &given)
    }

    /// Returns the schedule after a change, or `None` if the change has to be refused.
    fn changed(&mut self, next: Schedule) -> Option<Schedule> {
        self.model.sweep(self.now);
        let plan = RoomPlan::new(self.settings.clone(), self.model.events().clone());
        Some(plan.follow(next, self.now).ok()?.schedule)
    }

    /// Compares the reply to a visitor who stays. A store that does not implement `stay` checks the
    /// visitor in instead.
    fn stay(
        &mut self,
        command: &Command,
        given: Result<Verdict, StoreError>,
        ticket: &Ticket,
        commands: &mut Commands,
    ) -> Result<(), Divergence> {
        let now = self.now;
        let Ok(verdict) = &given else {
            return self.verdict(command, given, commands, |model, told| {
                model.check_in(ticket, true, now, told)
            });
        };
        let told = self.told(verdict);
        let expected = self.model.clone().check_in(ticket, true, now, told);
        let is_stay = without_estimate(expected) == without_estimate(verdict.clone());
        self.tells_turns |= *verdict.reason() == Reason::QueuedTurn;
        let stays = is_stay || self.tells_turns;
        self.verdict(command, given, commands, |model, told| {
            model.check_in(ticket, stays, now, told)
        })
    }

    /// Returns the parts of a verdict that are up to the store.
    fn told(&self, given: &Verdict) -> StoreChoice {
        let interval = ticket_of(given).map(|ticket| ticket.retry_after(self.now));
        let is_turn = *given.reason() == Reason::QueuedTurn;
        let let_in = is_turn || matches!(given, Verdict::Admit { .. });
        StoreChoice { interval: interval.unwrap_or_default(), let_in }
    }

    /// Compares the store's time with the clock that the store was given, and checks that the store
    /// does not claim to know passes from before its room was empty.
    fn check_time(&self, command: &Command) -> Result<(), Divergence> {
        let given = self.store.now();
        let since = self.store.remembers_since();
        if given != self.now {
            let expected = format!("the time is {:?}", self.now);
            return Err(self.divergence(command, expected, format!("the time is {given:?}")));
        }
        if !(self.built..=self.now).contains(&since) {
            let expected = format!("it remembers since {:?} or later, until now", self.built);
            return Err(self.divergence(
                command,
                expected,
                format!("it remembers since {since:?}"),
            ));
        }
        Ok(())
    }

    fn verdict(
        &mut self,
        command: &Command,
        given: Result<Verdict, StoreError>,
        commands: &mut Commands,
        verb: impl FnOnce(&mut Model, StoreChoice) -> Verdict,
    ) -> Result<(), Divergence> {
        let given = given.map_err(|error| self.failure(command, &error))?;
        commands.saw_verdict(&given);
        self.coverage.note(given.reason());
        let interval = ticket_of(&given).map(|ticket| ticket.retry_after(self.now));
        if ticket_of(&given)
            .is_some_and(|ticket| ticket.entrant.is_some_and(|entrant| entrant.place.is_some()))
        {
            self.coverage.note("drawn");
        }
        if ticket_of(&given).is_some_and(|ticket| ticket.late_by > 0) {
            self.coverage.note("late");
        }
        let settings = self.model.settings();
        let longest = if self.model.is_prequeue() {
            // The last check-in before a start is postponed to just after it.
            Duration::from_secs((settings.refresh_interval.as_secs() * 14).div_ceil(10))
        } else {
            longest_interval(settings, given.reason())
        };
        // A visitor whose turn it is may keep the ticket that it has shown.
        let is_kept = *given.reason() == Reason::QueuedTurn;
        let is_sound = is_kept
            || interval.is_none_or(|interval| {
                interval.subsec_nanos() == 0
                    && (Duration::from_secs(1)..=longest).contains(&interval)
            });
        if !is_sound {
            let expected = format!("whole seconds, at most {longest:?}");
            return Err(self.divergence(command, expected, format!("{given:?}")));
        }
        let told = self.told(&given);
        let expected = verb(&mut self.model, told);
        self.same(command, &without_estimate(expected), &without_estimate(given))
    }

    fn succeeded(
        &self,
        command: &Command,
        given: Result<(), StoreError>,
    ) -> Result<(), Divergence> {
        given.map_err(|error| self.failure(command, &error))
    }

    fn same<T: PartialEq + fmt::Debug>(
        &self,
        command: &Command,
        expected: &T,
        given: &T,
    ) -> Result<(), Divergence> {
        if expected == given {
            return Ok(());
        }
        Err(self.divergence(command, format!("{expected:?}"), format!("{given:?}")))
    }

    fn failure(&self, command: &Command, error: &StoreError) -> Divergence {
        let mut given = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            given = format!("{given}: {error}");
            source = error.source();
        }
        self.divergence(command, "a reply".to_owned(), given)
    }

    fn divergence(&self, command: &Command, expected: String, given: String) -> Divergence {
        Divergence {
            seed: self.plan.seed,
            step: self.step,
            command: format!("at {:?}: {command:?}", self.now),
            expected,
            given,
        }
    }
}

/// The start of every run.
const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn ticket_of(verdict: &Verdict) -> Option<&Ticket> {
    match verdict {
        Verdict::Admit { .. } => None,
        Verdict::Refuse { ticket, .. } => ticket.as_ref(),
        Verdict::Wait { ticket, .. } => Some(ticket),
    }
}

/// Returns the longest interval after which a store may ask a visitor to return: the refresh
/// interval with the greatest jitter.
fn longest_interval(settings: &RoomRules, reason: &Reason) -> Duration {
    if *reason == Reason::QueuedCookieTest {
        return Duration::from_secs(1);
    }
    Duration::from_millis(u64::from(settings.refresh_interval.subsec_millis()))
        + Duration::from_secs((settings.refresh_interval.as_secs() * 13).div_ceil(10))
}

/// Returns the verdict without the estimated wait, which is up to each store.
fn without_estimate(mut verdict: Verdict) -> Verdict {
    match &mut verdict {
        Verdict::Admit { .. } => {}
        Verdict::Refuse { ticket, .. } => ticket.iter_mut().for_each(|ticket| ticket.wait = None),
        Verdict::Wait { ticket, .. } => ticket.wait = None,
    }
    verdict
}

/// Returns the expected snapshot, with the estimates of the given one.
fn snapshot(
    settings: &RoomRules,
    numbers: Numbers,
    now: Timestamp,
    given: &RoomSnapshot,
) -> RoomSnapshot {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let mut expected = given.clone();
    expected.at = now;
    expected.active = count(numbers.active);
    expected.total_active_users = settings.total_active_users;
    expected.new_in_last_minute = count(numbers.new_in_last_minute);
    expected.new_users_per_minute = settings.new_users_per_minute;
    expected.waiting = count(numbers.waiting);
    expected.present = count(numbers.present);
    expected.line_capacity = settings.line_capacity;
    expected.oldest_wait = numbers.oldest_wait.unwrap_or(given.oldest_wait);
    expected.abandoned = numbers.abandoned;
    [expected.slots_of_one_network, expected.places_of_one_network] =
        numbers.of_one_network.map(count);
    expected.mode = settings.mode;
    expected
}

/// The number of sweeps after which a room has finished its work for a draw. Each operation does a
/// part of this work.
const SWEEPS: u32 = 8;

/// The number of streams.
const SEEDS: u64 = 4;

/// The number of commands of each stream: enough for all but the rarest replies.
const COMMANDS: u64 = 4_000;
