//! Input that Cloudflare's API cannot return is an error that names the field.

use super::*;
use tower_waiting_room::respond::Page;

#[test]
fn an_unknown_field_is_unsupported() {
    let fields = json!({ "colour": "blue", "nested": { "a": 1 }, "list": [1, 2], "null": null });
    let room = room(fields);
    let list: Vec<_> = room.unsupported().into_iter().map(ToString::to_string).collect();
    assert!(
        list.ends_with(&[
            "colour: \"blue\" is the value of an unknown field".to_owned(),
            "list: an array of 2 elements is the value of an unknown field".to_owned(),
            "nested: an object with 1 fields is the value of an unknown field".to_owned(),
        ]),
        "{list:?}"
    );
    assert!(room.config().is_ok());
}

#[test]
fn an_unknown_command_is_unsupported() {
    let fields = json!({ "enabled_origin_commands": ["revoke", "renew", 7] });
    assert_eq!(unsupported(fields)[..2], ["enabled_origin_commands", "enabled_origin_commands"]);
}

#[test]
fn a_negative_number_is_an_error() {
    assert_eq!(
        error(json!({ "total_active_users": -5 })),
        "total_active_users is -5, expected a number from 1 to 10000000"
    );
    assert_eq!(
        error(json!({ "session_duration": -1 })),
        "session_duration is -1, expected minutes, for a duration such as \"1m 30s\", from 1 s to 86400 s"
    );
}

#[test]
fn a_number_given_as_a_string_is_an_error() {
    assert_eq!(
        error(json!({ "new_users_per_minute": "200" })),
        "new_users_per_minute is \"200\", expected a number from 1 to 10000000 or \"off\""
    );
    assert_eq!(
        error(json!({ "queueing_status_code": "429" })),
        "queueing_status_code is \"429\", expected 200, 202 or 429"
    );
}

