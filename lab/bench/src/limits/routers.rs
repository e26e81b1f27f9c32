//! Applications behind rate limits, ours and those of others, and requests that they allow.

use std::time::Duration;

use axum::{Router, error_handling::HandleErrorLayer};
use http::StatusCode;
use tower::{ServiceBuilder, layer::layer_fn};
use tower_governor::{GovernorLayer, governor::GovernorConfigBuilder};
use tower_resilience_ratelimiter::RateLimiterLayer;
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer, rate::RateHeaders,
};

use super::turns::Outcome::{self, Allowed};
use crate::{
    case::{Case, Group, Repeat},
    requests::{Template, drive_router, hello},
    services::{Deciding, Forwarding},
};

/// Whether responses carry headers about the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Headers {
    All,
    None,
}

/// Returns an application behind one limit per address.
pub(super) fn ours(outcome: Outcome, headers: Headers) -> Router {
    layered([RateLimit::per_ip(quota(outcome))], headers)
}

/// Returns an application behind a limit for another path than that of the requests.
fn idle() -> Router {
    layered([RateLimit::per_ip(quota(Outcome::Allowed)).path("/login")], Headers::All)
}

/// Returns a limit per address that is never used up.
pub(crate) fn never_used_up() -> RateLimit {
    RateLimit::per_ip(quota(Outcome::Allowed))
}

/// Returns an application behind a limit per address and a global one.
pub(super) fn two_of_ours() -> Router {
    let quota = quota(Outcome::Allowed);
    layered([RateLimit::per_ip(quota), RateLimit::global(quota)], Headers::All)
}

fn layered(limits: impl IntoIterator<Item = RateLimit>, headers: Headers) -> Router {
    let headers = match headers {
        Headers::All => RateHeaders::Common,
        Headers::None => RateHeaders::None,
    };
    let config = WaitingRoomConfig::builder("shop").rate_headers(headers);
    let config = limits.into_iter().fold(config, |config, limit| config.rate_limit(limit));
    hello().layer(WaitingRoomLayer::new(config.build().expect("the config is right")).for_axum())
}

/// Applies tower_governor, by the address of the peer, which is its default.
pub(super) fn governor(app: Router, outcome: Outcome, headers: Headers) -> Router {
    let (period, burst) = match outcome {
        Outcome::Allowed => (Duration::from_nanos(1), BURST),
        Outcome::Refused => (LONG, 1),
    };
    let mut config = GovernorConfigBuilder::default();
    config.period(period).burst_size(burst);
    let wrong = "neither the period nor the burst is zero";
    match headers {
        Headers::All => app.layer(GovernorLayer::new(config.use_headers().finish().expect(wrong))),
        Headers::None => app.layer(GovernorLayer::new(config.finish().expect(wrong))),
    }
}

/// Applies tower_governor with its headers, and a limit that is never used up.
pub(crate) fn governor_with_headers(app: Router) -> Router {
    governor(app, Outcome::Allowed, Headers::All)
}

/// Returns an application behind the limiter of tower-resilience, which has no keys and sends no
/// headers.
pub(super) fn resilience(outcome: Outcome) -> Router {
    let limit = match outcome {
        Outcome::Allowed => usize::MAX,
        Outcome::Refused => 1,
    };
    let layer = RateLimiterLayer::builder()
        .limit_for_period(limit)
        .refresh_period(LONG)
        .timeout_duration(Duration::ZERO)
        .build()
        .expect("neither the limit nor the period is zero");
    let refuse = HandleErrorLayer::new(|_| async { StatusCode::TOO_MANY_REQUESTS });
    hello().layer(ServiceBuilder::new().layer(refuse).layer(layer))
}

/// Returns a quota that is never used up, or one that the first request uses up.
fn quota(outcome: Outcome) -> Quota {
    match outcome {
        Outcome::Allowed => Quota::per_second(1_000_000_000).burst(BURST.into()),
        Outcome::Refused => Quota::new(1, LONG),
    }
}

/// A usual burst, so that the numbers in the headers have their usual length. It is replenished
/// before the next request.
const BURST: u32 = 100;

/// Longer than any measurement.
const LONG: Duration = Duration::from_secs(900);

/// The bare router (the floor), two layers that do nothing, ours, and others.
pub(crate) const ADMITTED: Group = Group::new(
    "admitted",
    "Admitted by limits, through axum's Router::layer",
    &[
        Case { name: "bare Router (the floor)", set_up: || sent_to(hello()) },
        Case { name: "+ a layer that forwards", set_up: forwarding },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding },
        Case { name: "+ ours, a limit by IP, all headers", set_up: || limited(Headers::All) },
        Case { name: "+ ours, a limit by IP, no headers", set_up: || limited(Headers::None) },
        Case { name: "+ ours, a limit for another path", set_up: || sent_to(idle()) },
        Case { name: "+ ours, two limits, all headers", set_up: || sent_to(two_of_ours()) },
        Case { name: "+ tower_governor, by IP", set_up: || governed(Headers::None) },
        Case { name: "+ tower_governor, by IP, use_headers", set_up: || governed(Headers::All) },
        Case { name: "+ tower-resilience, no key", set_up: || sent_to(resilience(Allowed)) },
    ],
);

fn forwarding() -> Repeat {
    sent_to(hello().layer(layer_fn(Forwarding)))
}

fn deciding() -> Repeat {
    sent_to(hello().layer(layer_fn(Deciding)))
}

fn limited(headers: Headers) -> Repeat {
    sent_to(ours(Allowed, headers))
}

fn governed(headers: Headers) -> Repeat {
    sent_to(governor(hello(), Allowed, headers))
}

fn sent_to(router: Router) -> Repeat {
    drive_router(router, Template::new(["other=1"]).with_peer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_allocates_at_most_twice_and_its_headers_four_times() {
        let of = |name| ADMITTED.case(name).expect("it is in the group").allocations();
        let forwarding = of("+ a layer that forwards");
        let none = of("+ ours, a limit by IP, no headers") - forwarding;
        let all = of("+ ours, a limit by IP, all headers") - forwarding;
        assert!(none <= 2 && all <= none + 4, "{none} without headers, {all} with all");
    }
}
