//! Every configuration that was built is valid, whether it comes from code or from a file.

mod gates;
mod rates;
mod schema;

use std::time::Duration;

use http::StatusCode;
use waiting_room_core::{
    RoomRules,
    room::{CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Shares},
};

use super::*;
use crate::{
    gate::Concurrency,
    rate::{RateConfig, RateLimit},
    rate_headers::RateHeaders,
    request::MinRate,
    request::{ClientIp, ClientKind},
    respond::JsonProfile,
    token::{CookieSettings, KeyRing, SameSite},
};

#[track_caller]
fn refused(json: &str) -> String {
    serde_json::from_str::<WaitingRoomConfig>(json).unwrap_err().to_string()
}

#[test]
fn a_rule_in_a_file_may_have_several_tests() {
    let file = |rule: &str| {
        format!(r#"{{ "name": "shop", "total_active_users": 1, "bypass": [{rule}] }}"#)
    };
    let all = |tests: &str| file(&format!(r#"{{ "name": "admin", "all": [{tests}] }}"#));
    let path = r#"{ "path_prefix": "/admin/" }"#;
    let both = all(&format!(r#"{path}, {{ "network": "203.0.113.0/24" }}"#));
    let config: WaitingRoomConfig = serde_json::from_str(&both).unwrap();
    assert!(config.bypass[0].needs_address() && config.bypass[0].name() == "admin");
    for (tests, message) in [
        (String::new(), "no test in the rule \"admin\", expected at least one"),
        (format!(r#"{{ "all": [{path}] }}"#), "all nested in all in the rule \"admin\", expected"),
        ([path; 17].join(","), "17 tests in the rule \"admin\", expected at most 16"),
        (r#"{ "method": "G T" }"#.to_owned(), "\"G T\" in the rule \"admin\", expected a method"),
        (r#"{ "network": "x" }"#.to_owned(), "\"x\" in the rule \"admin\", expected an address"),
    ] {
        let error = refused(&all(&tests));
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn the_paths_to_leave_and_to_transfer_may_be_set_in_a_file() {
    let file = |transfer: &str| {
        let paths = format!(r#""leave_path": "/leave", "transfer_path": "{transfer}""#);
        format!(r#"{{ "name": "shop", "total_active_users": 1, {paths} }}"#)
    };
    let config: WaitingRoomConfig = serde_json::from_str(&file("/transfer")).unwrap();
    let options = config.room_options;
    let paths = [options.leave_path, options.transfer_path];
    let paths = paths.map(|path| path.unwrap().as_str().to_owned());
    assert_eq!(paths, ["/leave", "/transfer"]);
    assert!(refused(&file("/leave")).contains("expected a path other than leave_path"));
}

#[test]
fn a_grace_may_be_set_in_a_file() {
    let file = |grace: &str| {
        format!(r#"{{ "name": "shop", "total_active_users": 1, "grace": "{grace}" }}"#)
    };
    let config: WaitingRoomConfig = serde_json::from_str(&file("2m")).unwrap();
    assert_eq!(config.room_options.people.grace, Some(std::time::Duration::from_secs(120)));
    assert!(
        refused(&file("6m")).contains("grace is 360s, expected at most session_duration, 300s")
    );
}

#[test]
fn a_partitioned_cookie_may_be_set_in_a_file() {
    let file = |more: &str| {
        let cookie = format!(r#"{{ "same_site": "none", "partitioned": true{more} }}"#);
        format!(r#"{{ "name": "shop", "total_active_users": 1, "cookie": {cookie} }}"#)
    };
    let config: WaitingRoomConfig = serde_json::from_str(&file("")).unwrap();
    let built = CookieSettings::new().same_site(SameSite::None).partitioned();
    assert_eq!(config.room_options.cookie, built);
    let insecure = refused(&file(r#", "insecure": true"#));
    assert!(insecure.contains("expected Lax or Strict for an insecure cookie"), "{insecure}");
}

#[test]
fn a_page_in_a_file_is_in_one_language() {
    let file = |pages: &str| format!(r#"{{ "name": "shop", "total_active_users": 1, {pages} }}"#);
    let page = file(r#""mustache_page": "{{waitTime}}""#);
    assert!(serde_json::from_str::<WaitingRoomConfig>(&page).is_ok());
    assert!(refused(&file(r#""mustache_page": "{{wait}}""#)).contains("line 1"));
    let both = refused(&file(r#""page": "x", "mustache_page": "x""#));
    assert!(both.contains("mustache_page is given, as is page, expected only one"), "{both}");
}

#[test]
fn a_file_and_the_builder_give_the_same_configuration() {
    let from_file: WaitingRoomConfig = serde_json::from_str(
        r#"{
            "name": "shop", "total_active_users": 200, "new_users_per_minute": 100,
            "session_duration": "2m 30s", "session_renewal": "fixed",
            "queueing_method": "random", "mode": "queue_all", "line_capacity": 500,
            "shares": { "shadow": 50 },
            "place_retention": "10m", "refresh_interval": "30s", "cookie_test": 80,
            "recovery": "pause",
            "longest_session_duration": "2h",
            "keys": ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="],
            "cookie": { "insecure": true, "same_site": "strict" },
            "bypass": [
                { "name": "health", "path": "/healthz" }, { "name": "probe", "method": "TRACE" },
                { "name": "status", "host": "status.example" },
                { "name": "office", "network": "203.0.113.0/24" }
            ],
            "preflight": "enter_room", "status": { "navigation": 200 },
            "json_profile": "cloudflare", "enforcement": "shadow", "debug_header": "on"
        }"#,
    )
    .unwrap();
    let built = WaitingRoomConfig::builder("shop")
        .total_active_users(200)
        .new_users_per_minute(100)
        .session_duration(Duration::from_secs(150))
        .session_renewal(SessionRenewal::Fixed)
        .queueing_method(QueueingMethod::Random)
        .mode(RoomMode::QueueAll)
        .line_capacity(500)
        .shares(Shares::Shadow(50))
        .place_retention(Duration::from_secs(600))
        .refresh_interval(Duration::from_secs(30))
        .cookie_test(CookieTest::AboveUtilization(80))
        .recovery(Recovery::Pause)
        .longest_session_duration(Duration::from_secs(7_200))
        .keys(KeyRing::new(crate::TokenKey::random()))
        .build()
        .unwrap();
    assert_eq!(from_file.room, built.room);
    assert_eq!(from_file.bypass.len(), 4);
    let shown: Vec<_> = from_file.bypass.iter().map(|rule| rule.name().clone()).collect();
    assert_eq!(shown, ["health", "probe", "status", "office"]);
    assert_eq!(from_file.preflight, Preflight::EnterRoom);
    assert_eq!(built.preflight, Preflight::SkipRoom);
    assert_eq!(from_file.statuses.of(ClientKind::Navigation), StatusCode::OK);
    assert_eq!(from_file.json_profile, JsonProfile::Cloudflare);
    assert_eq!(from_file.enforcement, Enforcement::Shadow);
    assert!(from_file.room_options.keys.is_some());
}

#[test]
fn a_page_in_a_file_is_a_template_or_settings() {
    let config = |page: &str| {
        let file = format!(
            r##"{{ "name": "shop", "total_active_users": 1, "page": {page},
                 "cookie": {{ "same_site": "none", "partitioned": true }} }}"##
        );
        serde_json::from_str::<WaitingRoomConfig>(&file).map_err(|error| error.to_string())
    };
    let settings = r##"{ "title": "Festival", "logo": "data:image/png;base64,AAAA", "notice": "Late.",
        "accent": { "light": "#0b6e4f", "dark": "#5fd3a8" }, "support": "mailto:a@b.example",
        "default_language": "de", "texts": { "de": "headline-waiting = Sie warten\n" },
        "content_security_policy": "style-src 'nonce-{nonce}'" }"##;
    let page = format!("{:?}", config(settings).unwrap().page);
    for part in ["Festival", "AAAA", "Late.", "#0b6e4f", "mailto:a@b.example"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(config(r#""<h1>{{ title }}</h1>""#).is_ok());
    for (wrong, message) in [
        (r#"{ "titel": "x" }"#, "unknown field `titel`"),
        ("7", "expected the source text of a template, or the settings of the page"),
        (r#"{ "logo": "logo.png" }"#, "page.logo is \"logo.png\", expected an image"),
        (
            r##"{ "accent": { "light": "#fff", "dark": "#fff" } }"##,
            "#ffffff in light mode is 1.00:1",
        ),
        (r#"{ "texts": { "en": "x = y" } }"#, "the unknown sentence `x`"),
        (r#"{ "default_language": "xx" }"#, "page.default_language is \"xx\", expected one of ar,"),
        (r#"{ "support": "x" }"#, "page.support is \"x\""),
        (r#"{ "notice": "" }"#, "page.notice is empty"),
    ] {
        let error = config(wrong).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn shares_is_a_number_or_off_or_a_number_in_shadow() {
    let places = |json: &str| {
        let file = format!(r#"{{ "name": "shop", "total_active_users": 1{json} }}"#);
        let config: Result<WaitingRoomConfig, _> = serde_json::from_str(&file);
        config.map(|config| config.room.unwrap().shares).map_err(|error| error.to_string())
    };
    let of = |value: &str| places(&format!(r#", "shares": {value}"#));
    assert_eq!(places(""), Ok(Shares::Auto));
    assert_eq!(of(r#""auto""#), Ok(Shares::Auto));
    assert_eq!(of("20"), Ok(Shares::Limit(20)));
    assert_eq!(of(r#""off""#), Ok(Shares::Off));
    assert_eq!(of(r#"{ "shadow": 20 }"#), Ok(Shares::Shadow(20)));
    assert!(of("0").unwrap_err().starts_with("shares is 0, expected at least 1"));
    for (wrong, given) in [
        (r#""of""#, "\"of\""),
        ("-1", "-1"),
        (r#"{ "limit": 3 }"#, "another table"),
        (r#"{ "shadow": 3, "limit": 3 }"#, "a table with several fields"),
        ("true", "true"),
    ] {
        let expected = format!(
            "shares is {given}, expected a number from 1 to 10000000, \
             {{ \"shadow\": number }}, \"auto\" or \"off\""
        );
        assert!(of(wrong).unwrap_err().starts_with(&expected), "{wrong}: {:?}", of(wrong));
    }
}

/// If this were not an error, a forgotten field would silently remove the room, and only the limits
/// would be in effect.
#[test]
fn options_of_a_room_need_the_number_of_its_visitors() {
    let limits = r#""rate_limits": [{ "key": "remote_address", "rate_limit": {
                     "name": "a", "unit": "minute", "requests_per_unit": 1 } }]"#;
    let error = refused(&format!(r#"{{ "name": "shop", {limits}, "session_duration": "30s" }}"#));
    assert!(error.contains("total_active_users is missing"), "{error}");
    let file = format!(r#"{{ "name": "shop", {limits} }}"#);
    let config: WaitingRoomConfig = serde_json::from_str(&file).unwrap();
    assert!(config.room().is_none());
    let queue =
        config.into_builder().new_users_per_minute(9).total_active_users(3).build().unwrap();
    let room = queue.room().unwrap();
    assert_eq!((room.total_active_users, room.new_users_per_minute), (3, Some(9)));
}

#[test]
fn errors_in_a_file_name_the_field() {
    for (json, message) in [
        (r#"{ "total_active_users": 1 }"#, "missing field `name`"),
        (r#"{ "name": "shop" }"#, "total_active_users is missing, expected the number"),
        (r#"{ "name": "shop", "total_active_users": 0 }"#, "total_active_users is 0, expected"),
        (r#"{ "name": "", "total_active_users": 1 }"#, "name is \"\", expected"),
        (r#"{ "name": "shop", "total_active_user": 1 }"#, "unknown field `total_active_user`"),
        (
            r#"{ "name": "shop", "total_active_users": -1 }"#,
            "total_active_users is -1, expected a number from 1 to",
        ),
        (
            r#"{ "name": "shop", "total_active_users": 1, "session_duration": "0s" }"#,
            "session_duration is 0 s, expected at least 1 s",
        ),
        (
            r#"{ "name": "shop", "total_active_users": 1, "session_duration": "25h" }"#,
            "session_duration is 90000 s, expected at most 86400 s",
        ),
        (
            r#"{ "name": "shop", "total_active_users": 1, "status": { "json": 500 } }"#,
            "status is 500, expected 200, 202, 429 or 503",
        ),
        (r#"{ "name": "shop", "total_active_users": 1, "keys": ["c2hvcnQ="] }"#, "expected 32"),
        (
            r#"{ "name": "shop", "total_active_users": 1,
                 "bypass": [{ "name": "x", "path": "no" }] }"#,
            "bypass is \"no\" in the rule \"x\"",
        ),
        (r#"{ "name": "shop", "total_active_users": 1, "page": "{{" }"#, "page is"),
        (
            r#"{ "name": "shop", "total_active_users": 1, "recovery": "pause" }"#,
            "recovery is pause, expected keys, because",
        ),
    ] {
        let error = refused(json);
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
}

#[test]
fn a_grpc_status_is_not_ignored_silently() {
    let config = WaitingRoomConfig::builder("shop").total_active_users(1);
    let error = config.status(ClientKind::Grpc, StatusCode::SERVICE_UNAVAILABLE).build();
    assert_eq!(
        error.unwrap_err().to_string(),
        "status is 503, expected 200, because gRPC reports its own status in the trailers"
    );
}
