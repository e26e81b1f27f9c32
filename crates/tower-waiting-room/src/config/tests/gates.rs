//! Gates from a file equal the same gates from the builder.

use waiting_room_core::{
    error::ConfigErrorKind,
    gate::{AdaptiveRules, Aimd, Discipline, Gradient2, Tenants, Vegas},
};

use super::*;
use crate::{
    gate::{ClientDeadline, GateStatuses, ReleaseAt},
    request::Key,
    request::MissingKey,
};

fn error_of(gate: &str) -> String {
    refused(&format!(r#"{{ "name": "api", "concurrency": [{gate}] }}"#))
}

fn gate_of(gate: &str) -> Concurrency {
    let json = format!(r#"{{ "name": "api", "concurrency": [{{ {gate} }}] }}"#);
    let config: WaitingRoomConfig = serde_json::from_str(&json).unwrap();
    config.gates[0].clone()
}

#[test]
fn gates_in_a_file_equal_gates_in_code() {
    let json = r#"{
        "name": "api",
        "concurrency": [{
            "name": "reports", "limit": 4, "queue": 8, "max_wait": "900ms", "longest_retry": "9s",
            "discipline": { "fair_by": { "key": ["header.x-team", "path"], "shuffled": true } },
            "for_each": "remote_address", "missing_key": "refuse", "methods": ["POST"], "path": "/r",
            "path_prefix": "/", "release_at": "head", "min_rate": 9, "max_hold": "1m",
            "watched_bytes": 7, "client_deadline_ms": ["x-ms"], "client_deadline_s": ["x-s"],
            "statuses": "origin"
        }]
    }"#;
    let config: WaitingRoomConfig = serde_json::from_str(json).unwrap();
    let team = Key::header("x-team").and(Key::path());
    let code = Concurrency::limit(4)
        .name("reports")
        .queue(8)
        .max_wait(Duration::from_millis(900))
        .longest_retry(Duration::from_secs(9))
        .fair_by(team.clone(), Tenants::Shuffled);
    let gate = &config.gates[0];
    assert_eq!((&gate.rules, &gate.name), (&code.rules, &code.name));
    assert_eq!(gate.fair_by, Some(team));
    assert_eq!(
        (gate.for_each.clone(), gate.missing_key),
        (Some(Key::address()), MissingKey::Refuse)
    );
    assert_eq!((gate.release_at, gate.statuses), (ReleaseAt::Head, GateStatuses::Origin));
    assert_eq!(gate.min_rate, Some(MinRate(9)));
    assert_eq!((gate.max_hold, gate.watched_bytes), (Some(Duration::from_secs(60)), 7));
    let deadlines = [
        ClientDeadline::Grpc,
        ClientDeadline::Millis("x-ms".to_owned()),
        ClientDeadline::Seconds("x-s".to_owned()),
    ];
    assert_eq!(gate.deadlines, deadlines);
    assert!(!gate.is_for_all());
}

#[test]
fn a_gate_without_a_limit_has_to_be_explicit() {
    for (gate, limit) in
        [(r#""limit": "unlimited""#, None), (r#""limit": null"#, None), (r#""limit": 0"#, Some(0))]
    {
        assert_eq!(gate_of(gate).rules, Concurrency::limit(limit).rules, "{gate}");
    }
    let either = "either limit (a number or unlimited) or adaptive";
    for (gate, message) in [
        (r#"{ "queue": 8 }"#, format!("limit is missing, expected {either}")),
        (
            r#"{ "limit": 4, "adaptive": { "vegas": {} } }"#,
            format!("limit is given together with adaptive, expected {either}"),
        ),
        (r#"{ "limit": "many" }"#, "limit is neither a number".to_owned()),
        (r#"{ "limit": -1 }"#, "limit is neither a number".to_owned()),
    ] {
        let error = error_of(gate);
        assert!(error.contains(&message), "{gate}: {error}");
    }
}

#[test]
fn an_adaptive_limit_takes_its_rules_from_the_file() {
    let first = |kind: &str, rules: &str| {
        let gate = gate_of(&format!(r#""adaptive": {{ "{kind}": {{ {rules} }} }}"#));
        let limit = gate.adaptive.as_ref().unwrap()();
        (format!("{limit:?}"), limit.limit())
    };
    let all = r#""min": 2, "max": 90, "initial": 30, "latency_target": "40ms", "window": "3s""#;
    let rules = AdaptiveRules::new().min(2).max(90).initial(30);
    let rules = rules.latency_target(Duration::from_millis(40)).window(Duration::from_secs(3));
    assert_eq!(first("aimd", all), (format!("{:?}", Aimd::new(rules).unwrap()), 30));
    assert_eq!(first("gradient2", all), (format!("{:?}", Gradient2::new(rules).unwrap()), 30));
    assert_eq!(first("vegas", all), (format!("{:?}", Vegas::new(rules).unwrap()), 30));
    let default = Vegas::new(AdaptiveRules::new()).unwrap();
    assert_eq!(first("vegas", ""), (format!("{default:?}"), 20));
    for (adaptive, message) in [
        (r#"{ "vegas": { "min": 300 } }"#, "min is 300, expected at most max, which is 200"),
        (r#"{ "vegas": { "most": 300 } }"#, "unknown field `most`"),
        (r#"{ "tcp": {} }"#, "unknown variant `tcp`"),
    ] {
        let error = error_of(&format!(r#"{{ "adaptive": {adaptive} }}"#));
        assert!(error.contains(message), "{adaptive}: {error}");
    }
}

#[test]
fn a_permit_can_be_held_forever() {
    for none in [r#""none""#, "null"] {
        let gate = gate_of(&format!(r#""limit": 4, "min_rate": {none}, "max_hold": {none}"#));
        assert_eq!((gate.min_rate, gate.max_hold), (None, None), "{none}");
    }
    let gate = gate_of(r#""limit": 4"#);
    assert_eq!((gate.min_rate, gate.max_hold), (Some(MinRate(240)), None));
    for (field, message) in [
        ("min_rate", "min_rate is neither a number up to 4294967295 nor none"),
        ("max_hold", "max_hold is neither a duration nor none"),
    ] {
        let error = error_of(&format!(r#"{{ "limit": 4, "{field}": "never" }}"#));
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn impossible_gate_settings_are_named_with_both_values() {
    for (gate, message) in [
        (r#"{ "limit": 5000000 }"#, "limit is 5000000, expected at most 4194303"),
        (r#"{ "limit": 1, "name": "a b" }"#, "concurrency is \"a b\" in the rule \"a b\""),
        (
            r#"{ "limit": 1, "watched_bytes": 1048577 }"#,
            "watched_bytes is 1048577, expected at most 1048576",
        ),
        (
            r#"{ "limit": 1, "max_hold": "1ms" }"#,
            "max_hold is 1ms, expected at least 100 ms, or none",
        ),
        (r#"{ "limit": 1, "min_rate": 0 }"#, "min_rate is 0, expected at least 1, or none"),
        (
            r#"{ "limit": 1, "path": "x" }"#,
            "concurrency is \"x\" in the rule \"gate\", expected a path",
        ),
        (
            r#"{ "limit": 1, "for_each": "user" }"#,
            "key is \"user\" in the gate \"gate\", expected one of everyone",
        ),
        (r#"{ "limit": 1, "client_deadline_ms": ["a b"] }"#, "client_deadline is \"a b\""),
        (
            r#"{ "limit": 1 }, { "limit": 2 }"#,
            "concurrency is \"gate\" twice, expected a different name for each gate",
        ),
        (
            r#"{ "limit": 1, "max_wait": "2h" }"#,
            "max_wait is 7200s, expected more than 0 s and at most 3600 s",
        ),
        (r#"{ "limit": 1, "discipline": { "lifo": {} } }"#, "unknown variant `lifo`"),
    ] {
        let error = error_of(gate);
        assert!(error.contains(message), "{gate}: {error}");
    }
    let named = |len| {
        let gate = Concurrency::limit(1).name("x".repeat(len));
        WaitingRoomConfig::builder("api").concurrency(gate).build().is_ok()
    };
    assert_eq!([128, 129, 130].map(named), [true, false, false]);
}

#[test]
fn the_longest_hold_of_a_permit_is_bounded() {
    let build = |gate: Concurrency| WaitingRoomConfig::builder("api").concurrency(gate).build();
    let gate = || Concurrency::limit(9);
    let day = Duration::from_secs(86_400);
    build(gate().max_hold(day)).unwrap();
    build(gate().max_hold(Duration::from_millis(100))).unwrap();
    build(gate().min_rate(None).max_hold(None)).unwrap();
    let longer = day + Duration::from_nanos(1);
    for (gate, message) in [
        (gate().max_hold(longer), "max_hold is 86400.000000001s, expected at most 24 h, or none"),
        (
            gate().max_hold(Duration::MAX),
            "max_hold is 18446744073709551615.999999999s, expected at",
        ),
    ] {
        let error = build(gate).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    }
}

#[test]
fn turns_and_classes_need_a_matching_discipline() {
    let build = |gate: Concurrency| {
        let config = WaitingRoomConfig::builder("api").concurrency(gate).build();
        config.map_err(|error| error.field())
    };
    let gate = || Concurrency::limit(9);
    let second = Duration::from_secs(1);
    assert!(build(gate().fair_by(Key::path(), Tenants::Each)).is_ok());
    assert!(build(gate().classes([1, 0], second, |_| 0)).is_ok());
    let both = gate().classes([1, 0], second, |_| 0).fair_by(Key::path(), Tenants::Each);
    assert_eq!(build(both).unwrap_err(), "discipline");
    let other = gate().fair_by(Key::path(), Tenants::Each).discipline(Discipline::Fifo);
    assert_eq!(build(other).unwrap_err(), "discipline");
    let alone = gate().discipline(Discipline::FairByTenant(Tenants::Each));
    assert_eq!(build(alone).unwrap_err(), "discipline");
}
