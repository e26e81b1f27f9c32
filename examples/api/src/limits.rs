//! The limits that are defined in code, because they need to know the users, or what a request
//! costs.
//!
//! The limits that an operator may want to change at run time are in the rules file. A real service
//! would look up keys by their hash. The relevant point here is that only existing keys count: a
//! client that makes up a key is anonymous, and limited by its address.

use std::path::Path;

use http::{HeaderMap, Method};
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig,
    config::WaitingRoomConfigBuilder,
    rate::{Algorithm, OverLimit, Refusals},
    request::{Bypass, RequestHead},
};

/// All limits: those of this module, and those of the rules file.
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

/// A number of requests per minute for each user, by plan. A client without a user is identified by
/// its address.
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

/// Five attempts to log in within any minute. Refused attempts count too, so a client that keeps
/// trying stays locked out until it stops.
fn login() -> RateLimit {
    RateLimit::new("login", Quota::per_minute(5), Key::address())
        .algorithm(Algorithm::SlidingLog(Refusals::Count))
        .methods([Method::POST])
        .path("/login")
}

/// A soft limit: a list over the limit is answered, but shortened.
fn long_lists() -> RateLimit {
    RateLimit::new("long_lists", Quota::per_minute(3), Key::address())
        .path("/quotes")
        .over_limit(OverLimit::Mark)
}

/// The name of the user that the key of the request belongs to.
fn user(head: &RequestHead<'_>) -> Option<String> {
    user_of(head.headers()).map(|user| user.name.to_owned())
}

/// The cost that a request for an essay is charged before the essay is written.
pub(crate) const ESSAY_ESTIMATE: u64 = 5;

/// The name of the limit with which an essay settles its cost.
pub(crate) const PLAN: &str = "plan";

/// The plan that a client has subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Anonymous,
    Free,
    Gold,
}

/// A user, who has a key.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
    pub(crate) key: &'static str,
    plan: Plan,
}

impl Plan {
    /// The plan of the client that sent these headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        user_of(headers).map_or(Self::Anonymous, |user| user.plan)
    }

    /// The name of the plan in the rules file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Free => "free",
            Self::Gold => "gold",
        }
    }
}

/// The user whose key is in these headers.
pub(crate) fn user_of(headers: &HeaderMap) -> Option<&'static User> {
    let key = headers.get(KEY_HEADER)?;
    USERS.iter().find(|user| user.key == key)
}

/// The header that carries the key.
pub(crate) const KEY_HEADER: &str = "x-api-key";

/// The users of the demonstration; their passwords and keys are not secret.
pub(crate) const USERS: [User; 2] = [
    User { name: "ann", password: "swordfish", key: "gold-demo", plan: Plan::Gold },
    User { name: "bob", password: "rosebud", key: "free-demo", plan: Plan::Free },
];
