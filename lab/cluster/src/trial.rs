//! One run: a cluster, a crowd, a fault, and the outcome.

use std::{pin::pin, time::Duration};

use anyhow::{Result, bail};
use shop::RecoveryName;
use tokio::select;
use waiting_room_crowd::{Admissions, Latencies, Outcome};

use crate::{cli::Plan, cluster::Cluster, fault::Fault, nemesis::Nemesis};

/// A cluster under a fault, as its visitors saw it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) fault: Fault,
    pub(crate) outcome: Outcome,
    pub(crate) places_lost: u64,
    pub(crate) passes_interrupted: u64,
    pub(crate) latencies: Latencies,
    pub(crate) admissions: Admissions,
    /// How long after the fault a visitor was still told that no decision is possible.
    pub(crate) undecided_after: Duration,
    /// The number of decisions whose answers took more than twice the deadline. One deadline is for
    /// the decision, the other for the round trip through the balancer on a machine that may be
    /// busy.
    pub(crate) decisions_late: u64,
    deadline: Duration,
    needed: u64,
    keeps_limits: bool,
    ignores_times: bool,
}

impl Trial {
    /// Starts a cluster and a crowd, injects the fault, and stops everything.
    pub(crate) async fn run(fault: Fault, plan: &Plan) -> Result<Self> {
        let kept = fault.persistence();
        let replicated = fault == Fault::Failover;
        let mut cluster = Cluster::start(plan, kept, replicated).await?;
        let room = plan.room();
        let timing = plan.timing(fault);
        let crowd = plan.crowd(&timing);
        let seed = crowd.seed();
        let witness = crowd.witness();
        let shop = cluster.balancer.address();
        let shops = [shop];
        eprintln!(
            "{}: {} visitors to {} nodes on http://{shop}, seed {seed}",
            fault.name(),
            crowd.visitors(),
            plan.nodes
        );
        {
            let nemesis = Nemesis { plan, lasts: timing.lasts, witness: &witness };
            let mut crowd = pin!(crowd.visit(&shops, timing.drain));
            let mut strike = pin!(nemesis.strike(fault, &mut cluster));
            select! {
                () = &mut crowd => bail!("the crowd had left before the fault was over"),
                struck = &mut strike => struck?,
            }
            crowd.await;
        }
        let latencies = witness.latencies();
        Ok(Self {
            fault,
            outcome: Outcome::new(&witness, seed),
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

    /// The broken promises, of those that hold under this fault.
    pub(crate) fn violations(&self) -> Vec<&'static str> {
        let is_limit = |name: &&str| ["max_active", "max_new_in_any_60s"].contains(name);
        // The oracle counts an interrupted pass as a lost place.
        let mut violations = self.outcome.report().violations();
        violations.retain(|name| self.keeps_limits || !is_limit(name));
        let latencies = &self.latencies;
        // A request that waits for the store takes up to the deadline of a decision longer. A
        // request with a pass must not wait for it, so it may take half of that deadline longer at
        // most.
        let allowed = latencies.pass_p99_calm() + self.deadline / 2;
        let others = [
            ("void", is_void(self.fault, &self.admissions, self.needed)),
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
}

/// Returns whether too few visitors were admitted for the promises to be tested. `needed` admissions
/// are required before the fault and after it, and also during it unless the store is unavailable:
/// without a store, no visitor may be admitted.
fn is_void(fault: Fault, admissions: &Admissions, needed: u64) -> bool {
    let Admissions { before, meanwhile, after } = *admissions;
    let moves_meanwhile = fault.takes_store() || meanwhile >= needed;
    before < needed || !moves_meanwhile || after < needed
}

/// One in this many decisions may be late, since a busy machine may wake a task too late.
const LATE_OF: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_too_few_admissions_is_void() {
        let void = |fault, before, meanwhile, after| {
            is_void(fault, &Admissions { before, meanwhile, after }, 100)
        };
        assert!(!void(Fault::Nodes, 100, 100, 100));
        assert!(void(Fault::Nodes, 99, 100, 100));
        assert!(void(Fault::Nodes, 100, 99, 100));
        assert!(void(Fault::Nodes, 100, 100, 99));
        assert!(!void(Fault::Cut, 100, 0, 100));
        assert!(void(Fault::Cut, 100, 0, 99));
    }
}
