//! Tests that compare the gate with a model that is too simple to be wrong. After every step, the
//! gate and the model must have admitted, queued and refused the same requests, must have granted
//! the same permits in the same order, and must have the same counts.

mod model;

use proptest::{prelude::*, sample::Index, test_runner::TestCaseResult};

use self::model::{Fate, Model, Verdict};
use super::*;

/// An event at a gate. The index of an event selects one of the permits or queued requests to which
/// the event can apply.
#[derive(Clone, Debug)]
enum Step {
    Enter {
        class: u8,
        tenant: u64,
        patience: Option<Duration>,
    },
    Release(Index),
    /// Releases a permit, and polls all queued requests.
    Serve(Index),
    Poll(Index),
    TimeOut(Index),
    Cancel(Index),
    Pass(Duration),
    SetLimit(Option<u32>),
    Drain(DrainQueue),
    Open,
}

proptest! {
    #[test]
    fn first_come_first_served_agrees_with_the_model(rules in rules(Just(Discipline::Fifo)), steps in steps()) {
        agrees(&rules, &steps)?;
    }

    #[test]
    fn controlled_delay_agrees_with_the_model(rules in rules(controlled_delay()), steps in steps()) {
        agrees(&rules, &steps)?;
    }

    #[test]
    fn adaptive_lifo_agrees_with_the_model(rules in rules(adaptive_lifo()), steps in steps()) {
        agrees(&rules, &steps)?;
    }

    #[test]
    fn priority_agrees_with_the_model(rules in rules(priority()), steps in steps()) {
        agrees(&rules, &steps)?;
    }

    #[test]
    fn fair_by_tenant_agrees_with_the_model(rules in rules(fair(Tenants::Each)), steps in steps()) {
        agrees(&rules, &steps)?;
    }

    #[test]
    fn fair_by_lots_agrees_with_the_model(rules in rules(fair(Tenants::Shuffled)), steps in steps()) {
        agrees(&rules, &steps)?;
    }
}

fn rules(disciplines: impl Strategy<Value = Discipline>) -> impl Strategy<Value = GateRules> {
    (0u32..=4, 0u32..=6, 20u64..3_000, disciplines).prop_map(
        |(limit, queue, max_wait, discipline)| {
            GateRules::new(limit.max(1))
                .limit(limit)
                .queue(queue)
                .max_wait(ms(max_wait))
                .discipline(discipline)
        },
    )
}

fn controlled_delay() -> impl Strategy<Value = Discipline> {
    (10u64..1_000, 10u64..1_000).prop_map(|(target, interval)| Discipline::ControlledDelay {
        target: ms(target),
        interval: ms(interval),
    })
}

fn adaptive_lifo() -> impl Strategy<Value = Discipline> {
    (10u64..1_000).prop_map(|interval| Discipline::AdaptiveLifo { interval: ms(interval) })
}

fn priority() -> impl Strategy<Value = Discipline> {
    (1..=4usize, 0..=1u32, 10u64..500).prop_map(|(classes, last, aging)| {
        let mut reserved = vec![0; classes];
        reserved[classes - 1] = last;
        Discipline::Priority { reserved, aging: ms(aging) }
    })
}

fn fair(tenants: Tenants) -> impl Strategy<Value = Discipline> {
    Just(Discipline::FairByTenant(tenants))
}

/// Durations with a resolution of one nanosecond, so that two estimates are hardly ever equal by
/// coincidence.
fn times(millis: u64) -> impl Strategy<Value = Duration> {
    (0..millis * 1_000_000).prop_map(Duration::from_nanos)
}

fn enter() -> impl Strategy<Value = Step> {
    (0u8..=4, 0u64..=4, prop::option::weighted(0.3, times(2_000)))
        .prop_map(|(class, tenant, patience)| Step::Enter { class, tenant, patience })
}

/// Requests that are served at a steady rate while others wait, from which the gate learns its
/// estimates, or nothing.
fn warm_up() -> impl Strategy<Value = Vec<Step>> {
    let served = (enter(), any::<Index>());
    let served = prop::collection::vec(served, 8..=24);
    let crowd = prop::collection::vec(enter(), 8);
    let warm_up = (crowd, served, times(200)).prop_map(|(mut steps, served, hold)| {
        let serve = |(enter, index)| [Step::Pass(hold), Step::Serve(index), enter];
        steps.extend(served.into_iter().flat_map(serve));
        steps
    });
    prop_oneof![Just(Vec::new()), warm_up]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => enter(),
        8 => any::<Index>().prop_map(Step::Release),
        6 => any::<Index>().prop_map(Step::Poll),
        2 => any::<Index>().prop_map(Step::TimeOut),
        2 => any::<Index>().prop_map(Step::Cancel),
        6 => prop_oneof![times(50), times(500), Just(ms(100)), Just(ms(0))].prop_map(Step::Pass),
        1 => prop_oneof![4 => (0u32..=4).prop_map(Some), 1 => Just(None)].prop_map(Step::SetLimit),
        1 => prop_oneof![Just(DrainQueue::Refuse), Just(DrainQueue::Serve)].prop_map(Step::Drain),
        2 => Just(Step::Open),
    ];
    (warm_up(), prop::collection::vec(step, 1..150))
        .prop_map(|(warm_up, steps)| [warm_up, steps].concat())
}

/// A gate and its model, with the permits and the queued requests that exist in both.
struct Both {
    world: World,
    model: Model,
    permits: Vec<(u64, Permit)>,
    places: Vec<(u64, Waiting)>,
}

