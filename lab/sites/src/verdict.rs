//! The promises, and whether a run has kept them.

use std::time::Duration;

use waiting_room_crowd::{Admissions, Tally};

use crate::{
    cli::Load,
    fault::Fault,
    node::PolicyName,
    trial::{Run, Trial},
};

/// The time within which another ledger has to hold the room.
const TAKE_OVER: Duration = Duration::from_secs(3);
/// By how much a visitor may have come later than another one that is admitted after it.
const OUT_OF_ORDER: Duration = Duration::from_secs(30);
/// Without a fault, one in this many renewals may be late: a machine that runs everything may be busy.
const LATE_OF: u64 = 200;

/// The promises that a run has broken, of those that hold under its fault.
pub(crate) fn violations(trial: &Trial) -> Vec<&'static str> {
    let Run { fault, policy, .. } = trial.run;
    let is_calm = fault == Fault::None;
    let is_exact = policy == PolicyName::Escrow;
    let keeps_places = !fault.forgets() && !fault.takes_site() && !fault.ends_sessions_early();
    let report = trial.outcome.report();
    // The order is one of each site, so an inversion between sites breaks no promise.
    let holds = |name: &&str| match *name {
        "order_inversions" => false,
        // Counters promise no limit, and no slot that is free.
        "max_active" => {
            let allowed =
                u64::from(report.total_active_users) + u64::from(trial.struck.ended_early);
            is_exact && report.max_active > allowed
        }
        "max_new_in_any_60s" => is_exact,
        "queued_while_free" => is_calm && is_exact,
        "lost_places" | "position_rises" => keeps_places && !fault.outlasts_lease(),
        _ => true,
    };
    let mut violations = report.violations();
    violations.retain(holds);
    let keeps_passes = !fault.takes_site() && !fault.ends_sessions_early();
    let limit = report.new_users_per_minute.map_or(u64::MAX, u64::from);
    let most_new = report.max_new_in_any_60s;
    let others = [
        ("void", is_void(fault, trial.admissions, trial.needed)),
        ("limit_not_reached", is_exact && misses_limit(trial.run.load, most_new, limit)),
        ("unheard", trial.heard.to_ledgers == 0),
        ("places_lost", trial.places_lost > 0 && keeps_places),
        ("passes_interrupted", trial.passes_interrupted > 0 && keeps_passes),
        ("out_of_order", is_calm && trial.out_of_order > OUT_OF_ORDER),
        ("without_ledger", trial.struck.without_ledger.is_some_and(|time| time > TAKE_OVER)),
        ("said_too_late", trial.said_too_late().is_some_and(|count| count > 0)),
    ];
    let costs = [
        ("calls_with_a_pass", trial.trips.passes.calls > 0),
        ("calls_of_newcomers", exceeds_one(trial.trips.newcomers)),
        ("renewals_late", trial.trips.late * LATE_OF > trial.trips.renewals.requests),
        ("renewals_refused", trial.trips.refused > 0),
        ("wan", is_exact && trial.per_admission(trial.heard.asking) > wan_bar(trial.run.load)),
    ];
    let costs = costs.into_iter().filter(|_| is_calm);
    let broken = others.into_iter().chain(costs).filter(|(_, is_broken)| *is_broken);
    violations.extend(broken.map(|(name, _)| name));
    violations
}

/// Returns whether too few visitors were admitted for the promises to be tested.
fn is_void(fault: Fault, admissions: Admissions, needed: u64) -> bool {
    let Admissions { before, meanwhile, after } = admissions;
    let least = if fault == Fault::None { before } else { before.min(meanwhile).min(after) };
    least < needed
}

/// Returns whether the limit on new visitors was never nearly reached, although it is meant to bind.
const fn misses_limit(load: Load, most: u64, limit: u64) -> bool {
    matches!(load, Load::Minute) && most * 10 < limit * 9
}

/// Returns whether newcomers have made more than one call each.
const fn exceeds_one(newcomers: Tally) -> bool {
    newcomers.calls > newcomers.requests
}

/// The most messages that ask the ledgers for a slot, of each admission.
const fn wan_bar(load: Load) -> f64 {
    match load {
        Load::Light => 0.1,
        Load::Full | Load::Minute => 1.2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_too_few_admissions_is_void() {
        let void = |fault, before, meanwhile, after| {
            is_void(fault, Admissions { before, meanwhile, after }, 100)
        };
        assert!(!void(Fault::Cut, 100, 100, 100));
        assert!(void(Fault::Cut, 99, 100, 100));
        assert!(void(Fault::Cut, 100, 99, 100));
        assert!(void(Fault::Cut, 100, 100, 99));
        assert!(!void(Fault::None, 100, 0, 0));
        assert!(void(Fault::None, 99, 0, 0));
    }

    #[test]
    fn a_limit_that_is_meant_to_bind_has_to_be_nearly_reached() {
        assert!(misses_limit(Load::Minute, 1_349, 1_500));
        assert!(!misses_limit(Load::Minute, 1_350, 1_500));
        assert!(!misses_limit(Load::Full, 1, 1_500));
    }
}
