use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use sfv::{
    BareItem, Integer, Item, ItemSerializer, List, ListEntry, ListSerializer, Parser, StringRef,
    key_ref,
};
use waiting_room_core::{
    Quota, Timestamp,
    rate::{Algorithm, Decision},
};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_795_248_000_250);

fn line(name: &str, quota: Quota) -> PolicyLine {
    PolicyLine::new(name, &quota, Algorithm::Gcra, QuotaUnit::Requests).unwrap()
}

fn allowed(remaining: u64, reset: f64) -> Decision {
    Decision::new(100, remaining, Duration::from_secs_f64(reset), Some(Duration::ZERO))
}

fn refused(remaining: u64, retry_after: f64) -> Decision {
    let time = Duration::from_secs_f64(retry_after);
    Decision::new(100, remaining, time, Some(time))
}

/// Formats all headers of a response, one per line.
fn text(headers: &HeaderMap) -> String {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}\n", value.to_str().unwrap())
    };
    headers.iter().map(line).collect()
}

fn written(profile: RateHeaders, status: u16, policies: &[(&PolicyLine, Decision)]) -> String {
    let told: Vec<_> =
        policies.iter().map(|(line, decision)| PolicyState { line, decision: *decision }).collect();
    let mut headers = HeaderMap::new();
    write(&mut headers, StatusCode::from_u16(status).unwrap(), profile.fields(), &told, NOW);
    text(&headers)
}

#[test]
fn every_profile_has_its_own_headers() {
    let line = line("per_ip", Quota::per_minute(100));
    let texts =
        RateHeaders::ALL.map(|profile| written(profile, 200, &[(&line, allowed(50, 29.2))]));
    assert_eq!(
        texts,
        [
            "x-ratelimit-limit: 100\n\
             x-ratelimit-remaining: 50\n\
             x-ratelimit-reset: 1795248030\n\
             ratelimit-policy: \"per_ip\";q=100;w=60\n\
             ratelimit: \"per_ip\";r=50;t=30;wr-limit=100;wr-remaining=50;wr-reset=30\n",
            "x-ratelimit-limit: 100\n\
             x-ratelimit-remaining: 50\n\
             x-ratelimit-reset: 1795248030\n",
            "ratelimit-policy: \"per_ip\";q=100;w=60\n\
             ratelimit: \"per_ip\";r=50;t=30\n",
            "ratelimit-limit: 100\n\
             ratelimit-remaining: 50\n\
             ratelimit-reset: 30\n\
             ratelimit-policy: 100;w=60\n",
            "ratelimit: limit=100, remaining=50, reset=30\n\
             ratelimit-policy: 100;w=60\n",
            "",
            "x-ratelimit-remaining: 50\n\
             x-ratelimit-limit: 100\n",
        ]
    );
}

#[test]
fn an_unused_limit_is_reported_without_a_reset() {
    let line = line("per_ip", Quota::per_minute(100));
    let unused = [(&line, allowed(100, 0.0))];
    let strict = written(RateHeaders::Draft11Strict, 200, &unused);
    assert!(strict.ends_with("ratelimit: \"per_ip\";r=100\n"));
    let text = written(RateHeaders::Combined, 200, &unused);
    assert!(text.contains(";r=100;wr-limit=100;wr-remaining=100;wr-reset=0\n"));
    // The time of the decision, 08:00:00.250, is rounded up to a whole second.
    assert!(text.contains("x-ratelimit-reset: 1795248001\n"));
}

#[test]
fn a_reported_time_is_never_too_short() {
    let line = line("per_ip", Quota::per_minute(100));
    let reset = |reset| written(RateHeaders::Draft6, 200, &[(&line, allowed(1, reset))]);
    assert!(reset(0.0).contains("ratelimit-reset: 0\n"));
    assert!(reset(0.000_000_001).contains("ratelimit-reset: 1\n"));
    assert!(reset(1.0).contains("ratelimit-reset: 1\n"));
    assert!(reset(1.9).contains("ratelimit-reset: 2\n"));
    let at = |reset| written(RateHeaders::Combined, 200, &[(&line, allowed(1, reset))]);
    assert!(at(0.75).contains("x-ratelimit-reset: 1795248001\n"));
    assert!(at(0.76).contains("x-ratelimit-reset: 1795248002\n"));
}

#[test]
fn the_window_of_a_burst_is_the_time_that_replenishes_it() {
    let policy = |quota, algorithm| {
        let line = PolicyLine::new("a", &quota, algorithm, QuotaUnit::Requests).unwrap();
        (line.policy.to_str().unwrap().to_owned(), line.quota.to_str().unwrap().to_owned())
    };
    let told = |policy: &str, quota: &str| (policy.to_owned(), quota.to_owned());
    let quota = Quota::per_minute(120);
    assert_eq!(policy(quota.burst(20), Algorithm::Gcra), told("\"a\";q=20;w=10", "20;w=10"));
    assert_eq!(policy(quota.burst(3), Algorithm::TokenBucket), told("\"a\";q=3;w=2", "3;w=2"));
    assert_eq!(policy(quota.burst(20), Algorithm::LeakyQueue), told("\"a\";q=20", "20"));
    let short = Quota::new(10, Duration::from_millis(100));
    assert_eq!(policy(short, Algorithm::Gcra), told("\"a\";q=10", "10"));
    assert_eq!(policy(quota.burst(1), Algorithm::Gcra), told("\"a\";q=1", "1"));
    let uneven = Quota::new(10, Duration::from_millis(1_001));
    assert_eq!(policy(uneven, Algorithm::Gcra), told("\"a\";q=10;w=2", "10;w=2"));
}