fn agrees(rules: &GateRules, steps: &[Step]) -> TestCaseResult {
    let world = World::new(rules.clone());
    let model = Model::new(rules, world.gate.now());
    let mut both = Both { world, model, permits: Vec::new(), places: Vec::new() };
    for step in steps {
        both.step(step)?;
        both.counts_are_equal()?;
    }
    while !both.places.is_empty() {
        both.poll(0)?;
        both.counts_are_equal()?;
        if both.places.first().is_some_and(|(name, _)| both.model.is_waiting(*name)) {
            both.cancel(0);
        }
    }
    both.permits.clear();
    prop_assert_eq!(both.world.counts(), (0, 0));
    Ok(())
}

impl Both {
    fn step(&mut self, step: &Step) -> TestCaseResult {
        let permits = self.permits.len();
        let places = self.places.len();
        match step {
            Step::Enter { class, tenant, patience } => {
                let deadline = patience.map(|patience| self.world.gate.now() + patience);
                let class = *class;
                let tenant = *tenant;
                return self.enter(Arrival { class, tenant, deadline, is_inside: false });
            }
            Step::Release(index) if permits > 0 => self.release(index.index(permits)),
            Step::Serve(index) => {
                if permits > 0 {
                    self.release(index.index(permits));
                }
                return (0..places).rev().try_for_each(|index| self.poll(index));
            }
            Step::Poll(index) if places > 0 => return self.poll(index.index(places)),
            Step::TimeOut(index) if places > 0 => return self.time_out(index.index(places)),
            Step::Cancel(index) if places > 0 => self.cancel(index.index(places)),
            Step::Release(_) | Step::Poll(_) | Step::TimeOut(_) | Step::Cancel(_) => {}
            Step::Pass(duration) => {
                self.world.after(*duration);
                self.model.now = self.world.gate.now();
            }
            Step::SetLimit(limit) => {
                self.world.gate.set_limit(*limit).unwrap();
                self.model.set_limit(limit.unwrap_or(u32::MAX));
            }
            Step::Drain(queue) => {
                drop(self.world.gate.drain(*queue));
                self.model.drain(*queue);
            }
            Step::Open => {
                self.world.gate.open();
                self.model.is_draining = false;
            }
        }
        Ok(())
    }

    fn enter(&mut self, arrival: Arrival) -> TestCaseResult {
        let entry = self.world.enter(arrival);
        let (name, verdict) = self.model.enter(&arrival);
        match (entry, verdict) {
            (Entry::Admitted(permit), Verdict::Admitted(ran)) => {
                prop_assert_eq!(permit.in_flight(), ran);
                self.permits.push((name, permit));
            }
            (Entry::Queued(place), Verdict::Queued(deadline)) => {
                prop_assert_eq!(place.deadline(), deadline);
                self.places.push((name, Waiting::new(place)));
            }
            (Entry::Refused(refused), Verdict::Refused(because)) => {
                is_refused(refused, because)?;
            }
            (entry, verdict) => prop_assert!(false, "{entry:?} is not {verdict:?}"),
        }
        Ok(())
    }

    fn release(&mut self, index: usize) {
        let (name, permit) = self.permits.swap_remove(index);
        drop(permit);
        self.model.release(name);
    }

    fn poll(&mut self, index: usize) -> TestCaseResult {
        let (name, waiting) = &mut self.places[index];
        let name = *name;
        let wakes = waiting.wakes();
        let told = waiting.poll();
        if told.is_none() {
            prop_assert!(self.model.is_waiting(name));
            prop_assert_eq!(wakes, 0);
            return Ok(());
        }
        prop_assert_eq!(wakes, 1);
        drop(self.places.swap_remove(index));
        self.told(name, told)
    }

    fn time_out(&mut self, index: usize) -> TestCaseResult {
        let (name, waiting) = self.places.swap_remove(index);
        self.model.time_out(name);
        self.told(name, Some(waiting.place.time_out()))
    }

    fn cancel(&mut self, index: usize) {
        let (name, waiting) = self.places.swap_remove(index);
        drop(waiting);
        self.model.cancel(name);
    }

    /// Compares the outcomes of a request in the gate and in the model. The number of requests
    /// running at the time of a grant reveals the order of grants, even among grants at the same
    /// instant.
    fn told(&mut self, name: u64, told: Option<Result<Permit, GateRefused>>) -> TestCaseResult {
        match (told, self.model.take(name)) {
            (Some(Ok(permit)), Fate::Granted { at, ran, waited }) => {
                prop_assert_eq!((permit.given_at(), permit.in_flight()), (at, ran));
                prop_assert_eq!(permit.waited(), waited);
                self.permits.push((name, permit));
            }
            (Some(Err(refused)), Fate::Refused(because)) => is_refused(refused, because)?,
            (told, fate) => prop_assert!(false, "{told:?} is not {fate:?}"),
        }
        Ok(())
    }

    fn counts_are_equal(&self) -> TestCaseResult {
        let snapshot = self.world.snapshot();
        let model = &self.model;
        prop_assert_eq!(snapshot.in_flight as usize, model.running.len());
        prop_assert_eq!(snapshot.queued as usize, model.line.len());
        prop_assert_eq!(snapshot.limit.unwrap_or(u32::MAX), model.limit);
        prop_assert_eq!(snapshot.is_draining, model.is_draining);
        prop_assert_eq!(snapshot.outcomes, model.outcomes);
        prop_assert_eq!(snapshot.oldest_wait, model.oldest_wait());
        Ok(())
    }
}

/// Compares a refusal with the expected reason. A refusal must have a time to come back if and only
/// if the gate lacked capacity.
fn is_refused(refused: GateRefused, because: RefusedBecause) -> TestCaseResult {
    prop_assert_eq!(refused.because, because);
    let is_hopeful = !matches!(because, RefusedBecause::Drained | RefusedBecause::TimedOut);
    prop_assert_eq!(refused.retry_after.is_some(), is_hopeful);
    Ok(())
}
