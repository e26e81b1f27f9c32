//! The encoding of a room's plan as arguments of `configure`: its rules, its events, and the rules
//! of each phase.
//!
//! Nodes read the rules and the schedule, and the scripts read the phases. A phase is the time from
//! one change of the rules in force to the next one:
//!
//! ```text
//!           prequeue_start         start               end
//!  ──────────────┼───────────────────┼──────────────────┼──────────► time
//!   phase 0      │ phase 1           │ phase 2          │ phase 3
//!   the room's   │ the event's rules,│ the event's      │ the room's
//!   own rules    │ no admissions     │ rules            │ own rules
//! ```
//!
//! The scripts thus need to know neither which rules an event overrides nor what it inherits. A
//! node that changes the room's own rules encodes all phases anew.

use std::time::Duration;

use serde::Serialize;
use waiting_room_core::{
    RoomRules, StoreError, Timestamp,
    error::StoreErrorKind,
    room::{
        RoomMode,
        event::{Event, Phase, RoomPlan, Schedule, ScheduleRecord},
    },
};

use crate::rules::{SlotsOf, encode_fields, rules_json};

/// One phase of a schedule, as `lua/room/course.lua` reads it.
#[derive(Debug, Serialize)]
struct EncodedPhase {
    /// The time at which the phase begins, in microseconds.
    from_us: u64,
    stage: &'static str,
    /// The start of the event, in microseconds.
    start_us: u64,
    /// The beginning of the prequeue or, without a prequeue, the start of the event.
    begins_us: u64,
    /// Whether visitors wait for the start, because no operator has set another mode.
    waits: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    draw: Option<EncodedDraw>,
    /// The rules in force, in the order of `FIELDS`.
    rules: Vec<String>,
}

/// The draw of a phase's event.
#[derive(Debug, Serialize)]
struct EncodedDraw {
    tag: u32,
    event: String,
    seed: String,
}

/// Encodes a valid plan as arguments of `configure`, from the rules in the format for nodes to the
/// rules in the format for scripts.
///
/// `lifetime` is the longest lifetime of any pass that the room has issued, as far as this node
/// knows. `slots_of` says where the room's slots come from. `drawn` contains the tag and the number
/// of entrants of the latest draw, if this node knows them.
pub(crate) fn encode_plan(
    plan: &RoomPlan,
    lifetime: Duration,
    drawn: Option<(u32, u32)>,
    slots_of: SlotsOf,
) -> Vec<Vec<u8>> {
    let lifetime = lifetime.max(plan.longest_pass_lifetime());
    let (schedule, phases) = match plan.schedule.events() {
        [] => (Vec::new(), Vec::new()),
        _ => (schedule_json(&plan.schedule), json(&phases(plan, lifetime, slots_of))),
    };
    let drawn = drawn.map(|(tag, entrants)| format!("{tag} {entrants}")).unwrap_or_default();
    let fields = encode_fields(&plan.rules, lifetime, slots_of);
    [rules_json(&plan.rules), schedule, phases, drawn.into_bytes()]
        .into_iter()
        .chain(fields.into_iter().map(String::into_bytes))
        .collect()
}

/// Encodes a schedule with its secret seeds for other nodes.
pub(crate) fn schedule_json(schedule: &Schedule) -> Vec<u8> {
    json(&ScheduleRecord::from(schedule))
}

/// Decodes the schedule of a room that another node has written, or an empty one.
///
/// # Errors
///
/// Returns a [`Rules`](StoreErrorKind::Rules) error if this release cannot read the schedule.
pub(crate) fn decode_schedule(encoded: &[u8], rules: &RoomRules) -> Result<Schedule, StoreError> {
    if encoded.is_empty() {
        return Ok(Schedule::default());
    }
    let record: ScheduleRecord = serde_json::from_slice(encoded)
        .map_err(|error| StoreError::new(StoreErrorKind::Rules).with_source(error))?;
    Ok(record.into_schedule(&rules.name)?)
}

