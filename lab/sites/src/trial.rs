//! One run: a world, a crowd, a fault, and the outcome.

use std::{pin::pin, time::Duration};

use anyhow::{Result, bail};
use tokio::{select, time::sleep};
use tower_waiting_room::time::{Clock, SystemClock, Timestamp};
use waiting_room_crowd::{Admissions, Latencies, Outcome, Trips};
use waiting_room_ledger::model::Minute;

use crate::{
    cli::{EngineName, Load, Plan},
    fault::Fault,
    nemesis::{Nemesis, Struck},
    node::PolicyName,
    wire::Heard,
    world::World,
};

/// A run to perform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) fault: Fault,
    pub(crate) load: Load,
    pub(crate) policy: PolicyName,
}

/// The observations of the visitors, and the work of the sites and the ledgers for them.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) run: Run,
    pub(crate) engine: EngineName,
    pub(crate) seed: u64,
    pub(crate) outcome: Outcome,
    pub(crate) places_lost: u64,
    pub(crate) passes_interrupted: u64,
    pub(crate) out_of_order: Duration,
    pub(crate) latencies: Latencies,
    pub(crate) admissions: Admissions,
    /// The calls to the stores that requests have made.
    pub(crate) trips: Trips,
    /// The messages between the sites and the ledgers.
    pub(crate) heard: Heard,
    /// The scripts that all stores have run, unless a fault has ended one of them.
    pub(crate) scripts: Option<u64>,
    pub(crate) struck: Struck,
    /// The admissions that are needed before, during and after a fault.
    pub(crate) needed: u64,
}

impl Trial {
    /// Starts a world and a crowd, injects the fault, and stops everything.
    pub(crate) async fn run(run: Run, plan: &Plan) -> Result<Self> {
        let Run { fault, load, policy } = run;
        let plan = &plan.with_rate_of(load);
        let mut world = World::start(plan, policy, fault).await?;
        let crowd = plan.crowd(load, fault);
        let seed = crowd.seed();
        let witness = crowd.witness();
        let shops = world.shops();
        eprintln!("{}: {} visitors to {shops:?}, seed {seed}", fault.name(), crowd.visitors());
        let mut struck = Struck::default();
        if policy == PolicyName::Counters {
            // They count by the minute, so runs that begin with one can be compared.
            sleep(to_next_minute(SystemClock::new().now())).await;
        }
        {
            let nemesis = Nemesis { fault, at: plan.fault_at(), witness: &witness };
            let mut crowd = pin!(crowd.visit(&shops, Plan::drain(fault)));
            if fault != Fault::None {
                select! {
                    () = &mut crowd => bail!("the crowd had left before the fault was over"),
                    done = nemesis.strike(&mut world) => struck = done?,
                }
            }
            crowd.await;
        }
        let scripts =
            if matches!(fault, Fault::None) { Some(world.scripts().await?) } else { None };
        Ok(Self {
            run,
            engine: plan.engine,
            seed,
            outcome: Outcome::new(&witness, seed),
            places_lost: witness.places_lost(),
            passes_interrupted: witness.passes_interrupted(),
            out_of_order: witness.out_of_order(),
            latencies: witness.latencies(),
            admissions: witness.admissions(),
            trips: witness.trips(),
            heard: world.wire.heard(),
            scripts,
            struck,
            needed: plan.admissions,
        })
    }

    /// The messages of a ledger that had been replaced, after it continued.
    pub(crate) fn said_too_late(&self) -> Option<u64> {
        self.struck.outdated_before.map(|before| self.heard.outdated() - before)
    }

    /// A count for each admitted visitor.
    #[expect(clippy::cast_precision_loss, reason = "the counts are small")]
    pub(crate) fn per_admission(&self, count: u64) -> f64 {
        count as f64 / self.outcome.report().admitted.max(1) as f64
    }
}

/// The time until the calendar begins another minute.
fn to_next_minute(now: Timestamp) -> Duration {
    Minute::of(now).end().since(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_minute_is_one_of_the_calendar() {
        let left = |seconds| to_next_minute(Timestamp::from_secs(seconds)).as_secs();
        assert_eq!([60_000, 60_001, 60_059].map(left), [60, 59, 1]);
    }
}
