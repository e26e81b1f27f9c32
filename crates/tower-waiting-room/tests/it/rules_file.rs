//! Limits from a file: the requests that they cover, and the effect of a changed file.

mod values;

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use http::Request;
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig,
    config::{ConfigErrorKind, WaitingRoomConfigBuilder},
    rate::RulesFileError,
    request::PeerAddr,
};

use crate::support::{House, Seen};

/// A folder that contains a rules file.
struct Rules {
    folder: tempfile::TempDir,
}

impl Rules {
    fn new(text: &str) -> Self {
        let rules = Self { folder: tempfile::tempdir().unwrap() };
        rules.write(text);
        rules
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("limits.yaml")
    }

    /// Replaces the file by another one, as editors do.
    fn write(&self, text: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path()).unwrap();
    }

    fn config(&self) -> WaitingRoomConfigBuilder {
        WaitingRoomConfig::builder("api").rate_limits_file(self.path()).descriptor("plan", |head| {
            let plan = head.headers().get("x-plan")?;
            plan.to_str().ok().map(str::to_owned)
        })
    }
}

async fn send(house: &House, request: http::request::Builder) -> Seen {
    let peer = SocketAddr::from(([192, 0, 2, 1], 40_000));
    house.send(request.extension(PeerAddr(peer)).body(String::new()).unwrap()).await
}

async fn allowed(house: &House, plan: &str, times: u32) -> u32 {
    let mut allowed = 0;
    for _ in 0..times {
        let seen = send(house, Request::get("/").header("x-plan", plan)).await;
        allowed += u32::from(seen.is_inside());
    }
    allowed
}

/// Waits until the error of the rules file, or its absence, is as expected.
async fn until(house: &House, holds: impl Fn(Option<RulesFileError>) -> bool) {
    let handle = house.handle();
    let soon = async {
        while !holds(handle.limits().file_error()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), soon).await.expect("the file was noticed");
}

/// Rules for each value of a key, for one value, and for a value without a limit.
const PLANS: &str = "
domain: api
descriptors:
  - key: plan
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: plan
    value: gold
    rate_limit: { unit: minute, requests_per_unit: 4 }
  - key: plan
    value: internal
    rate_limit: { unlimited: true }
";

#[tokio::test]
async fn a_rule_applies_to_each_value_or_to_the_one_it_names() {
    let rules = Rules::new(PLANS);
    let house = House::new(rules.config());
    assert_eq!(allowed(&house, "free", 9).await, 2);
    assert_eq!(allowed(&house, "basic", 9).await, 2);
    assert_eq!(allowed(&house, "gold", 9).await, 4);
    assert_eq!(allowed(&house, "internal", 9).await, 9);
    assert!(send(&house, Request::get("/")).await.is_inside());
    let refused = send(&house, Request::get("/").header("x-plan", "gold")).await;
    assert_eq!(refused.reason, "refused:rate:api/plan=gold");
}

#[tokio::test]
async fn a_changed_file_applies_at_once_and_keeps_the_keys_of_unchanged_rules() {
    let rules = Rules::new(PLANS);
    let house = House::new(rules.config());
    assert_eq!(allowed(&house, "free", 2).await, 2);
    assert_eq!(allowed(&house, "gold", 1).await, 1);

    rules.write("domain: [");
    until(&house, |error| error.is_some()).await;
    let error = house.handle().limits().file_error().unwrap();
    assert!(error.path().ends_with("limits.yaml"), "{error}");
    assert_eq!(error.line(), Some(1), "{error}");
    assert_eq!(allowed(&house, "free", 1).await, 0);

    rules.write(&PLANS.replace("requests_per_unit: 4", "requests_per_unit: 8"));
    until(&house, |error| error.is_none()).await;
    // The rule of "free" is unchanged, so its quota stays used up. Of the quota of "gold", a
    // quarter was used, and a quarter of the larger quota is used now.
    assert_eq!(allowed(&house, "free", 1).await, 0);
    assert_eq!(allowed(&house, "gold", 9).await, 6);
}

