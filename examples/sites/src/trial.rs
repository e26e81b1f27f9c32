//! One run: a world, a crowd, a fault, and the outcome.

use std::{pin::pin, time::Duration};

use anyhow::{Result, anyhow, bail};
use shop::{Admissions, Crowd, Form, Latencies, Outcome, Scene};
use tokio::{select, sync::watch};

use crate::{
    cli::{Load, Plan},
    fault::Fault,
    nemesis::Nemesis,
    node::PolicyName,
    world::World,
};

/// A run to perform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) fault: Fault,
    pub(crate) load: Load,
    pub(crate) policy: PolicyName,
}

/// What visitors saw of the sites.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) fault: Fault,
    pub(crate) load: Load,
    pub(crate) policy: PolicyName,
    pub(crate) outcome: Outcome,
    pub(crate) places_lost: u64,
    pub(crate) passes_interrupted: u64,
    pub(crate) out_of_order: Duration,
    pub(crate) latencies: Latencies,
    pub(crate) admissions: Admissions,
    /// The decisions that took at least as long as a round trip to the ledgers.
    pub(crate) over_the_wan: u64,
    /// The pieces that all sites have sent to the ledgers.
    pub(crate) sent: u64,
    /// How long no ledger held the room, if its holder was killed.
    pub(crate) without_ledger: Option<Duration>,
    needed: u64,
}

impl Trial {
    /// The time within which another ledger has to hold the room.
    const TAKE_OVER: Duration = Duration::from_secs(3);
    /// By how much a visitor may have come later than another one that is admitted after it.
    const OUT_OF_ORDER: Duration = Duration::from_secs(30);

    /// Starts a world and a crowd, injects the fault, and stops everything.
    pub(crate) async fn run(Run { fault, load, policy }: Run, plan: &Plan) -> Result<Self> {
        let mut world = World::start(plan, policy, fault.persistence()).await?;
        let crowd = Crowd::new(&plan.order(load, fault), &plan.promised());
        let crowd = crowd.map_err(|error| anyhow!("{error}"))?;
        let (seed, witness, shops) = (crowd.seed(), crowd.witness(), world.shops());
        let news = format!("{}: {} to {shops:?}, seed {seed}", fault.name(), crowd.story());
        let (news, scene) = watch::channel(Scene::outside(news));
        let mut without_ledger = None;
        {
            let nemesis = Nemesis { fault, at: plan.fault_at(), witness: &witness, news: &news };
            let mut crowd = pin!(crowd.visit(&shops, scene));
            if fault != Fault::None {
                select! {
                    () = &mut crowd => bail!("the crowd had left before the fault was over"),
                    struck = nemesis.strike(&mut world) => without_ledger = struck?,
                }
            }
            crowd.await;
        }
        let latencies = witness.latencies();
        Ok(Self {
            fault,
            load,
            policy,
            outcome: Outcome::new(&witness, seed, Form::Table),
            places_lost: witness.places_lost(),
            passes_interrupted: witness.passes_interrupted(),
            out_of_order: witness.out_of_order(),
            over_the_wan: latencies.decisions_over(plan.round_trip),
            latencies,
            admissions: witness.admissions(),
            sent: world.sent(),
            without_ledger,
            needed: plan.admissions,
        })
    }

    /// The broken promises, of those that hold under this fault.
    pub(crate) fn violations(&self) -> Vec<&'static str> {
        let (is_calm, fault) = (self.fault == Fault::None, self.fault);
        let is_exact = self.policy == PolicyName::Escrow;
        let keeps_places = !fault.forgets() && !fault.takes_site();
        // The order is one of each site, so an inversion between sites breaks no promise.
        let holds = |name: &&str| match *name {
            "order_inversions" => false,
            // Counters promise no limit, and no slot that is free.
            "max_active" | "max_new_in_any_60s" => is_exact,
            "queued_while_free" => is_calm && is_exact,
            "lost_places" | "position_rises" => {
                !fault.forgets() && !fault.takes_site() && !fault.outlasts_lease()
            }
            _ => true,
        };
        let mut violations = self.outcome.report().violations();
        violations.retain(holds);
        let others = [
            ("void", self.is_void()),
            ("places_lost", self.places_lost > 0 && keeps_places),
            (
                "passes_interrupted",
                self.passes_interrupted > 0 && !fault.takes_site() && !fault.outlasts_lease(),
            ),
            ("out_of_order", is_calm && self.out_of_order > Self::OUT_OF_ORDER),
            ("without_ledger", self.without_ledger.is_some_and(|time| time > Self::TAKE_OVER)),
            ("wan", is_calm && is_exact && self.wan_per_admission() > self.wan_bar()),
        ];
        violations.extend(others.into_iter().filter(|(_, is_broken)| *is_broken).map(|it| it.0));
        violations
    }

    /// Returns whether too few visitors were admitted for the promises to be tested.
    fn is_void(&self) -> bool {
        let Admissions { before, meanwhile, after } = self.admissions;
        let least =
            if self.fault == Fault::None { before } else { before.min(meanwhile).min(after) };
        least < self.needed
    }

    /// The decisions for each admitted visitor that may have waited for the ledgers.
    pub(crate) fn wan_per_admission(&self) -> f64 {
        self.per_admission(self.over_the_wan)
    }

    /// A count for each admitted visitor.
    #[expect(clippy::cast_precision_loss, reason = "the counts are small")]
    pub(crate) fn per_admission(&self, count: u64) -> f64 {
        count as f64 / self.outcome.report().admitted.max(1) as f64
    }

    const fn wan_bar(&self) -> f64 {
        match self.load {
            Load::Light => 0.1,
            Load::Full => 1.2,
        }
    }
}
