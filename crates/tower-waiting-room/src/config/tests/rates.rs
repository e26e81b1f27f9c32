//! Rate limits from a file equal the same limits from the builder.

use http::Method;
use waiting_room_core::{
    Quota,
    rate::{Algorithm, Refusals},
};

use super::*;
use crate::{
    rate::{Cost, OverLimit},
    rate_headers::QuotaUnit,
    request::{Key, MissingKey, TrustedProxies},
};

/// Returns the limits and the address rules of a configuration as a string, since they cannot be
/// compared directly.
fn rates_of(config: &WaitingRoomConfig) -> String {
    let RateConfig { limits, client_ip, headers, max_held, shared } = &config.rates;
    assert!(shared.is_none());
    let limits: Vec<_> = limits.iter().map(all_of).collect();
    let path = config.rules_file.as_ref().map(|file| &file.path);
    format!("{limits:#?} {client_ip:#?} {headers:?} {path:?} {max_held}")
}

/// Returns all options of a limit that are not closures.
fn all_of(limit: &RateLimit) -> impl std::fmt::Debug {
    let cost = match &limit.cost {
        Cost::By(_) => None,
        Cost::Fixed(cost) => Some(*cost),
    };
    let what = (limit.name.clone(), limit.quota, limit.key.clone(), limit.algorithm);
    let which = (limit.scope.clone(), cost, limit.unit);
    (what, which, limit.over_limit, limit.missing_key, limit.max_keys, limit.is_adjustable)
}

#[test]
fn rate_limits_in_a_file_equal_rate_limits_in_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let rule = "{ key: path, rate_limit: { unit: minute, requests_per_unit: 9 } }";
    std::fs::write(&path, format!("domain: api\ndescriptors: [ {rule} ]\n")).unwrap();
    let from_file: WaitingRoomConfig = serde_json::from_value(serde_json::json!({
        "name": "api",
        "rate_limits": [
            {
                "key": "remote_address",
                "rate_limit": {
                    "name": "per_ip", "unit": "minute", "requests_per_unit": 120, "burst": 20
                }
            },
            {
                "key": ["header.x-api-key", "cookie.a", "method", "path"],
                "rate_limit": {
                    "name": "login", "window": "1m 30s", "requests_per_unit": 5,
                    "algorithm": "sliding_log", "refusals": "count", "cost": 2, "max_keys": 100
                },
                "methods": ["POST", "PUT"], "path": "/login", "path_prefix": "/l",
                "quota_unit": "content_bytes", "shadow_mode": true, "missing_key": "refuse",
                "adjustable": true
            },
            {
                "key": "everyone", "missing_key": "bypass",
                "rate_limit": {
                    "name": "all", "unit": "second", "requests_per_unit": 9,
                    "algorithm": "leaky_queue"
                }
            }
        ],
        "rate_limits_file": path, "rate_headers": "draft11_strict", "max_held_requests": 7,
        "client_ip": {
            "header": "X-Forwarded-For", "trusted": ["10.0.0.0/8", "::1"], "ipv6_prefix": 56
        }
    }))
    .unwrap();
    let quota = Quota::new(5, Duration::from_secs(90));
    let key = Key::header("x-api-key").and(Key::cookie("a")).and(Key::method()).and(Key::path());
    let login = RateLimit::new("login", quota, key)
        .algorithm(Algorithm::SlidingLog(Refusals::Count))
        .methods([Method::POST, Method::PUT])
        .path("/login")
        .path_prefix("/l")
        .cost(2)
        .unit(QuotaUnit::ContentBytes)
        .over_limit(OverLimit::Shadow)
        .missing_key(MissingKey::Refuse)
        .max_keys(100)
        .adjustable();
    let all = RateLimit::new("all", Quota::per_second(9), Key::global())
        .algorithm(Algorithm::LeakyQueue)
        .missing_key(MissingKey::Bypass);
    let proxies = TrustedProxies::networks(["10.0.0.0/8", "::1"]).unwrap();
    let built = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_minute(120).burst(20)))
        .rate_limit(login)
        .rate_limit(all)
        .rate_limits_file(&path)
        .rate_headers(RateHeaders::Draft11Strict)
        .client_ip(ClientIp::x_forwarded_for(proxies).ipv6_prefix(56))
        .max_held_requests(7)
        .build()
        .unwrap();
    assert_eq!(rates_of(&from_file), rates_of(&built));
    assert!(from_file.room.is_none());
}