#[tokio::test]
async fn a_file_with_a_name_used_in_code_applies_once_the_name_is_free() {
    let rules = Rules::new(PLANS);
    let taken = RateLimit::global(Quota::per_minute(100));
    let house = House::new(rules.config().rate_limit(taken));
    let rule = "requests_per_unit: 1, name: service";
    rules.write(&PLANS.replace("requests_per_unit: 2", rule));
    until(&house, |error| error.is_some()).await;
    assert_eq!(allowed(&house, "free", 9).await, 2);

    house.handle().limits().change(|_| Vec::new()).unwrap();
    assert!(house.handle().limits().file_error().is_none());
    assert_eq!(allowed(&house, "basic", 9).await, 1);
}

#[tokio::test]
async fn an_invalid_file_at_startup_is_an_error_with_its_line() {
    let rules = Rules::new(
        "domain: api\ndescriptors:\n  - { key: plan, rate_limit: { requests_per_unit: 5, unit: year } }\n",
    );
    let error = rules.config().build().unwrap_err();
    assert_eq!(error.field(), "rate_limits_file");
    let given = error.given();
    let place = "limits.yaml:3:60: descriptors[0].rate_limit.unit is";
    assert!(given.contains(place) && given.ends_with("\"year\""), "{error}");
    assert!(error.expected().starts_with("second, minute"), "{error}");

    let missing = WaitingRoomConfig::builder("api").rate_limits_file("/nowhere/limits.yaml");
    let error = missing.build().unwrap_err();
    assert!(error.given().contains("/nowhere/limits.yaml: cannot be read"), "{error}");
}

#[test]
fn descriptors_need_a_file_and_names_of_their_own() {
    let error = WaitingRoomConfig::builder("api").descriptor("plan", |_| None).build();
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::Missing);
    assert_eq!(
        error.to_string(),
        "rate_limits_file is missing, expected the path of a rules file, because the option \
         descriptor is set"
    );
    for name in ["path", "header.x-plan"] {
        let error = Rules::new(PLANS).config().descriptor(name, |_| None).build().unwrap_err();
        let expected = "a name that is neither built in nor already used";
        assert_eq!(error.to_string(), format!("descriptor is {name:?}, expected {expected}"));
    }
    let error = Rules::new(PLANS).config().descriptor("plan", |_| None).build().unwrap_err();
    assert!(error.to_string().starts_with("descriptor is \"plan\", expected"), "{error}");
}

#[test]
fn the_keys_of_all_rules_together_are_bounded() {
    let rules = |keys: [u32; 2]| {
        let rule = |key: &str, keys: u32| {
            let limit = format!("unit: minute, requests_per_unit: 5, max_keys: {keys}");
            format!("  - {{ key: {key}, rate_limit: {{ {limit} }} }}\n")
        };
        let [plan, path] = keys;
        let rules = rule("plan", plan) + &rule("path", path);
        Rules::new(&format!("domain: api\ndescriptors:\n{rules}")).config().build()
    };
    assert!(rules([16_777_215, 1]).is_ok());
    let error = rules([16_777_215, 2]).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    assert_eq!(
        error.to_string(),
        "max_keys is 16777217 for all limits together, expected at most 16777216"
    );
}

/// With tables of the default size, a thousand rules would take two gigabytes, and exceed the limit
/// on keys.
#[tokio::test]
async fn a_rule_with_named_values_only_remembers_one_key() {
    let rule = |n| {
        let limit = "rate_limit: { unit: minute, requests_per_unit: 1 }";
        format!("  - {{ key: plan, value: p{n}, {limit} }}\n")
    };
    let rules: String = (0..1_000).map(rule).collect();
    let rules = Rules::new(&format!("domain: api\ndescriptors:\n{rules}"));
    let house = House::new(rules.config());
    assert_eq!(allowed(&house, "p999", 2).await, 1);
    assert_eq!(allowed(&house, "p1", 2).await, 1);
}

#[tokio::test]
async fn rules_of_a_file_and_of_code_apply_together() {
    let rules = Rules::new(PLANS);
    let house = House::new(rules.config().rate_limit(RateLimit::global(Quota::per_minute(5))));
    assert_eq!(allowed(&house, "free", 9).await + allowed(&house, "gold", 9).await, 5);

    let limit = RateLimit::global(Quota::per_minute(5));
    let error = rules
        .config()
        .rate_limit(RateLimit::new(
            "api/plan",
            Quota::per_minute(1),
            tower_waiting_room::Key::path(),
        ))
        .rate_limit(limit)
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "rate_limit is \"api/plan\" twice, expected a different name for each limit"
    );
}
