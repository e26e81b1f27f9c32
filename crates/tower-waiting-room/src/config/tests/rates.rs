//! Rate limits from a file equal the same limits from the builder.

use waiting_room_core::{
    Quota,
    rate::{Algorithm, Refusals},
};

use super::*;
use crate::{
    rate::Cost,
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
    let which = (limit.scope.clone(), limit.conditions.clone(), cost, limit.unit);
    (what, which, limit.over_limit, limit.missing_key, limit.max_keys, limit.is_adjustable)
}

/// The limits in a configuration file are the descriptors of a rules file, without its domain.
#[test]
fn a_limit_means_the_same_in_a_configuration_file_and_in_a_rules_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let descriptors = serde_json::json!([
        {
            "key": "remote_address",
            "rate_limit": { "unit": "minute", "requests_per_unit": 120, "burst": 20 },
            "descriptors": [{
                "key": "path", "value": ["/login", "/api/*"], "shadow_mode": true,
                "rate_limit": {
                    "name": "login", "window": "1m 30s", "requests_per_unit": 5,
                    "algorithm": "sliding_log", "refusals": "count", "cost": 2, "max_keys": 100,
                    "missing_key": "refuse", "quota_unit": "content_bytes", "adjustable": true
                }
            }]
        },
        { "key": "remote_address", "value": "192.0.2.7", "rate_limit": { "unlimited": true } },
    ]);
    // JSON is also valid YAML.
    std::fs::write(&path, format!("domain: shop\ndescriptors: {descriptors}\n")).unwrap();
    let from_config: WaitingRoomConfig =
        serde_json::from_value(serde_json::json!({ "name": "api", "rate_limits": descriptors }))
            .unwrap();
    let from_rules = WaitingRoomConfig::builder("api").rate_limits_file(&path).build().unwrap();
    let all =
        |limits: &[RateLimit]| format!("{:#?}", limits.iter().map(all_of).collect::<Vec<_>>());
    let from_config = all(&from_config.rates.limits.code);
    assert_eq!(from_config, all(&from_rules.rates.limits.file).replace("shop/", ""));
    assert!(from_config.contains("\"remote_address\"") && from_config.contains("/api/*"));
}

#[test]
fn rate_limits_in_a_file_equal_rate_limits_in_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let rule = "{ key: path, rate_limit: { unit: minute, requests_per_unit: 9 } }";
    std::fs::write(&path, format!("domain: api\ndescriptors: [ {rule} ]\n")).unwrap();
    let from_file: WaitingRoomConfig = serde_json::from_value(serde_json::json!({
        "name": "api",
        "rate_limits": [{
            "key": "everyone",
            "rate_limit": {
                "name": "all", "unit": "second", "requests_per_unit": 9, "algorithm": "leaky_queue"
            }
        }],
        "rate_limits_file": path, "rate_headers": "draft11_strict", "max_held_requests": 7,
        "client_ip": {
            "header": "X-Forwarded-For", "trusted": ["10.0.0.0/8", "::1"], "ipv6_prefix": 56
        }
    }))
    .unwrap();
    let all = RateLimit::new("all", Quota::per_second(9), Key::global())
        .algorithm(Algorithm::LeakyQueue)
        .missing_key(MissingKey::Bypass);
    let proxies = TrustedProxies::networks(["10.0.0.0/8", "::1"]).unwrap();
    let built = WaitingRoomConfig::builder("api")
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

/// As in code, a limit by address without a condition bounds every address, so it is a guard.
#[test]
fn a_limit_by_address_in_a_file_is_a_guard() {
    let config = beside_a_limit("").unwrap();
    assert!(!config.rates.limits.code[0].is_guard());
    let file = r#"{ "name": "api", "rate_limits": [{ "key": "remote_address",
                    "rate_limit": { "unit": "minute", "requests_per_unit": 5 } }] }"#;
    let config: WaitingRoomConfig = serde_json::from_str(file).unwrap();
    assert!(config.rates.limits.code[0].is_guard());
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
    let comma = if fields.is_empty() { "" } else { "," };
    serde_json::from_str(&format!(
        r#"{{ "name": "api", "rate_limits": [{limit}]{comma} {fields} }}"#
    ))
}

/// The messages are the same as for a rules file, whose tests cover all other messages.
#[test]
fn errors_in_a_limit_name_the_field() {
    let rate = r#""rate_limit": { "unit": "minute", "requests_per_unit": 5 }"#;
    for (limits, message) in [
        (
            format!(r#"{{ {rate} }}"#),
            "rate_limits[0].key is missing, expected the part of a request",
        ),
        (
            format!(r#"{{ "key": "ip", {rate} }}"#),
            "rate_limits[0].key is \"ip\", expected everyone, method, path, remote_address, visitor, \
             path_prefix, cookie.<name> or header.<name> (other keys have to be registered in code)",
        ),
        (
            r#"{ "key": "path", "rate_limit": { "unit": "year", "requests_per_unit": 5 } }"#
                .to_owned(),
            "rate_limits[0].rate_limit.unit is \"year\", expected second, minute",
        ),
        (
            r#"{ "key": "path", "rate_limit": { "unit": "day", "requests_per_unit": 1.5 } }"#
                .to_owned(),
            "invalid type: floating point `1.5`, expected a whole number, or a string in quotes",
        ),
        (
            format!(r#"{{ "key": "path", {rate} }}, {{ "key": "path", {rate} }}"#),
            "rate_limits[1] is \"path\", the name of the rule in rate_limits[0], expected a unique",
        ),
        (format!(r#"{{ "key": "path", "key": "path", {rate} }}"#), "key is given twice"),
        (
            format!(r#"{{ "key": "path", "methods": ["POST"], {rate} }}"#),
            "rate_limits[0].methods is not a field, expected key, value, Value, rate_limit",
        ),
    ] {
        let file = format!(r#"{{ "name": "api", "rate_limits": [{limits}] }}"#);
        let error = refused(&file);
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
    let error = refused(r#"{ "name": "api", "rate_limits": 5 }"#);
    assert!(error.starts_with("rate_limits is 5, expected a list"), "{error}");
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
