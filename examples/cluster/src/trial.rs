//! One run: a cluster, a crowd, a fault, and what came of it.

use std::{pin::pin, time::Duration};

use anyhow::{Result, anyhow, bail};
use shop::{Admissions, Crowd, Form, Latencies, Outcome, RecoveryName, Scene};
use tokio::{select, sync::watch};

use crate::{cli::Plan, cluster::Cluster, fault::Fault, nemesis::Nemesis};

/// What visitors saw of a cluster that was in trouble.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) fault: Fault,
    pub(crate) outcome: Outcome,
    pub(crate) places_lost: u64,
    pub(crate) passes_interrupted: u64,
    pub(crate) latencies: Latencies,
    pub(crate) admissions: Admissions,
    /// For how long after the trouble somebody was still told that nobody can decide.
    pub(crate) undecided_after: Duration,
    /// Decisions whose answers took twice the deadline: one for the decision, and one for the way
    /// there and back through the balancer, on a machine that may be busy.
    pub(crate) decisions_late: u64,
    deadline: Duration,
    needed: u64,
    keeps_limits: bool,
    ignores_times: bool,
}

impl Trial {
    /// Starts everything, has it go wrong, and ends everything.
    pub(crate) async fn run(fault: Fault, plan: &Plan) -> Result<Self> {
        let (kept, replicated) = (fault.persistence(), fault == Fault::Failover);
        let mut cluster = Cluster::start(plan, kept, replicated).await?;
        let room = plan.room();
        let crowd = Crowd::new(&plan.order(), &room).map_err(|error| anyhow!("{error}"))?;
        let (seed, witness, shop) = (crowd.seed(), crowd.witness(), cluster.balancer.address());
        let news = format!(
            "{}: {} to {} nodes on http://{shop}, seed {seed}",
            fault.name(),
            crowd.story(),
            plan.nodes
        );
        let (news, scene) = watch::channel(Scene::outside(news));
        {
            let nemesis = Nemesis { plan, witness: &witness, news: &news };
            let mut crowd = pin!(crowd.visit(shop, scene));
            let mut strike = pin!(nemesis.strike(fault, &mut cluster));
            select! {
                () = &mut crowd => bail!("the crowd had gone before the trouble was over"),
                struck = &mut strike => struck?,
            }
            crowd.await;
        }
        let latencies = witness.latencies();
        Ok(Self {
            fault,
            outcome: Outcome::new(&witness, seed, Form::Table),
            places_lost: witness.places_lost(),
            passes_interrupted: witness.passes_interrupted(),
            decisions_late: latencies.decisions_over(2 * plan.deadline),
            latencies,
            admissions: witness.admissions(),
            needed: plan.admissions,
            deadline: plan.deadline,
            undecided_after: witness.undecided_after(),
            keeps_limits: fault.keeps_limits(room.recovery == Some(RecoveryName::Pause)),
            ignores_times: plan.ignore_times,
        })
    }

    /// The promises that were broken, of those that hold under this fault.
    pub(crate) fn violations(&self) -> Vec<&'static str> {
        let is_limit = |name: &&str| ["max_active", "max_new_in_any_60s"].contains(name);
        // The oracle counts a pass that was interrupted among the places that were lost.
        let mut violations = self.outcome.report().violations();
        violations.retain(|name| self.keeps_limits || !is_limit(name));
        let latencies = &self.latencies;
        // A request that waits for the store takes as long as a decision may take. One that does
        // not takes as long as ever, give or take less than that.
        let allowed = latencies.pass_p99_calm() + self.deadline / 2;
        let others = [
            ("void", self.is_void()),
            ("places_lost", self.places_lost > 0),
            ("passes_interrupted", self.passes_interrupted > 0),
        ];
        let times = [
            ("pass_p99", latencies.pass_p99_troubled() > allowed),
            ("decisions_late", self.decisions_late * LATE_OF > latencies.decisions()),
            ("recovery", self.undecided_after > Nemesis::RECOVERY),
        ];
        let times = times.into_iter().filter(|_| !self.ignores_times);
        let broken = others.into_iter().chain(times).filter(|(_, is_broken)| *is_broken);
        violations.extend(broken.map(|(name, _)| name));
        violations
    }

    /// Whether too few were let in for the promises to be at stake: when it struck, while something was
    /// wrong unless the room could not ask its store, and after it.
    fn is_void(&self) -> bool {
        let Admissions { before, meanwhile, after } = self.admissions;
        let moves_meanwhile = self.fault.takes_store() || meanwhile >= self.needed;
        before < self.needed || !moves_meanwhile || after < self.needed
    }
}

/// One in so many decisions may be late: a machine that is busy with other things wakes nobody in
/// time.
const LATE_OF: u64 = 200;
