//! Tests of the meaning of valid files. The module `bad` tests mistakes in files.

mod bad;
mod bytes;

use std::{path::Path, time::Duration};

use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, Refusals},
};

use super::*;
use crate::{
    rate::{Condition, Cost, Literal, OverLimit, RateLimit},
    rate_headers::QuotaUnit,
    request::{Key, MissingKey, Part},
};

/// Returns the keys that the application has named.
fn registered() -> Vec<Part> {
    let named = |name: &'static str| Part::By(name.into(), std::sync::Arc::new(|_| None));
    ["message_type", "tenant", "user"].map(named).into()
}

fn parse(name: &str, text: &str) -> Result<Vec<RateLimit>, RulesFileError> {
    descriptors::parse(Path::new(name), text.as_bytes(), &registered())
}

#[track_caller]
fn yaml(text: &str) -> Vec<RateLimit> {
    parse("limits.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn toml(text: &str) -> Vec<RateLimit> {
    parse("limits.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the only limit of a file whose `rate_limit` has these fields.
#[track_caller]
fn limit(fields: &str) -> RateLimit {
    yaml(&format!("domain: d\ndescriptors: [ {{ key: path, rate_limit: {{ {fields} }} }} ]\n"))
        .swap_remove(0)
}

/// Returns what a limit covers and how it counts, as text.
fn shown(limit: &RateLimit) -> String {
    let RateLimit { name, quota, key, algorithm, conditions, over_limit, .. } = limit;
    format!(
        "{name} {quota:?} {key:?} {algorithm:?} {:?} {over_limit:?} {conditions:?}",
        cost(limit)
    )
}

fn cost(limit: &RateLimit) -> Option<u64> {
    if let Cost::Fixed(cost) = limit.cost { Some(cost) } else { None }
}

/// Returns a condition on the part with this name.
fn condition(key: &str, is: &[&str], is_not: &[&str]) -> Condition {
    let named = |part: &Part| part.name() == Some(key);
    let part = registered().into_iter().find(named).or_else(|| Part::named(key)).unwrap();
    let literals = |texts: &[&str]| {
        texts.iter().map(|&text| Literal::new(&part, text.to_owned()).unwrap()).collect()
    };
    Condition { is: literals(is), is_not: literals(is_not), part }
}

/// Returns each condition as text, because two closures are different keys.
fn conditions(limit: &RateLimit) -> Vec<String> {
    limit.conditions.iter().map(|condition| format!("{condition:?}")).collect()
}

fn texts(conditions: &[Condition]) -> Vec<String> {
    conditions.iter().map(|condition| format!("{condition:?}")).collect()
}

#[test]
fn the_example_of_the_chapter_means_five_a_day() {
    let limits = yaml(
        "domain: messaging
descriptors:
  - key: message_type
    Value: marketing
    rate_limit:
      unit: day
      requests_per_unit: 5
",
    );
    let [limit] = &*limits else { panic!("{limits:?}") };
    assert_eq!(limit.name, "messaging/message_type=marketing");
    assert_eq!((limit.quota, limit.key.clone()), (Quota::per_day(5), Key::global()));
    assert_eq!(conditions(limit), texts(&[condition("message_type", &["marketing"], &[])]));
    assert_eq!((limit.algorithm, limit.over_limit), (Algorithm::Gcra, OverLimit::Refuse));
    assert_eq!((limit.missing_key, limit.max_keys), (MissingKey::Bypass, RateLimit::MAX_KEYS));
    let from_toml = toml(
        "domain = 'messaging'

[[descriptors]]
key = 'message_type'
Value = 'marketing'

[descriptors.rate_limit]
unit = 'day'
requests_per_unit = 5
",
    );
    assert_eq!(shown(&from_toml[0]), shown(limit));
}

#[test]
fn toml_means_the_same_as_yaml() {
    let from_yaml = yaml(
        "domain: shop
descriptors:

  - key: tenant
    descriptors:

      - key: path
        value: /login
        soft: true
        rate_limit: { window: 10s, requests_per_unit: 1000, algorithm: sliding_log, cost: 2 }
  - { key: method, value: 'POST', rate_limit: { unlimited: true, name: posts } }
",
    );
    let from_toml = toml(
        "domain = 'shop'

[[descriptors]]
key = 'tenant'

[[descriptors.descriptors]]
key = 'path'
value = '/login'
soft = true
rate_limit = { window = '10s', requests_per_unit = 1_000, algorithm = 'sliding_log', cost = 2 }
[[descriptors]]
key = 'method'
value = 'POST'
rate_limit = { unlimited = true, name = 'posts' }
",
    );
    assert_eq!(from_yaml.len(), 1);
    let all = |limits: &[RateLimit]| limits.iter().map(shown).collect::<Vec<_>>();
    assert_eq!(all(&from_yaml), all(&from_toml));
}

#[test]
fn nested_descriptors_inherit_all_outer_entries() {
    let file = yaml(
        "domain: d
descriptors:
  - key: tenant
    rate_limit: { unit: hour, requests_per_unit: 100 }
    descriptors:
      - key: user
        rate_limit: { unit: minute, requests_per_unit: 10 }
        descriptors:
          - key: path
            value: /a/b
            rate_limit: { unit: second, requests_per_unit: 1 }
",
    );
    let names: Vec<_> = file.iter().map(RateLimit::name).collect();
    assert_eq!(names, ["d/tenant", "d/tenant/user", "d/tenant/user/path=/a/b"]);
    let keys: Vec<_> = file.iter().map(|limit| limit.key.to_string()).collect();
    assert_eq!(keys, ["tenant", "tenant+user", "tenant+user"]);
    assert_eq!(conditions(&file[1]), [""; 0], "a value of any kind is no condition");
    assert_eq!(file[2].conditions, [condition("path", &["/a/b"], &[])]);
}

#[test]
fn the_sibling_that_names_the_value_wins() {
    let file = yaml(
        "domain: d
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 10 }
    descriptors:
      - { key: path, value: /x, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: user, value: ann, rate_limit: { unit: minute, requests_per_unit: 50 } }
  - { key: user, value: bob, rate_limit: { unlimited: true } }
  - { key: tenant, value: acme, rate_limit: { unit: minute, requests_per_unit: 9 } }
",
    );
    let others = texts(&[condition("user", &[], &["ann", "bob"])]);
    assert_eq!(conditions(&file[0]), others);
    assert_eq!(conditions(&file[1])[..1], others, "nested rules have the same exceptions");
    let names: Vec<_> = file.iter().map(RateLimit::name).collect();
    assert_eq!(names, ["d/user", "d/user/path=/x", "d/user=ann", "d/tenant=acme"]);
}

#[test]
fn every_field_of_a_limit_counts() {
    let usual = limit("unit: minute, requests_per_unit: 7");
    assert_eq!((usual.quota, cost(&usual)), (Quota::per_minute(7), Some(1)));
    for (unit, seconds) in
        [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400), ("week", 604_800)]
    {
        let quota = limit(&format!("unit: {unit}, requests_per_unit: 7")).quota;
        assert_eq!(quota, Quota::new(7, Duration::from_secs(seconds)), "{unit}");
    }
    let window = limit("window: 1m 30s, requests_per_unit: 7").quota.window();
    assert_eq!(window, Duration::from_secs(90));
    let full = limit("unit: hour, requests_per_unit: 100, burst: 20, cost: 20, unlimited: false");
    assert_eq!((full.quota, cost(&full)), (Quota::per_hour(100).burst(20), Some(20)));
    for (name, algorithm) in [
        ("fixed_window", Algorithm::FixedWindow(Alignment::Epoch)),
        ("gcra", Algorithm::Gcra),
        ("leaky_queue", Algorithm::LeakyQueue),
        ("sliding_counter", Algorithm::SlidingCounter),
        ("sliding_log", Algorithm::SlidingLog(Refusals::Ignore)),
        ("token_bucket", Algorithm::TokenBucket),
    ] {
        let limit = limit(&format!("unit: day, requests_per_unit: 7, algorithm: {name}"));
        assert_eq!(limit.algorithm, algorithm, "{name}");
    }
    for (fields, algorithm) in [
        ("sliding_log, refusals: count", Algorithm::SlidingLog(Refusals::Count)),
        ("sliding_log, refusals: ignore", Algorithm::SlidingLog(Refusals::Ignore)),
        ("fixed_window, alignment: first_hit", Algorithm::FixedWindow(Alignment::FirstHit)),
        ("fixed_window, alignment: epoch", Algorithm::FixedWindow(Alignment::Epoch)),
    ] {
        let limit = limit(&format!("unit: day, requests_per_unit: 7, algorithm: {fields}"));
        assert_eq!(limit.algorithm, algorithm, "{fields}");
    }
    assert_eq!(limit("unit: day, requests_per_unit: 7, max_keys: 9").max_keys, 9);
    for (name, missing_key) in [
        ("address", MissingKey::Address),
        ("bypass", MissingKey::Bypass),
        ("refuse", MissingKey::Refuse),
    ] {
        let limit = limit(&format!("unit: day, requests_per_unit: 7, missing_key: {name}"));
        assert_eq!(limit.missing_key, missing_key, "{name}");
    }
    let bytes = limit("unit: day, requests_per_unit: 7, quota_unit: content_bytes");
    assert_eq!((usual.unit, bytes.unit), (QuotaUnit::Requests, QuotaUnit::ContentBytes));
    let adjustable = limit("unit: day, requests_per_unit: 7, adjustable: true");
    assert!(adjustable.is_adjustable && !usual.is_adjustable);
    assert_eq!(limit("unit: day, requests_per_unit: 0").quota, Quota::per_day(0));
}

/// These files have the same meaning as in the service from which the format comes.
#[test]
fn a_file_of_the_original_service_means_the_same() {
    assert_eq!(limit("unit: MINUTE, requests_per_unit: 7").quota, Quota::per_minute(7));
    let file = yaml(
        "domain: d
descriptors:
  - key: user
    detailed_metric: true
    value_to_metric: true
    rate_limit: { unit: Day, requests_per_unit: 1 }
",
    );
    assert_eq!((file[0].name(), file[0].quota), ("d/user", Quota::per_day(1)));
}

/// TOML's integers may be in other bases, with underscores and with a sign.
#[test]
fn an_integer_in_toml_is_its_number() {
    let file = toml(
        "domain = 'd'
[[descriptors]]
key = 'user'
value = [0x1F, 0o17, 0b11, 1_000, +7]
rate_limit = { unit = 'day', requests_per_unit = 0x10 }
",
    );
    assert_eq!(file[0].quota, Quota::per_day(16));
    let values = condition("user", &["31", "15", "3", "1000", "7"], &[]);
    assert_eq!(conditions(&file[0]), texts(&[values]));
}

#[test]
fn a_prefix_covers_the_paths_below_it() {
    let rate = "rate_limit: { unit: day, requests_per_unit: 1";
    let file = yaml(&format!(
        "domain: d
descriptors:
  - {{ key: path_prefix, value: [/reports/, /img], {rate} }} }}
  - {{ key: path, value: /reports/*, {rate}, name: same }} }}
  - {{ key: path, {rate} }} }}
"
    ));
    let [prefix, path, others] = &*file else { panic!("{file:?}") };
    assert_eq!(prefix.name, "d/path=/reports/*,/img*");
    assert_eq!(prefix.conditions[0].is[0], path.conditions[0].is[0]);
    assert_eq!(others.conditions[0].is_not.len(), 3, "siblings that name a value");
}

#[test]
fn requests_over_a_limit_can_pass() {
    for (field, over_limit) in [
        ("shadow_mode: true", OverLimit::Shadow),
        ("soft: true", OverLimit::Mark),
        ("soft: false, shadow_mode: true", OverLimit::Shadow),
        ("shadow_mode: false", OverLimit::Refuse),
    ] {
        let file = yaml(&format!(
            "domain: d\ndescriptors:\n  - {{ key: path, {field}, \
             rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"
        ));
        assert_eq!(file[0].over_limit, over_limit, "{field}");
    }
}

#[test]
fn a_name_can_be_sent_in_a_header() {
    let file = yaml(
        "domain: \"訊息\"
descriptors:
  - { key: header.x-plan, value: '50% \"off\"', rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: cookie.Plan, rate_limit: { unit: day, requests_per_unit: 1, name: by-plan } }
",
    );
    let domain = "%E8%A8%8A%E6%81%AF";
    assert_eq!(file[0].name, format!("{domain}/header.x-plan=50%25%20%22off%22"));
    assert_eq!(file[1].name, "by-plan");
}

#[test]
fn a_value_in_yaml_needs_no_quotes() {
    let rate = "rate_limit: { unit: day, requests_per_unit: 1 }";
    let file =
        yaml(&format!("domain: d\ndescriptors: [ {{ key: user, value: [007, true], {rate} }} ]\n"));
    assert_eq!(conditions(&file[0]), texts(&[condition("user", &["007", "true"], &[])]));
}

#[test]
fn several_values_share_one_limit() {
    let file = yaml(
        "domain: d
descriptors:
  - { key: method, value: [POST, PUT], rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: method, rate_limit: { unit: day, requests_per_unit: 5 } }
",
    );
    assert_eq!((file[0].name(), &file[0].key), ("d/method=POST,PUT", &Key::global()));
    assert_eq!(file[0].conditions, [condition("method", &["POST", "PUT"], &[])]);
    assert_eq!(file[1].conditions, [condition("method", &[], &["POST", "PUT"])]);
}

/// Two limits for the same requests differ in their names.
#[test]
fn one_key_has_several_limits() {
    let file = yaml(
        "domain: d
descriptors:
  - { key: everyone, rate_limit: { unit: second, requests_per_unit: 9, name: burst } }
  - { key: everyone, rate_limit: { unit: day, requests_per_unit: 999 } }
",
    );
    let both: Vec<_> = file.iter().map(|limit| (limit.name(), limit.key.clone())).collect();
    assert_eq!(both, [("burst", Key::global()), ("d/everyone", Key::global())]);
    assert_eq!(conditions(&file[1]), [""; 0]);
}

#[test]
fn a_byte_order_mark_and_an_empty_list_are_accepted() {
    assert!(yaml("\u{feff}domain: d\r\ndescriptors: []\r\n").is_empty());
    assert!(toml("\u{feff}domain = 'd'\r\ndescriptors = []\r\n").is_empty());
}

#[test]
fn a_file_is_found_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yml");
    let error = descriptors::load(&path, &registered()).unwrap_err();
    assert_eq!(error.line(), None);
    assert!(error.to_string().contains("limits.yml: cannot be read: "), "{error}");
    assert!(std::error::Error::source(&error).is_some());

    std::fs::write(&path, "domain: d\ndescriptors: []\n").unwrap();
    assert!(descriptors::load(&path, &registered()).unwrap().is_empty());
    // A file that is too long is read only far enough to detect this.
    std::fs::write(&path, "domain: d\ndescriptors: []\n".to_owned() + &" ".repeat(1 << 20))
        .unwrap();
    let error = descriptors::load(&path, &registered()).unwrap_err().to_string();
    assert!(error.ends_with("is longer than the limit of 1048576 bytes"), "{error}");
}
