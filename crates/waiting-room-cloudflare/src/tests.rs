//! A Cloudflare room becomes the equivalent configuration, and everything else is listed by name.

mod bad_input;
mod events;
mod expressions;

use std::time::Duration;

use serde_json::{Map, Value, json};
use tower_waiting_room::WaitingRoomConfig;
use waiting_room_core::room::{QueueingMethod, RoomMode, SessionRenewal};

use super::*;

/// Returns the fields that every room has, plus these fields.
fn with(fields: Value) -> Value {
    let mut room = json!({
        "name": "shop", "total_active_users": 300, "new_users_per_minute": 200,
    });
    room.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    room
}

#[track_caller]
fn room(fields: Value) -> WaitingRoom {
    WaitingRoom::from_json(&with(fields).to_string()).unwrap()
}

#[track_caller]
fn error(fields: Value) -> String {
    WaitingRoom::from_json(&with(fields).to_string()).unwrap_err().to_string()
}

#[track_caller]
fn config(fields: Value) -> WaitingRoomConfig {
    room(fields).config().unwrap()
}

/// Returns the fields of the configuration file, which has to be valid.
#[track_caller]
fn file(fields: Value) -> Map<String, Value> {
    let room = room(fields);
    room.config().unwrap();
    room.fields()
}

/// Returns the fields that do not carry over.
#[track_caller]
fn unsupported(fields: Value) -> Vec<String> {
    room(fields).unsupported().into_iter().map(|unsupported| unsupported.field.clone()).collect()
}

/// A room as `GET /zones/{zone}/waiting_rooms/{room}` returns it.
const ROOM: &str = r#"{
    "success": true, "errors": [], "messages": [],
    "result": {
        "id": "699d98642c564d2e855e9661899b7252",
        "created_on": "2014-01-01T05:20:00.12345Z", "modified_on": "2014-01-01T05:20:00.12345Z",
        "name": "production_webinar", "description": "Production - DO NOT MODIFY",
        "host": "shop.example.com", "path": "/shop/checkout", "suspended": false,
        "new_users_per_minute": 200, "total_active_users": 250, "session_duration": 10,
        "disable_session_renewal": true, "queue_all": true, "queueing_method": "random",
        "queueing_status_code": 202, "json_response_enabled": true,
        "custom_page_html": "{{#waitTimeKnown}} {{waitTime}} mins {{/waitTimeKnown}} {{^waitTimeKnown}} Queue all enabled {{/waitTimeKnown}}",
        "default_template_language": "es-ES", "cookie_suffix": "abcd",
        "cookie_attributes": { "samesite": "strict", "secure": "always" },
        "additional_routes": [
            { "host": "shop2.example.com", "path": "/shop2/checkout" }, { "host": "shop3.example.com" }
        ],
        "enabled_origin_commands": ["revoke"],
        "turnstile_mode": "invisible", "turnstile_action": "log",
        "next_event_start_time": null, "next_event_prequeue_start_time": "2021-09-28T15:00:00.000Z"
    }
}"#;

#[test]
fn a_room_with_every_field_equals_the_configuration_from_the_builder() {
    let room = WaitingRoom::from_json(ROOM).unwrap();
    let built = WaitingRoomConfig::builder("production_webinar")
        .total_active_users(250)
        .new_users_per_minute(200)
        .session_duration(Duration::from_secs(600))
        .session_renewal(SessionRenewal::Fixed)
        .queueing_method(QueueingMethod::Random)
        .mode(RoomMode::QueueAll)
        .build()
        .unwrap();
    assert_eq!(room.config().unwrap().room(), built.room());
    let file = room.fields();
    assert_eq!(file["cookie"], json!({ "name": "__Host-wr-abcd", "same_site": "strict" }));
    assert_eq!(file["json_profile"], "cloudflare");
    assert_eq!(file["status"], json!({ "navigation": 202, "json": 202 }));
}

#[test]
fn unsupported_settings_are_named_with_a_reason() {
    let room = WaitingRoom::from_json(ROOM).unwrap();
    let list: Vec<_> = room.unsupported().into_iter().map(ToString::to_string).collect();
    assert_eq!(
        list,
        [
            "host: \"shop.example.com\": the layer covers every host that reaches it; add it to \
             the routes of this host only",
            "path: \"/shop/checkout\": the layer covers every path that reaches it; add it to the \
             routes below this path, for example with Router::nest",
            "additional_routes[0]: shop2.example.com/shop2/checkout: add a clone of the same layer \
             to these routes; hosts that share the room need a cookie with a domain",
            "additional_routes[1]: shop3.example.com/: add a clone of the same layer to these \
             routes; hosts that share the room need a cookie with a domain",
            "default_template_language: \"es-ES\": the default page is in the language that each \
             visitor's browser asks for, if the layer has it, and in English otherwise",
            "turnstile_mode: \"invisible\": Turnstile is not part of this crate; challenge \
             newcomers with WaitingRoomConfigBuilder::challenge, and test their cookies with \
             cookie_test",
        ]
    );
}

#[test]
fn absent_fields_have_the_defaults_of_cloudflare() {
    let config = config(json!({}));
    let built = WaitingRoomConfig::builder("shop")
        .total_active_users(300)
        .new_users_per_minute(200)
        .session_duration(Duration::from_secs(300))
        .queueing_method(QueueingMethod::Fifo)
        .mode(RoomMode::Auto);
    assert_eq!(config.room(), built.build().unwrap().room());
    let file = file(json!({}));
    assert_eq!(file["status"], json!({ "navigation": 200 }));
    assert!(!file.contains_key("json_profile") && !file.contains_key("cookie"), "{file:?}");
    let null = json!({ "queueing_method": null, "cookie_attributes": null, "rules": null });
    assert_eq!(self::config(null).room(), config.room());
}

