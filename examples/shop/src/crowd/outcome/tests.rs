use std::sync::Arc;

use serde_json::Value;
use waiting_room_sim::{DrawTally, Limits, Seen, VisitorNo};

use super::*;
use crate::crowd::{
    draw::Recomputed, flight::Flight, idle::IdleSlots, trips::Purpose, witness::Fate,
};

const AT_30_S: Duration = Duration::from_secs(30);

/// The outcome for a room with one slot that admits two visitors.
fn broken(restart: Option<Restart>) -> Outcome {
    let witness = Arc::new(Witness::new(Limits {
        total_active_users: 1,
        new_users_per_minute: Some(5),
        session_duration: Duration::from_secs(60),
        place_retention: Duration::from_secs(300),
        refresh_interval: Duration::from_secs(20),
    }));
    for number in [1, 2] {
        witness.came();
        Flight::departs(&witness, VisitorNo(number), Purpose::GetIn).answered(Seen::Admitted);
        witness.gone(Fate::Admitted);
    }
    drop(Flight::departs(&witness, VisitorNo(3), Purpose::GetIn));
    let failures = witness.glimpse().failures;
    Outcome {
        report: witness.report(None).with_seed(7),
        restart,
        one_address: None,
        sale: None,
        failures,
        form: Form::Json,
    }
}

#[test]
fn a_broken_promise_is_named_and_fails_the_run() {
    let outcome = broken(None);
    assert!(!outcome.is_kept());
    assert_eq!(outcome.verdict(), "BROKEN: max_active");
}

#[test]
fn only_a_room_that_admits_anew_is_excused_from_its_limits() {
    let after = |recovery| broken(Some(Restart { at: AT_30_S, recovery }));
    assert!(!after(RecoveryName::Pause).is_kept());
    let excused = after(RecoveryName::Admit);
    assert!(excused.is_kept());
    assert!(excused.verdict().starts_with("every promise but the limits"));
}

#[test]
fn the_json_has_every_documented_field() {
    let outcome = broken(None);
    let json: Value = serde_json::to_value(outcome.document()).unwrap();
    for field in [
        "total_active_users",
        "new_users_per_minute",
        "session_duration_s",
        "visitors",
        "admitted",
        "refused",
        "abandoned",
        "max_active",
        "max_new_in_any_60s",
        "queued_while_free",
        "order_inversions",
        "lost_places",
        "wait_p50_s",
        "wait_p95_s",
        "seed",
    ] {
        assert!(json[field].is_number(), "{field} in {json}");
    }
    assert_eq!((&json["visitors"], &json["failed_requests"]), (&2.into(), &1.into()));
    assert_eq!(json["violations"], Value::from(vec!["max_active"]));
}

#[test]
fn a_sale_adds_its_figures() {
    let limits = broken(None).report;
    let sale = SaleOutcome {
        bias: DrawTally::new(32, 8).bias(),
        idle: IdleSlots { total: 1_000.0, for_push: 25.0, for_polls: 5.0 },
        draw: Recomputed { entrants: 7, recomputed: 7, ..Recomputed::default() },
        first_position_p95: Duration::from_millis(1_500),
        placed: 9,
    };
    let outcome = Outcome { sale: Some(sale), report: limits, ..broken(None) };
    let json: Value = serde_json::to_value(outcome.document()).unwrap();
    for (field, value) in [
        ("idle_slot_seconds", 25.0),
        ("idle_slot_share", 0.025),
        ("idle_for_polls_slot_seconds", 5.0),
        ("slot_seconds", 1_000.0),
        ("first_position_p95_s", 1.5),
    ] {
        assert_eq!(json[field], value, "{field} in {json}");
    }
    assert!(json["draw_bias_p"].is_number() && json["draws_recomputed"] == 7, "{json}");
    assert_eq!(json["violations"], Value::from(vec!["max_active", "idle_slot_seconds"]));
    let table = outcome.table().to_string();
    assert!(table.contains("25 s = 2.50 %") && table.contains("≤ 1 %"), "{table}");
}

#[test]
fn the_table_shows_observations_and_promises() {
    let table = broken(None).table().to_string();
    let row = table.lines().find(|line| line.contains("active at once")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>().join(" "),
        "| active at once | 2 | ≤ 1 |"
    );
}
