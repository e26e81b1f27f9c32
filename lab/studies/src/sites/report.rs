//! The figures of a run.

use hdrhistogram::Histogram;

use super::{
    clock::SECOND,
    door::Trips,
    notes::{Moment, Notes},
    scenario::Scenario,
    truth::Seen,
};

/// The result of a world under one policy with one seed. The name of a duration ends with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) arrivals: u64,
    pub(super) admitted: u64,
    pub(super) queued: u64,
    pub(super) gave_up: u64,
    /// Visitors without a cookie who were told to wait.
    pub(super) bots_away: u64,
    /// The number of visitors in the line when the run was over.
    pub(super) waiting_at_end: u32,
    pub(super) at_the_door_at_end: u32,
    /// The utilization of the room when the first visitor had to wait, rightly or wrongly: 1 is full.
    pub(super) util_at_first_queue: Option<f64>,
    /// The same for the first visitor who had to wait although an ideal ledger would have admitted
    /// it.
    pub(super) util_at_first_early_queue: Option<f64>,
    pub(super) early_queued: u64,
    /// Free slots × seconds, counted while visitors waited.
    pub(super) early_slot_seconds: f64,
    pub(super) max_active: u32,
    pub(super) max_active_over_limit: f64,
    pub(super) overshoot_user_seconds: f64,
    pub(super) max_new_in_any_minute_over_limit: f64,
    pub(super) wait_p50_s: Option<f64>,
    pub(super) wait_error_p50_s: Option<f64>,
    pub(super) wait_error_p95_s: Option<f64>,
    pub(super) inversions: u64,
    pub(super) worst_inversion_s: u32,
    pub(super) answer_p50_ms: u64,
    pub(super) answer_p95_ms: u64,
    pub(super) answer_max_ms: u64,
    pub(super) told_to_wait_max_ms: u64,
    pub(super) site_trips_per_new: f64,
    pub(super) wan_trips_per_new: f64,
    pub(super) trips_per_returning: f64,
    /// One-way messages between ledgers.
    pub(super) ledger_messages_per_s: f64,
    /// The highest number of slots held by sites that cannot be reached.
    pub(super) max_stranded_slots: u32,
    /// The number of such slots at the end of the run.
    pub(super) stranded_slots_at_end: u32,
    /// The time from the first fault to the last moment at which slots were stranded. `None` if
    /// slots are still stranded at the end of the run.
    pub(super) recovery_s: Option<f64>,
    pub(super) timeline: Vec<Moment>,
}

impl Report {
    pub(super) fn new(
        scenario: &Scenario,
        (seen, notes): (&Seen, &Notes),
        trips: Trips,
        at_end: (u32, u32),
    ) -> Self {
        let limits = &scenario.limits;
        let limit = limits.total_active_users;
        let per_minute = limits.new_users_per_minute;
        let of_limit = |number: u32, limit: u32| f64::from(number) / f64::from(limit);
        let per_new = |number: u64| number as f64 / notes.arrivals.max(1) as f64;
        let wait = |q| quantile(&notes.waits_ms, q).map(|millis| millis / 1_000.0);
        let error = |q| quantile(&notes.errors_s, q);
        Self {
            arrivals: notes.arrivals,
            admitted: seen.admitted,
            queued: seen.queued,
            gave_up: notes.gave_up,
            bots_away: notes.bots_away,
            waiting_at_end: at_end.0,
            at_the_door_at_end: at_end.1,
            util_at_first_queue: seen.first_queued.map(|(fullness, _)| fullness),
            util_at_first_early_queue: seen.early.first,
            early_queued: seen.early.queued,
            early_slot_seconds: seen.early_slot_ms as f64 / 1_000.0,
            max_active: seen.max_active,
            max_active_over_limit: of_limit(seen.max_active, limit),
            overshoot_user_seconds: seen.overshoot_ms as f64 / 1_000.0,
            max_new_in_any_minute_over_limit: of_limit(seen.max_new_in_60_s, per_minute),
            wait_p50_s: wait(0.5),
            wait_error_p50_s: error(0.5),
            wait_error_p95_s: error(0.95),
            inversions: seen.inversions,
            worst_inversion_s: seen.worst_inversion_s,
            answer_p50_ms: notes.answers_ms.value_at_quantile(0.5),
            answer_p95_ms: notes.answers_ms.value_at_quantile(0.95),
            answer_max_ms: notes.answers_ms.max(),
            told_to_wait_max_ms: notes.queues_ms.max(),
            site_trips_per_new: per_new(trips.site),
            wan_trips_per_new: per_new(trips.wan),
            trips_per_returning: trips.returning as f64 / notes.pages.max(1) as f64,
            ledger_messages_per_s: trips.messages as f64
                / (f64::from(scenario.length_ms().max(1)) / f64::from(SECOND)),
            max_stranded_slots: seen.max_stranded,
            stranded_slots_at_end: seen.stranded_at_end,
            recovery_s: recovery_s(scenario, seen),
            timeline: notes.timeline.clone(),
        }
    }
}

/// The value at a quantile. `None` if nothing was counted.
fn quantile(of: &Histogram<u32>, quantile: f64) -> Option<f64> {
    (!of.is_empty()).then(|| of.value_at_quantile(quantile) as f64)
}

/// The time from the first fault until no slot was stranded.
fn recovery_s(scenario: &Scenario, seen: &Seen) -> Option<f64> {
    let first_fault = scenario.faults.iter().map(|fault| fault.from).reduce(f64::min)?;
    let last_stranded = f64::from(seen.last_stranded?) / f64::from(SECOND);
    (seen.stranded_at_end == 0).then_some((last_stranded - first_fault).max(0.0))
}