#[test]
fn every_method_and_mode_carries_over() {
    let rules = |fields| {
        let config = config(fields);
        let rules = config.room().unwrap();
        (rules.queueing_method, rules.mode)
    };
    let method = |name: &str| rules(json!({ "queueing_method": name }));
    assert_eq!(method("fifo"), (QueueingMethod::Fifo, RoomMode::Auto));
    assert_eq!(method("FIFO"), (QueueingMethod::Fifo, RoomMode::Auto));
    assert_eq!(method("random"), (QueueingMethod::Random, RoomMode::Auto));
    assert_eq!(method("passthrough"), (QueueingMethod::Passthrough, RoomMode::Auto));
    // Cloudflare's `reject` admits no visitor, even if a slot is free.
    assert_eq!(method("reject"), (QueueingMethod::Reject, RoomMode::QueueAll));
    let queue_all = json!({ "queueing_method": "reject", "queue_all": true });
    assert_eq!(rules(queue_all), (QueueingMethod::Fifo, RoomMode::QueueAll));
    let suspended = json!({ "queue_all": true, "suspended": true });
    assert_eq!(rules(suspended), (QueueingMethod::Fifo, RoomMode::Suspended));
}

#[test]
fn every_attribute_of_the_cookie_carries_over() {
    let cookie = |fields| file(fields).remove("cookie");
    let attributes = |same_site: &str, secure: &str| {
        cookie(json!({ "cookie_attributes": { "samesite": same_site, "secure": secure } }))
    };
    assert_eq!(attributes("lax", "auto"), Some(json!({ "same_site": "lax" })));
    assert_eq!(attributes("auto", "never"), Some(json!({ "insecure": true })));
    let framed = json!({ "same_site": "none", "partitioned": true });
    assert_eq!(attributes("none", "always"), Some(framed));
    let insecure = json!({ "cookie_suffix": "a", "cookie_attributes": { "secure": "never" } });
    assert_eq!(cookie(insecure), Some(json!({ "insecure": true, "name": "wr-a" })));
    assert_eq!(
        error(json!({ "cookie_attributes": { "samesite": "none", "secure": "never" } })),
        "secure is \"never\" in cookie_attributes, expected \"always\", because samesite is \"none\""
    );
    let auto = json!({ "cookie_attributes": { "samesite": "auto", "secure": "auto" } });
    assert_eq!(unsupported(auto), ["cookie_attributes.samesite"]);
}

#[test]
fn turnstile_is_unsupported_unless_it_is_off() {
    assert!(unsupported(json!({ "turnstile_mode": "off", "turnstile_action": "log" })).len() <= 1);
    let fields =
        json!({ "turnstile_mode": "visible_managed", "turnstile_action": "infinite_queue" });
    assert!(unsupported(fields).ends_with(&["turnstile_mode".into(), "turnstile_action".into()]));
}

#[test]
fn simple_rules_become_bypass_rules() {
    let room = room(json!({})).with_rules(
        r#"{ "success": true, "result": [
            { "id": "1", "version": "1", "action": "bypass_waiting_room", "enabled": true,
              "description": "subpath bypass!", "last_updated": "2014-01-01T05:20:00.12345Z",
              "expression": "starts_with(http.request.uri.path, \"/bypassme\") or ends_with(http.request.uri.path, \".js\")" },
            { "action": "bypass_waiting_room", "expression": "ip.src in $bypass_ip_list" },
            { "action": "bypass_waiting_room",
              "expression": "http.request.uri.path eq \"/admin\" and ip.src in {203.0.113.0/24 2001:db8::/32}" },
            { "action": "bypass_waiting_room", "enabled": false, "expression": "http.host eq \"a.example\"" }
        ] }"#,
    );
    let room = room.unwrap();
    room.config().unwrap();
    let admin = |network: &str| json!({ "name": "rule-3", "all": [{ "path": "/admin" }, { "network": network }] });
    let prefix = json!({ "name": "subpath-bypass", "path_prefix": "/bypassme" });
    let rules = [prefix, admin("203.0.113.0/24"), admin("2001:db8::/32")];
    assert_eq!(room.fields()["bypass"], json!(rules));
    let list: Vec<_> = room.unsupported().into_iter().map(ToString::to_string).collect();
    assert_eq!(
        list[list.len() - 3..],
        [
            "rules[0].expression: no bypass rule in a file can express \
             `ends_with(http.request.uri.path, \".js\")`; use Bypass::when in code, and note that \
             a client can append the ending to any path",
            "rules[1].expression: no bypass rule in a file can express `ip.src in \
             $bypass_ip_list`; write the addresses of the list into the file",
            "rules[3].expression: the rule is not enabled, so it is left out: http.host eq \
             \"a.example\"",
        ]
    );
}

#[test]
fn the_file_is_the_configuration() {
    let all = format!(
        r#"{{ "waiting_room": {ROOM}, "rules": [
            {{ "expression": "http.request.uri.path eq \"/a\" and ip.src eq 192.0.2.1" }},
            {{ "expression": "http.request.method in {{\"OPTIONS\" \"TRACE\"}}" }}
        ] }}"#
    );
    let room: WaitingRoom = serde_json::from_str(&all).unwrap();
    let file = room.to_toml().unwrap();
    let read: WaitingRoomConfig = toml::from_str(&file).unwrap();
    let config = room.config().unwrap();
    assert_eq!(read.room(), config.room());
    let read: Map<String, Value> = toml::from_str(&file).unwrap();
    assert_eq!(read, room.fields());
    assert_eq!(read["bypass"].as_array().unwrap().len(), 3);
    assert!(file.contains("mustache_page = "), "{file}");
}