#[test]
fn every_name_in_a_file_is_the_name_of_an_option_in_code() {
    for (name, headers) in [
        ("x_rate_limit", RateHeaders::XRateLimit),
        ("combined", RateHeaders::Combined),
        ("common", RateHeaders::Common),
        ("draft11_strict", RateHeaders::Draft11Strict),
        ("draft6", RateHeaders::Draft6),
        ("draft7", RateHeaders::Draft7),
        ("none", RateHeaders::None),
    ] {
        let config = beside_a_limit(&format!(r#""rate_headers": "{name}""#)).unwrap();
        assert_eq!(config.rates.headers, headers, "{name}");
    }
    for (file, client_ip) in [
        (r#"{ "ipv6_prefix": 48 }"#, ClientIp::peer().ipv6_prefix(48)),
        (r#"{ "header": "forwarded", "hops": 1 }"#, ClientIp::forwarded(TrustedProxies::hops(1))),
        (
            r#"{ "header": "cf-connecting-ip", "hops": 2 }"#,
            ClientIp::header("cf-connecting-ip", TrustedProxies::hops(2)),
        ),
    ] {
        let config = beside_a_limit(&format!(r#""client_ip": {file}"#)).unwrap();
        assert_eq!(format!("{:?}", config.rates.client_ip), format!("{client_ip:?}"));
    }
}

/// Returns a configuration with a limit and these additional fields.
fn beside_a_limit(fields: &str) -> serde_json::Result<WaitingRoomConfig> {
    let rate = r#"{ "name": "x", "unit": "minute", "requests_per_unit": 5 }"#;
    let limit = format!(r#"{{ "key": "path", "rate_limit": {rate} }}"#);
    serde_json::from_str(&format!(r#"{{ "name": "api", "rate_limits": [{limit}], {fields} }}"#))
}

/// Returns a configuration with a limit that has these fields in addition to a rate.
fn with_limit(fields: &str) -> serde_json::Result<WaitingRoomConfig> {
    let rate = r#""name": "x", "unit": "minute", "requests_per_unit": 5"#;
    let limits = format!(r#""rate_limits": [{{ "rate_limit": {{ {rate} }}, {fields} }}]"#);
    serde_json::from_str(&format!(r#"{{ "name": "api", {limits} }}"#))
}

/// Returns a configuration whose limit has a rate with a name and these fields.
fn with_rate(fields: &str) -> serde_json::Result<WaitingRoomConfig> {
    let rate = format!(r#""rate_limit": {{ "name": "x", {fields} }}"#);
    let limits = format!(r#""rate_limits": [{{ "key": "path", {rate} }}]"#);
    serde_json::from_str(&format!(r#"{{ "name": "api", {limits} }}"#))
}

#[test]
fn errors_in_a_limit_name_the_field() {
    for (fields, message) in [
        (r#""soft": true"#, "missing field `key`"),
        (r#""key": "path", "tier": 1"#, "unknown field `tier`"),
        (r#""key": 5"#, "key is neither a name nor a list of names"),
        (
            r#""key": "ip""#,
            "key is \"ip\" in the limit \"x\", expected everyone, method, path, remote_address, \
             visitor, cookie.<name> or header.<name>",
        ),
        (r#""key": []"#, "key is empty in the limit \"x\", expected everyone, method"),
        (r#""key": ["path", "header.a b"]"#, "key is \"header.a b\" in the limit \"x\", expected"),
        (
            r#""key": "path", "methods": ["PO ST"]"#,
            "rate_limit is \"PO ST\" in the rule \"x\", expected a method",
        ),
        (
            r#""key": "path", "path": "login""#,
            "rate_limit is \"login\" in the rule \"x\", expected a path that begins with '/'",
        ),
        (
            r#""key": "path", "soft": true, "shadow_mode": true"#,
            "soft is true in the limit \"x\", expected either soft or shadow_mode, but not both",
        ),
    ] {
        let error = with_limit(fields).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
}

#[test]
fn errors_in_a_rate_name_the_field() {
    let minute = |fields| format!(r#""unit": "minute", "requests_per_unit": 5, {fields}"#);
    for (fields, message) in [
        (r#""unit": "minute""#.to_owned(), "missing field `requests_per_unit`"),
        (minute(r#""limit": 5"#), "unknown field `limit`"),
        (
            r#""requests_per_unit": 5"#.to_owned(),
            "unit is missing from the limit \"x\", expected second, minute, hour, day or week, or \
             a window",
        ),
        (
            minute(r#""window": "1m""#),
            "window is 60s in the limit \"x\", expected either unit or window, but not both",
        ),
        (
            r#""unit": "fortnight", "requests_per_unit": 5"#.to_owned(),
            "unit is \"fortnight\" in the limit \"x\", expected one of second, minute, hour, day, week",
        ),
        (
            minute(r#""algorithm": "leaky""#),
            "algorithm is \"leaky\" in the limit \"x\", expected one of",
        ),
        (
            minute(r#""refusals": "count""#),
            "refusals is \"count\" in the limit \"x\", expected no value unless the algorithm is sliding_log",
        ),
        (
            minute(r#""alignment": "epoch""#),
            "alignment is \"epoch\" in the limit \"x\", expected no value unless the algorithm is \
             fixed_window",
        ),
        (minute(r#""max_keys": 0"#), "max_keys is 0, expected at least 1"),
        (minute(r#""max_keys": 300000000"#), "max_keys is 300000000, expected at most 100000000"),
    ] {
        let error = with_rate(&fields).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
    let error = with_limit(r#""key": "path", "soft": true"#);
    assert!(error.is_ok(), "{error:?}");
}

/// Returns the name, the rate and the key of a limit as text.
#[cfg(feature = "rules-file")]
fn rate_of(limit: &RateLimit) -> String {
    let Cost::Fixed(cost) = limit.cost else { panic!("a cost by closure") };
    let RateLimit { name, quota, key, algorithm, over_limit, max_keys, .. } = limit;
    format!("{name} {quota:?} {key:?} {algorithm:?} {cost} {over_limit:?} {max_keys}")
}

/// The same table is a limit in both files, with the same quota, algorithm, cost and table size.
#[cfg(feature = "rules-file")]
#[test]
fn a_rate_means_the_same_in_a_configuration_file_and_in_a_rules_file() {
    let minute = r#""unit": "minute", "requests_per_unit": 30"#;
    let mut rates = vec![
        minute.to_owned(),
        r#""window": "1m 30s", "requests_per_unit": 0"#.to_owned(),
        format!(r#"{minute}, "burst": 7, "cost": 3, "max_keys": 99"#),
        format!(r#"{minute}, "algorithm": "sliding_log", "refusals": "count""#),
        format!(r#"{minute}, "algorithm": "fixed_window", "alignment": "first_hit""#),
    ];
    for unit in ["second", "minute", "hour", "day", "week"] {
        rates.push(format!(r#""unit": "{unit}", "requests_per_unit": 1"#));
    }
    for algorithm in
        ["fixed_window", "gcra", "leaky_queue", "sliding_counter", "sliding_log", "token_bucket"]
    {
        rates.push(format!(r#"{minute}, "algorithm": "{algorithm}""#));
    }
    for rate in rates {
        for over_limit in ["", r#", "shadow_mode": true"#, r#", "soft": true"#] {
            if rate.contains("leaky_queue") && !over_limit.is_empty() {
                continue;
            }
            let limit = format!(
                r#"{{ "key": "remote_address", "rate_limit": {{ "name": "x", {rate} }}{over_limit} }}"#
            );
            let config: WaitingRoomConfig =
                serde_json::from_str(&format!(r#"{{ "name": "api", "rate_limits": [{limit}] }}"#))
                    .unwrap_or_else(|error| panic!("{limit}: {error}"));
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("limits.yaml");
            // JSON is YAML.
            std::fs::write(&path, format!("domain: api\ndescriptors: [ {limit} ]\n")).unwrap();
            let from_rules =
                WaitingRoomConfig::builder("api").rate_limits_file(&path).build().unwrap();
            let one = &config.rates.limits.code[0];
            let other = &from_rules.rates.limits.file[0];
            assert_eq!(rate_of(one), rate_of(other), "{limit}");
        }
    }
}

#[test]
fn errors_beside_the_limits_name_the_field() {
    for (fields, message) in [
        (r#""rate_headers": "draft8""#, "unknown variant `draft8`, expected one of"),
        (r#""max_held_requests": 0"#, "max_held_requests is 0, expected at least 1"),
        (r#""rate_limits_file": "/nowhere/a.yaml""#, "rate_limits_file is /nowhere/a.yaml: cannot"),
        (r#""client_ip": { "hop": 1 }"#, "unknown field `hop`"),
        (
            r#""client_ip": { "header": "forwarded" }"#,
            "client_ip is a header alone, expected trusted or hops as well",
        ),
        (
            r#""client_ip": { "hops": 1 }"#,
            "client_ip is proxies alone, expected proxies and the header that they set",
        ),
        (
            r#""client_ip": { "header": "forwarded", "hops": 1, "trusted": ["::1"] }"#,
            "client_ip is trusted and hops, expected only one of the two",
        ),
        (
            r#""client_ip": { "header": "forwarded", "trusted": ["10.0.0.1/8"] }"#,
            "trusted_proxies is \"10.0.0.1/8\", expected the address 10.0.0.1 or the network",
        ),
        (
            r#""client_ip": { "header": "a b", "hops": 1 }"#,
            "client_ip is \"a b\", expected the name of a header",
        ),
        (r#""client_ip": { "ipv6_prefix": 129 }"#, "ipv6_prefix is 129, expected 1 to 128"),
    ] {
        let error = beside_a_limit(fields).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
}

#[test]
fn the_keys_of_all_limits_together_are_bounded() {
    let log = |name: &'static str, limit| {
        RateLimit::new(name, Quota::per_hour(limit), Key::address())
            .algorithm(Algorithm::SlidingLog(Refusals::Ignore))
    };
    let build = |limits: &[RateLimit]| {
        let builder = WaitingRoomConfig::builder("api");
        limits.iter().cloned().fold(builder, |builder, limit| builder.rate_limit(limit)).build()
    };
    let error = build(&[log("hourly", 1_000_000)]).unwrap_err().to_string();
    let message =
        "max_keys is 65536 (16000167 bytes per key, 1048586944512 bytes in total), expected";
    assert!(error.starts_with(message), "{error}");
    assert!(build(&[log("hourly", 3_000)]).is_ok());
    let error = build(&[log("hourly", 3_000), log("login", 3_000)]).unwrap_err().to_string();
    let message = "max_keys is 131072 keys with 6313345024 bytes for all limits together, expected at \
                   most 4294967296 bytes";
    assert_eq!(error, message);
    // A key that all requests share may have a large log.
    let all = RateLimit::global(Quota::per_hour(1_000_000));
    assert!(build(&[all.algorithm(Algorithm::SlidingLog(Refusals::Ignore))]).is_ok());
}