#[test]
fn the_unit_is_reported_unless_it_is_requests() {
    let quota = Quota::new(65_535, Duration::from_secs(10));
    let bytes = PolicyLine::new("b", &quota, Algorithm::Gcra, QuotaUnit::ContentBytes).unwrap();
    assert_eq!(bytes.policy, "\"b\";q=65535;qu=\"content-bytes\";w=10");
}

#[test]
fn single_values_describe_the_binding_policy() {
    let burst = line("burst", Quota::per_minute(100));
    let daily = line("daily", Quota::per_day(1_000));
    let limit = |first, second| {
        let text = written(RateHeaders::XRateLimit, 200, &[(&burst, first), (&daily, second)]);
        text.lines().nth(1).unwrap().to_owned()
    };
    let burst = "x-ratelimit-limit: 100";
    let daily = "x-ratelimit-limit: 1000";
    assert_eq!(limit(allowed(5, 1.0), allowed(9, 1.0)), burst);
    assert_eq!(limit(allowed(9, 1.0), allowed(5, 1.0)), daily);
    assert_eq!(limit(allowed(5, 1.0), allowed(5, 2.0)), daily);
    assert_eq!(limit(allowed(0, 9.0), refused(3, 1.0)), daily);
    assert_eq!(limit(refused(0, 2.0), refused(0, 1.0)), burst);
    let never = Decision::new(100, 100, Duration::ZERO, None);
    assert_eq!(limit(refused(0, 2.0), never), daily);
}

#[test]
fn the_lists_name_every_policy_and_one_of_them_carries_the_triple() {
    let burst = line("burst", Quota::per_minute(100));
    let daily = line("daily", Quota::per_day(1_000));
    let told = [(&burst, allowed(50, 1.0)), (&daily, allowed(7, 80_000.0))];
    assert_eq!(
        written(RateHeaders::Combined, 200, &told),
        "x-ratelimit-limit: 1000\n\
         x-ratelimit-remaining: 7\n\
         x-ratelimit-reset: 1795328001\n\
         ratelimit-policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\n\
         ratelimit: \"burst\";r=50;t=1, \
         \"daily\";r=7;t=80000;wr-limit=1000;wr-remaining=7;wr-reset=80000\n"
    );
    assert!(
        written(RateHeaders::Draft6, 200, &told)
            .ends_with("ratelimit-policy: 100;w=60, 1000;w=86400\n")
    );
}

#[test]
fn limit_headers_of_the_application_are_kept() {
    let line = line("per_ip", Quota::per_minute(100));
    let decision = allowed(50, 30.0);
    let told = [PolicyState { line: &line, decision }];
    let of = |name: &'static str, profile: RateHeaders| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static("7"));
        headers.insert("retry-after", HeaderValue::from_static("9"));
        write(&mut headers, StatusCode::OK, profile.fields(), &told, NOW);
        text(&headers)
    };
    for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        let text = of(name, RateHeaders::Combined);
        assert_eq!(text.matches("x-ratelimit-").count(), 1, "{text}");
        assert!(text.contains("retry-after: 9\n") && text.contains("\nratelimit: \"per_ip\";"));
    }
    let lists = of("ratelimit", RateHeaders::Draft11Strict);
    assert!(lists.starts_with("ratelimit: 7\nratelimit: \"per_ip\";r=50;t=30\n"), "{lists}");
    assert_eq!(of("ratelimit", RateHeaders::Draft7).matches("ratelimit:").count(), 1);
    assert_eq!(of("ratelimit-reset", RateHeaders::Draft6).matches("ratelimit-").count(), 2);
}

#[test]
fn a_redirect_never_reports_zero_remaining() {
    let line = line("per_ip", Quota::per_minute(100));
    let none = [(&line, allowed(0, 1.0))];
    let some = [(&line, allowed(1, 1.0))];
    for profile in [RateHeaders::Combined, RateHeaders::Draft11Strict, RateHeaders::Draft7] {
        assert!(!written(profile, 302, &none).contains("ratelimit: "), "{profile:?}");
        assert!(written(profile, 302, &some).contains("ratelimit: "), "{profile:?}");
        assert!(written(profile, 200, &none).contains("ratelimit: "), "{profile:?}");
        assert!(written(profile, 304, &none).contains("ratelimit-policy: "), "{profile:?}");
    }
}

