//! The limits that are a matter of code: whom they tell apart, and what a request costs.
//!
//! What the operator may want to change while the API runs is in the rules file.

use std::path::Path;

use http::Method;
use tower_waiting_room::{
    Algorithm, Bypass, Key, OverLimit, Quota, RateLimit, Refusals, RequestHead, WaitingRoomConfig,
    WaitingRoomConfigBuilder,
};

use crate::{
    essays,
    keys::{Plan, user_of},
};

/// All limits, with those of this file.
pub(crate) fn limits(file: &Path) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
        .bypass(Bypass::path("health", "/healthz"))
        .rate_limit(RateLimit::per_ip(Quota::per_minute(1_200).burst(200)))
        .rate_limit(plan())
        .rate_limit(login())
        .rate_limit(long_lists())
        .descriptor("plan", |head| Some(Plan::of(head.headers()).as_str().to_owned()))
        .descriptor("user", user)
        .rate_limits_file(file)
}

/// So much a minute for each user, by plan. Whoever is none has an address.
fn plan() -> RateLimit {
    RateLimit::new(PLAN, Quota::per_minute(10), Key::by("user", user))
        .tier(Quota::per_minute(60), |head| Plan::of(head.headers()) == Plan::Free)
        .tier(Quota::per_minute(600), |head| Plan::of(head.headers()) == Plan::Gold)
        .cost_by(|head| match head.uri().path() {
            "/essays" => essays::ESTIMATE,
            _ => 1,
        })
        .adjustable()
}

/// Five attempts to log in within any minute. Who goes on trying is kept out until he stops.
fn login() -> RateLimit {
    RateLimit::new("login", Quota::per_minute(5), Key::address())
        .algorithm(Algorithm::SlidingLog(Refusals::Count))
        .methods([Method::POST])
        .path("/login")
}

/// Over this one, a list is answered, but a shorter one.
fn long_lists() -> RateLimit {
    RateLimit::new("long_lists", Quota::per_minute(3), Key::address())
        .path("/quotes")
        .over_limit(OverLimit::Mark)
}

/// The name of whoever has a key.
fn user(head: &RequestHead<'_>) -> Option<String> {
    user_of(head.headers()).map(|user| user.name.to_owned())
}

/// The limit that an essay settles its cost with.
pub(crate) const PLAN: &str = "plan";
