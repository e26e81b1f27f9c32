use std::sync::Arc;

use serde_json::Value;
use waiting_room_sim::{Limits, Seen, VisitorNo};

use super::*;
use crate::crowd::{
    flight::{Flight, Purpose},
    witness::Fate,
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
fn a_broken_promise_is_named_and_nothing_is_well() {
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
fn the_json_has_every_field_that_was_promised() {
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
fn the_table_says_what_was_seen_and_what_was_promised() {
    let table = broken(None).table().to_string();
    let row = table.lines().find(|line| line.contains("active at once")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>().join(" "),
        "| active at once | 2 | ≤ 1 |"
    );
}