#[test]
fn no_number_is_too_long_for_a_header() {
    let line = line("per_ip", Quota::new(u64::MAX, Duration::from_secs(1)));
    let most = Decision::new(u64::MAX, u64::MAX, Duration::MAX, Some(Duration::ZERO));
    let text = written(RateHeaders::Combined, 200, &[(&line, most)]);
    let nines = "999999999999999";
    assert_eq!(
        text,
        format!(
            "x-ratelimit-limit: {nines}\n\
             x-ratelimit-remaining: {nines}\n\
             x-ratelimit-reset: 18446744074\n\
             ratelimit-policy: \"per_ip\";q={nines};w=1\n\
             ratelimit: \"per_ip\";r={nines};t={nines};wr-limit={nines};wr-remaining={nines};\
             wr-reset={nines}\n"
        )
    );
}

#[test]
fn a_name_has_to_fit_into_a_structured_field() {
    let odd = line(r#"a "b" \c, d;e=1"#, Quota::per_minute(1));
    assert_eq!(odd.policy, r#""a \"b\" \\c, d;e=1";q=1;w=60"#);
    let long = "x".repeat(MAX_NAME_LEN);
    let new = |name: &str| {
        PolicyLine::new(name, &Quota::per_minute(1), Algorithm::Gcra, QuotaUnit::Requests)
    };
    assert!(new(&long).is_ok());
    for name in ["", "é", "a\nb", "\u{7f}", &format!("{long}x")] {
        let error = new(name).unwrap_err();
        assert_eq!(error.field(), "name", "{name:?}");
        assert_eq!(error.expected(), "1 to 128 printable ASCII characters");
    }
}

proptest! {
    #[test]
    fn the_lists_match_a_structured_field_serializer(
        policies in prop::collection::vec(
            ("[ -~]{1,64}", 0..=Quota::MAX_LIMIT, 1u64..100_000, any::<u64>(), any::<u64>()),
            1..4,
        ),
    ) {
        let lines: Vec<_> = policies.iter().map(|(name, limit, window, remaining, reset)| {
            let quota = Quota::new(*limit, Duration::from_secs(*window));
            let reset = Duration::from_nanos(*reset);
            (line(name, quota), Decision::new(*limit, *remaining, reset, Some(Duration::ZERO)))
        }).collect();
        let told: Vec<_> =
            lines.iter().map(|(line, decision)| PolicyState { line, decision: *decision }).collect();
        let mut headers = HeaderMap::new();
        write(&mut headers, StatusCode::OK, RateHeaders::Draft11Strict.fields(), &told, NOW);

        let mut policy = ListSerializer::new();
        let mut limits = ListSerializer::new();
        for (name, limit, window, remaining, reset) in &policies {
            let name = StringRef::from_str(name).unwrap();
            let integer = |number: u64| {
                Integer::try_from(number.min(Quota::MAX_LIMIT)).unwrap()
            };
            _ = policy
                .bare_item(name)
                .parameter(key_ref("q"), integer(*limit))
                .parameter(key_ref("w"), integer(*window));
            let item = limits.bare_item(name).parameter(key_ref("r"), integer(*remaining));
            if *reset > 0 {
                _ = item.parameter(key_ref("t"), integer(reset.div_ceil(1_000_000_000)));
            }
        }
        prop_assert_eq!(headers["ratelimit-policy"].to_str().unwrap(), policy.finish().unwrap());
        prop_assert_eq!(headers["ratelimit"].to_str().unwrap(), limits.finish().unwrap());
    }

    #[test]
    fn the_lists_with_the_triple_can_be_parsed_back(
        name in "[ -~]{1,64}",
        limit in 0..=Quota::MAX_LIMIT,
        remaining in any::<u64>(),
        reset in any::<u64>(),
    ) {
        let line = line(&name, Quota::new(limit, Duration::from_secs(60)));
        let reset = Duration::from_nanos(reset);
        let decision = Decision::new(limit, remaining, reset, Some(Duration::ZERO));
        let mut headers = HeaderMap::new();
        let told = [PolicyState { line: &line, decision }];
        write(&mut headers, StatusCode::OK, RateHeaders::Combined.fields(), &told, NOW);
        let text = headers["ratelimit"].as_bytes();
        let list: List = Parser::new(text).parse().unwrap();
        let [ListEntry::Item(item)] = &list[..] else { panic!("expected one item, got {list:?}") };
        prop_assert_eq!(item.bare_item.as_string().unwrap().as_str(), &name);
        let number = |key| {
            let number = item.params.get(key).and_then(BareItem::as_integer)?;
            u64::try_from(number).ok()
        };
        let remaining = remaining.min(Quota::MAX_LIMIT);
        let seconds = super::report::seconds(reset);
        prop_assert_eq!(number("r"), Some(remaining));
        prop_assert_eq!(number("t"), (seconds > 0).then_some(seconds));
        prop_assert_eq!(number("wr-limit"), Some(limit));
        prop_assert_eq!(number("wr-remaining"), Some(remaining));
        prop_assert_eq!(number("wr-reset"), Some(seconds));
        let again = ItemSerializer::new().bare_item(&item.bare_item).parameters(&item.params);
        prop_assert_eq!(again.finish().into_bytes(), text);
        let _: Item = Parser::new(headers["ratelimit-policy"].as_bytes()).parse().unwrap();
    }
}
