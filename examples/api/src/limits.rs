//! The limits that are a matter of code: whom they tell apart, and what a request costs.
//!
//! What the operator may want to change while the API runs is in the rules file. A real service looks
//! keys up by their hash. What matters here is that only keys that exist count as keys: a client that
//! makes one up is anonymous, and limited by address.

use std::path::Path;

use http::{HeaderMap, Method};
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig,
    config::WaitingRoomConfigBuilder,
    rate::{Algorithm, OverLimit, Refusals},
    request::{Bypass, RequestHead},
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
    RateLimit::new(PLAN, Quota::per_minute(10), Key::from_fn("user", user))
        .tier(Quota::per_minute(60), |head| Plan::of(head.headers()) == Plan::Free)
        .tier(Quota::per_minute(600), |head| Plan::of(head.headers()) == Plan::Gold)
        .cost_by(|head| match head.uri().path() {
            "/essays" => ESSAY_ESTIMATE,
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

/// What a request for an essay is charged before it is written.
pub(crate) const ESSAY_ESTIMATE: u64 = 5;

/// The limit that an essay settles its cost with.
pub(crate) const PLAN: &str = "plan";

/// What a client has paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Anonymous,
    Free,
    Gold,
}

/// Somebody with a key.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
    pub(crate) key: &'static str,
    plan: Plan,
}

impl Plan {
    /// The plan of whoever sends these headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        user_of(headers).map_or(Self::Anonymous, |user| user.plan)
    }

    /// The name in the rules file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Free => "free",
            Self::Gold => "gold",
        }
    }
}

/// Whose key is in these headers.
pub(crate) fn user_of(headers: &HeaderMap) -> Option<&'static User> {
    let key = headers.get(KEY_HEADER)?;
    USERS.iter().find(|user| user.key == key)
}

/// The header that a key is sent in.
pub(crate) const KEY_HEADER: &str = "x-api-key";

/// For the demonstration: these keys are no secret.
pub(crate) const USERS: [User; 2] = [
    User { name: "ann", password: "swordfish", key: "gold-demo", plan: Plan::Gold },
    User { name: "bob", password: "rosebud", key: "free-demo", plan: Plan::Free },
];