/// Returns the phases of a plan in the order of time.
fn phases(plan: &RoomPlan, lifetime: Duration, slots_of: SlotsOf) -> Vec<EncodedPhase> {
    let times = |event: &Event| [event.begins_at(), event.start, event.end];
    // A schedule never goes back before the latest time that it has been told. A new schedule is
    // used here, because the result includes the phases that are over.
    let schedule = Schedule::new(plan.schedule.events().iter().cloned()).unwrap_or_default();
    let times = schedule.events().iter().flat_map(times);
    let times = std::iter::once(Timestamp::ZERO).chain(times);
    times
        .map(|at| {
            let (stage, event) = match schedule.phase_at(at) {
                Phase::Active { event, .. } => ("active", Some(event)),
                Phase::Before { .. } | Phase::Over => ("idle", None),
                Phase::Prequeue { event, .. } => ("prequeue", Some(event)),
            };
            EncodedPhase {
                from_us: micros_after(at),
                stage,
                start_us: event.map_or(0, |event| micros_after(event.start)),
                begins_us: event.map_or(0, |event| micros_after(event.begins_at())),
                waits: stage == "prequeue" && plan.rules.mode == RoomMode::Auto,
                draw: event.and_then(|event| draw(plan, event)),
                rules: encode_fields(&schedule.rules_at(at, &plan.rules), lifetime, slots_of),
            }
        })
        .collect()
}

/// Returns what nodes need for the draw of an event. The seed of each draw of a valid plan is known.
fn draw(plan: &RoomPlan, event: &Event) -> Option<EncodedDraw> {
    let tag = event.shuffle_at_start?.tag();
    let seed = plan.lottery(event)?.reveal(0, None).ok()?.seed();
    Some(EncodedDraw { tag, event: event.name.clone(), seed })
}

/// Converts a time to microseconds, rounded up, so that no phase begins early.
fn micros_after(at: Timestamp) -> u64 {
    at.as_nanos().div_ceil(1_000)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("names, numbers and durations can always be serialized")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use waiting_room_core::room::event::Seed;

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn plan(now: u64) -> RoomPlan {
        let doors = Event::new("doors", at(1_000), at(2_000)).prequeue_start(at(500));
        let encore = Event::new("encore", at(2_000), at(3_000)).limits(50, 5);
        let mut schedule = Schedule::new([doors, encore])
            .unwrap()
            .with_seed("shop", "doors", Seed::new([7; 32]))
            .unwrap();
        schedule.replace(schedule.events().to_vec(), at(now)).unwrap();
        RoomPlan::new(RoomRules::new("shop", 10), schedule).validate().unwrap()
    }

    #[test]
    fn each_phase_has_the_rules_in_force_even_if_it_is_over() {
        for now in [0, 700, 5_000] {
            let arguments = encode_plan(&plan(now), Duration::ZERO, None, SlotsOf::Rules);
            let phases: Vec<Value> = serde_json::from_slice(&arguments[2]).unwrap();
            let seen: Vec<_> = phases
                .iter()
                .map(|phase| {
                    (phase["from_us"].as_u64().unwrap() / 1_000_000, phase["stage"].as_str())
                })
                .collect();
            let expected = [(0, "idle"), (500, "prequeue"), (1_000, "active")];
            let after = [(2_000, "active"), (2_000, "active"), (2_000, "active"), (3_000, "idle")];
            let expected =
                expected.into_iter().chain(after).map(|(from, stage)| (from, Some(stage)));
            assert!(seen.into_iter().eq(expected), "{phases:?}");
            let of_prequeue = phases[1]["rules"].as_array().unwrap();
            assert!(of_prequeue.contains(&"queue_all".into()));
            assert_eq!(phases[1]["waits"], true);
            assert_eq!(phases[4]["rules"].as_array().unwrap().last().unwrap(), "50");
            assert_eq!(phases[6]["rules"].as_array().unwrap().last().unwrap(), "10");
        }
    }

    #[test]
    fn a_schedule_and_its_seeds_survive_the_encoding() {
        let plan = plan(0);
        let decoded = decode_schedule(&schedule_json(&plan.schedule), &plan.rules).unwrap();
        assert_eq!(RoomPlan::new(plan.rules.clone(), decoded), plan);
    }

    #[test]
    fn a_phase_never_begins_early() {
        assert_eq!(micros_after(Timestamp::from_nanos(1_001)), 2);
        assert_eq!(micros_after(Timestamp::from_nanos(1_000)), 1);
    }
}