#[test]
fn a_number_out_of_bounds_or_with_a_fraction_is_an_error() {
    for number in [json!(0), json!(1.5), json!(2_147_483_647), json!(1e300), json!(u64::MAX)] {
        let error = error(json!({ "total_active_users": number }));
        assert!(
            error.starts_with("total_active_users is ") && error.contains("10000000"),
            "{error}"
        );
    }
    assert_eq!(
        error(json!({ "queueing_status_code": 404 })),
        "queueing_status_code is 404, expected 200, 202 or 429"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_an_error() {
    for (fields, message) in [
        (json!({ "name": 7 }), "name is 7, expected a string"),
        (json!({ "queue_all": "yes" }), "queue_all is \"yes\", expected true or false"),
        (json!({ "suspended": 1 }), "suspended is 1, expected true or false"),
        (
            json!({ "queueing_method": "lifo" }),
            "queueing_method is \"lifo\", expected one of fifo, passthrough, random, reject",
        ),
        (
            json!({ "cookie_attributes": "lax" }),
            "cookie_attributes is \"lax\" in cookie_attributes, expected an object",
        ),
        (
            json!({ "cookie_attributes": { "samesite": true } }),
            "samesite is true in cookie_attributes, expected one of auto, lax, none, strict",
        ),
        (
            json!({ "additional_routes": {} }),
            "additional_routes is an object with 0 fields, expected an array",
        ),
        (
            json!({ "turnstile_mode": "loud" }),
            "turnstile_mode is \"loud\", expected one of off, invisible, visible_non_interactive, visible_managed",
        ),
        (
            json!({ "custom_page_html": [] }),
            "custom_page_html is an array of 0 elements, expected a string",
        ),
    ] {
        assert_eq!(error(fields), message);
    }
}

#[test]
fn a_missing_field_is_an_error() {
    let error = |json: &str| WaitingRoom::from_json(json).unwrap_err().to_string();
    assert_eq!(error("{}"), "name is missing, expected a value");
    assert_eq!(
        error(r#"{ "name": "shop", "new_users_per_minute": 200 }"#),
        "total_active_users is missing, expected a value"
    );
    assert_eq!(
        error(r#"{ "name": "shop", "total_active_users": 200, "new_users_per_minute": null }"#),
        "new_users_per_minute is missing, expected a value"
    );
}

/// One bad element of a list does not make the room unusable.
#[test]
fn a_bad_rule_or_route_is_left_out_and_the_others_are_not() {
    let rule = |expression: &str| json!({ "expression": expression });
    let many: Vec<_> = (0..100).map(|i| format!("\"/{i}\"")).collect();
    let rules = json!([
        {},
        7,
        rule("ip.src eq 300.0.2.1"),
        rule("ip.src eq 10.0.0.1/8"),
        rule("http.host eq \"a b\""),
        rule("http.request.uri.path eq \"login\""),
        rule("http.request.method eq \"P T\""),
        rule("ip.src in {192.0.2.1 192.0.2.999}"),
        rule(&format!("http.request.uri.path in {{{}}}", many.join(" "))),
    ]);
    let fields = json!({ "additional_routes": ["x", { "host": "a.example" }] });
    let room = room(fields).with_rules(&rules.to_string()).unwrap();
    room.config().unwrap();
    let bypass = room.fields().remove("bypass").unwrap();
    assert_eq!(bypass[0], json!({ "name": "rule-8", "network": "192.0.2.1" }));
    assert_eq!(bypass.as_array().unwrap().len(), 100);
    let list: Vec<_> = room.unsupported().into_iter().map(ToString::to_string).collect();
    let begins = [
        "additional_routes[0]: it is left out, because additional_routes is \"x\" in additional_routes[0], expected an object",
        "additional_routes[1]: a.example/: add a clone",
        "rules[0]: it is left out, because expression is missing in rules[0], expected a value",
        "rules[1]: it is left out, because rules is 7 in rules[1], expected an object",
        "rules[2].expression: it is left out, because configuration is ",
        "rules[3].expression: it is left out, because configuration is ",
        "rules[4].expression: it is left out, because configuration is ",
        "rules[5].expression: it is left out, because configuration is ",
        "rules[6].expression: it is left out, because configuration is ",
        "rules[7].expression: it is left out, because configuration is ",
        "rules[8].expression: it is left out, because bypass is one rule too many, expected at most 100",
    ];
    let list = &list[list.len() - begins.len()..];
    for (given, begin) in list.iter().zip(begins) {
        assert!(given.starts_with(begin), "{given}");
    }
}

#[test]
fn an_invalid_room_name_is_an_error() {
    let error = room(json!({ "name": "a b" })).config().unwrap_err();
    assert!(error.to_string().contains("name is \"a b\""), "{error}");
    let suffix = room(json!({ "cookie_suffix": "a b;" })).config().unwrap_err();
    assert!(suffix.to_string().contains("cookie_name is \"__Host-wr-a b;\""), "{suffix}");
}

#[test]
fn a_page_of_more_than_1_mib_or_with_a_mistake_is_an_error() {
    let page = |html: String| room(json!({ "custom_page_html": html })).config();
    assert!(page("a".repeat(Page::MAX_TEMPLATE_LEN)).is_ok());
    let error = page("a".repeat(Page::MAX_TEMPLATE_LEN + 1)).unwrap_err().to_string();
    assert!(error.contains("page is a template of 1048577 bytes, expected at most 1048576 bytes"));
    let error = page("\n{{waitTimes}}".to_owned()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("\"waitTimes\""), "{error}");
}

#[test]
fn input_that_is_not_a_single_room_is_an_error() {
    let error = |json: &str| WaitingRoom::from_json(json).unwrap_err().to_string();
    assert!(error("<html>").starts_with("waiting_room is a text that is not JSON (expected value"));
    assert!(error(&"[".repeat(100_000)).contains("recursion limit"));
    assert_eq!(error("[]"), "waiting_room is a list of 0 rooms, expected one room");
    assert_eq!(error("[{}, {}]"), "waiting_room is a list of 2 rooms, expected one room");
    assert_eq!(error("7"), "waiting_room is 7, expected an object");
    assert_eq!(error(r#"{ "result": null }"#), "waiting_room is null, expected an object");
    assert_eq!(
        error(r#"{ "success": false, "errors": [{ "message": "Invalid zone" }], "result": null }"#),
        "waiting_room is an error of the API (\"Invalid zone\"), expected a result"
    );
    assert_eq!(
        error(r#"{ "waiting_room": {}, "rulez": [] }"#),
        "waiting_room is \"rulez\" beside it, expected only rules and events beside it"
    );
    let long = " ".repeat(WaitingRoom::MAX_JSON_LEN + 1);
    assert_eq!(error(&long), "waiting_room is 16777217 bytes of JSON, expected at most 16777216");
    assert!(
        room(json!({})).with_rules(&long).is_err() && room(json!({})).with_events(&long).is_err()
    );
}

#[test]
fn too_many_rules_events_or_routes_are_an_error() {
    let list = |element: Value, times: usize| Value::Array(vec![element; times]).to_string();
    let rules = list(json!({ "expression": "ip.src eq 192.0.2.1" }), 101);
    assert_eq!(
        room(json!({})).with_rules(&rules).unwrap_err().to_string(),
        "rules is 101 elements, expected at most 100"
    );
    assert_eq!(
        room(json!({})).with_events(&list(json!({}), 65)).unwrap_err().to_string(),
        "events is 65 elements, expected at most 64"
    );
    assert!(error(json!({ "additional_routes": vec![json!({}); 1_001] })).contains("at most 1000"));
}

#[test]
fn a_value_of_any_length_is_shortened_in_messages() {
    let long = "é".repeat(1_000_000);
    let error = error(json!({ "total_active_users": long }));
    assert!(error.len() < 300, "{}", error.len());
    let room = room(json!({ (long.clone()): long, "x": long }));
    let all = room.unsupported();
    assert!(all.iter().all(|unsupported| unsupported.to_string().len() < 600));
}
