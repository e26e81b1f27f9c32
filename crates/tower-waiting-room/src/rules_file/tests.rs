//! Tests of the meaning of valid files. The module `bad` tests mistakes in files.

mod bad;
mod bytes;

use std::{path::Path, time::Duration};

use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, Refusals},
};

use super::{entry::RuleEntry, limit::FileLimit, *};
use crate::rate::{Literal, OverLimit};

const REGISTERED: [&str; 3] = ["message_type", "tenant", "user"];

fn parse(name: &str, text: &str) -> Result<RulesFile, RulesFileError> {
    RulesFile::parse(Path::new(name), text.as_bytes(), &REGISTERED)
}

#[track_caller]
fn yaml(text: &str) -> RulesFile {
    parse("limits.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn toml(text: &str) -> RulesFile {
    parse("limits.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the only limit of a file whose `rate_limit` has these fields.
#[track_caller]
fn limit(fields: &str) -> FileLimit {
    let file =
        yaml(&format!("domain: d\ndescriptors: [ {{ key: path, rate_limit: {{ {fields} }} }} ]\n"));
    file.rules[0].limit.clone().unwrap()
}

fn entry(key: &str, value: Option<&str>, except: &[&str]) -> RuleEntry {
    let literal = |&text: &&str| Literal::new(key, text.to_owned()).unwrap();
    RuleEntry {
        key: key.to_owned(),
        value: value.as_ref().map(literal),
        except: except.iter().map(literal).collect(),
    }
}

#[test]
fn the_example_of_the_chapter_means_five_a_day() {
    let file = yaml(
        "domain: messaging
descriptors:
  - key: message_type
    Value: marketing
    rate_limit:
      unit: day
      requests_per_unit: 5
",
    );
    let rule = FileRule {
        name: "messaging/message_type=marketing".to_owned(),
        line: 3,
        entries: vec![entry("message_type", Some("marketing"), &[])],
        limit: Some(FileLimit {
            quota: Quota::per_day(5),
            algorithm: Algorithm::Gcra,
            cost: None,
            max_keys: None,
            over_limit: OverLimit::Refuse,
        }),
    };
    assert_eq!(file, RulesFile { domain: "messaging".to_owned(), rules: vec![rule] });
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
    assert_eq!(from_toml, file);
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
    assert_eq!(from_yaml.rules.iter().map(|rule| rule.line).collect::<Vec<_>>(), [7, 11]);
    assert_eq!(from_toml.rules.iter().map(|rule| rule.line).collect::<Vec<_>>(), [6, 11]);
    let without_lines = |mut file: RulesFile| {
        file.rules.iter_mut().for_each(|rule| rule.line = 0);
        file
    };
    assert_eq!(without_lines(from_yaml), without_lines(from_toml));
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
    let names: Vec<_> = file.rules.iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["d/tenant", "d/tenant/user", "d/tenant/user/path=/a/b"]);
    assert_eq!(
        file.rules[2].entries,
        [entry("tenant", None, &[]), entry("user", None, &[]), entry("path", Some("/a/b"), &[])]
    );
    assert_eq!(file.rules.iter().map(|rule| rule.line).collect::<Vec<_>>(), [3, 6, 9]);
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
    let wildcard = entry("user", None, &["ann", "bob"]);
    assert_eq!(file.rules[0].entries, std::slice::from_ref(&wildcard));
    assert_eq!(file.rules[1].entries[0], wildcard, "nested rules have the same exceptions");
    assert_eq!(file.rules[3].limit, None);
}

#[test]
fn every_field_of_a_limit_counts() {
    let usual = limit("unit: minute, requests_per_unit: 7");
    assert_eq!((usual.quota, usual.cost), (Quota::per_minute(7), None));
    for (unit, seconds) in
        [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400), ("week", 604_800)]
    {
        let quota = limit(&format!("unit: {unit}, requests_per_unit: 7")).quota;
        assert_eq!(quota, Quota::new(7, Duration::from_secs(seconds)), "{unit}");
    }
    let window = limit("window: 1m 30s, requests_per_unit: 7").quota.window();
    assert_eq!(window, Duration::from_secs(90));
    let full = limit("unit: hour, requests_per_unit: 100, burst: 20, cost: 20, unlimited: false");
    assert_eq!((full.quota, full.cost), (Quota::per_hour(100).burst(20), Some(20)));
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
    assert_eq!(usual.max_keys, None);
    assert_eq!(limit("unit: day, requests_per_unit: 7, max_keys: 9").max_keys, Some(9));
    assert_eq!(limit("unit: day, requests_per_unit: 0").quota, Quota::per_day(0));
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
        assert_eq!(file.rules[0].limit.as_ref().unwrap().over_limit, over_limit, "{field}");
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
    assert_eq!(file.rules[0].name, format!("{domain}/header.x-plan=50%25%20%22off%22"));
    assert_eq!(file.rules[1].name, "by-plan");
}

#[test]
fn a_value_in_yaml_needs_no_quotes() {
    let file = yaml(
        "domain: d
descriptors:
  - { key: user, value: 007, rate_limit: { unlimited: true } }
  - { key: user, value: true, rate_limit: { unlimited: true } }
",
    );
    assert_eq!(file.rules[0].entries, [entry("user", Some("007"), &[])]);
    assert_eq!(file.rules[1].entries, [entry("user", Some("true"), &[])]);
}

#[test]
fn a_byte_order_mark_and_an_empty_list_are_accepted() {
    assert_eq!(yaml("\u{feff}domain: d\r\ndescriptors: []\r\n").rules, []);
    assert_eq!(toml("\u{feff}domain = 'd'\r\ndescriptors = []\r\n").rules, []);
}

#[test]
fn a_file_is_found_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yml");
    let error = RulesFile::load(&path, &REGISTERED).unwrap_err();
    assert_eq!(error.line(), None);
    assert!(error.to_string().contains("limits.yml: cannot be read: "), "{error}");
    assert!(std::error::Error::source(&error).is_some());

    std::fs::write(&path, "domain: d\ndescriptors: []\n").unwrap();
    assert_eq!(RulesFile::load(&path, &REGISTERED).unwrap().domain, "d");
}
