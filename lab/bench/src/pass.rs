//! The cost of the layer for a visitor with a valid pass, behind axum and without it.

use std::{hint::black_box, time::Duration};

use anyhow::Result;
use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn_with_state},
    response::IntoResponse,
};
use axum_extra::extract::cookie::{Cookie, Key, PrivateCookieJar};
use http::StatusCode;
use tower::{Layer, Service, ServiceExt, layer::layer_fn};
use tower_governor::{GovernorLayer, governor::GovernorConfigBuilder};
use tower_waiting_room::{
    StoreFailure, WaitingRoomLayer,
    room::{MemoryStore, RoomMode},
};

use crate::{
    case::{Case, Group, Repeat},
    effort::Effort,
    figure::{Bar, NONE, figure, range},
    report::Report,
    requests::{Template, drive, drive_router, hello, runtime},
    rounds::{Samples, time},
    services::{Deciding, Forwarding, Ready},
    valgrind::{Counting, Counts, count},
    visitors::{CountingStore, config, cookie_of, token},
};

/// Measures both groups, and prints the tables.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    for (group, title) in [
        (BEHIND_AXUM, "A visitor with a valid pass, through axum's Router::layer"),
        (WITHOUT_AXUM, "A visitor with a valid pass, without axum"),
    ] {
        println!("{}", report(group, title, effort, counting)?);
    }
    Ok(())
}

fn report(group: Group, title: &str, effort: Effort, counting: Counting) -> Result<Report> {
    let cases = group.cases();
    let times = time(cases, effort);
    let counts = count(group, effort, counting)?;
    let mut report = Report::new(title, "pass", effort, &COLUMNS);
    for ((case, ns), counted) in cases.iter().zip(&times).zip(&counts) {
        let over_floor = ns.over(&times[FLOOR]);
        let cell = |field: fn(&Counts) -> f64| {
            counted.as_ref().map_or(NONE.to_owned(), |counts| figure(field(counts)))
        };
        let (calls, verdict) = if case.name == OURS {
            let calls = store_calls_per_request();
            let allocations = counted.zip(counts[FORWARDING]);
            let allocations = allocations.map(|(ours, floor)| ours.allocations - floor.allocations);
            (figure(calls), verdict(&over_floor, allocations, calls))
        } else {
            (NONE.to_owned(), NONE.to_owned())
        };
        report.row([
            case.name.to_owned(),
            figure(ns.median()),
            range(ns),
            figure(ns.ratio_to(&times[FLOOR]).median()),
            figure(over_floor.median()),
            figure(ns.over(&times[FORWARDING]).median()),
            cell(|counts| counts.instructions),
            cell(|counts| counts.allocations),
            cell(|counts| counts.bytes),
            calls,
            verdict,
        ]);
    }
    report.note("One thread; every request is a clone of one with four headers and four cookies.");
    report.note("The bars: time over the floor, allocations over a layer that forwards.");
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn verdict(over_floor: &Samples, allocations: Option<f64>, calls: f64) -> String {
    Bar::all(&[
        Bar::at_most("added ns", 1_000.0, over_floor.median()),
        Bar::at_most("added allocations", 2.0, allocations),
        Bar::at_most("store calls", 0.0, calls),
    ])
}

/// Counts the calls of the store for one request with a valid pass.
fn store_calls_per_request() -> f64 {
    const REQUESTS: u32 = 100;
    let config = config().build().expect("the config is right");
    let store = MemoryStore::new(config.room().expect("a room is configured").clone())
        .expect("the rules are right");
    let store = CountingStore::new(store);
    let config = config.into_builder().room_store(store.clone(), StoreFailure::Wait);
    let layer = WaitingRoomLayer::new(config.build().expect("the store has the rules"));
    runtime().block_on(async {
        let cookie = format!("__Host-wr-shop={}", token(&layer).await);
        let template = Template::new([cookie.as_str()]);
        let mut service = layer.layer(Ready);
        let before = store.calls();
        for _ in 0..REQUESTS {
            let Ok(service) = service.ready().await;
            let Ok(response) = service.call(template.request(())).await;
            assert_eq!(response.status(), StatusCode::OK, "the pass is valid");
        }
        f64::from(store.calls() - before) / f64::from(REQUESTS)
    })
}

const COLUMNS: [&str; 11] = [
    "case",
    "ns/op",
    "min..max",
    "x floor",
    "ns over floor",
    "ns over forwarding",
    "instr/op",
    "allocs/op",
    "bytes/op",
    "store calls",
    "bars",
];

/// The rows with which others are compared, in both groups.
const FLOOR: usize = 0;
const FORWARDING: usize = 1;

const OURS: &str = "+ waiting room, valid pass";

/// The bare router (the floor), two layers that do nothing, ours, and others.
pub(crate) const BEHIND_AXUM: Group = Group::new(
    "behind-axum",
    &[
        Case { name: "bare Router (the floor)", set_up: || behind(hello(), "other=1") },
        Case { name: "+ a layer that forwards", set_up: forwarding },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding },
        Case { name: "+ waiting room, valid pass", set_up: waiting_room },
        Case { name: "+ tower_governor, peer IP, 1 key", set_up: governor },
        Case { name: "+ PrivateCookieJar, read and rewrite", set_up: private_cookie_jar },
        Case { name: "the request alone: cloned and dropped", set_up: request_alone },
    ],
);

fn forwarding() -> Repeat {
    behind(hello().layer(layer_fn(Forwarding)), "other=1")
}

fn deciding() -> Repeat {
    behind(hello().layer(layer_fn(Deciding)), "other=1")
}

fn waiting_room() -> Repeat {
    let config = config().build().expect("the config is right");
    let layer = WaitingRoomLayer::new(config);
    let pass = runtime().block_on(token(&layer));
    behind(hello().layer(layer.for_axum()), &format!("__Host-wr-shop={pass}"))
}

fn governor() -> Repeat {
    // A quota that no benchmark exhausts.
    let config = GovernorConfigBuilder::default()
        .period(Duration::from_nanos(1))
        .burst_size(u32::MAX)
        .finish()
        .expect("neither the period nor the burst is zero");
    behind(hello().layer(GovernorLayer::new(config)), "other=1")
}

fn private_cookie_jar() -> Repeat {
    let (layered, cookie) = rewriting(hello());
    behind(layered, &cookie)
}

fn request_alone() -> Repeat {
    let template = Template::new(["other=1"]).with_peer();
    Repeat::new(move |times| {
        for _ in 0..times {
            black_box(template.request(Body::empty()));
        }
    })
}

/// Sends requests with this cookie, among others, to a router.
fn behind(router: Router, cookie: &str) -> Repeat {
    drive_router(router, Template::new([cookie]).with_peer())
}

/// The bare service (the floor), two layers that do nothing, and ours.
pub(crate) const WITHOUT_AXUM: Group = Group::new(
    "without-axum",
    &[
        Case { name: "a ready service (the floor)", set_up: floor },
        Case { name: "+ a layer that forwards", set_up: forwarding_alone },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding_alone },
        Case { name: "+ waiting room, valid pass", set_up: valid_pass },
        Case { name: "+ waiting room, suspended", set_up: suspended },
    ],
);

fn floor() -> Repeat {
    drive(Ready, Template::new(["other=1"]), || ())
}

fn forwarding_alone() -> Repeat {
    drive(layer_fn(Forwarding).layer(Ready), Template::new(["other=1"]), || ())
}

fn deciding_alone() -> Repeat {
    drive(layer_fn(Deciding).layer(Ready), Template::new(["other=1"]), || ())
}

fn valid_pass() -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let pass = format!("__Host-wr-shop={}", runtime().block_on(token(&layer)));
    drive(layer.layer(Ready), Template::new([pass.as_str()]), || ())
}

fn suspended() -> Repeat {
    let config = config().mode(RoomMode::Suspended).build().expect("the config is right");
    let layer = WaitingRoomLayer::new(config);
    drive(layer.layer(Ready), Template::new(["other=1"]), || ())
}

/// Returns the router behind a middleware that rewrites a private cookie, and such a cookie.
fn rewriting(router: Router) -> (Router, String) {
    let key = Key::from(&[7; 64]);
    let response = PrivateCookieJar::new(key.clone()).add(session()).into_response();
    let value = cookie_of(&response).expect("the jar sets its only cookie");
    (router.layer(from_fn_with_state(key, rewrite)), format!("{NAME}={value}"))
}

async fn rewrite(jar: PrivateCookieJar, request: Request, next: Next) -> impl IntoResponse {
    let session = jar.get(NAME).expect("every request has the cookie");
    (jar.add(Cookie::new(NAME, session.value().to_owned())), next.run(request).await)
}

/// Returns a cookie as long as the content of a pass.
fn session() -> Cookie<'static> {
    Cookie::new(NAME, "0123456789abcdef0123456789abcdef0123456789abcdef")
}

const NAME: &str = "session-of-naive";

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations(group: Group, case: usize) -> u64 {
        group.cases()[case].allocations()
    }

    fn ours(group: Group) -> usize {
        group.cases().iter().position(|case| case.name == OURS).expect("it is in both groups")
    }

    #[test]
    fn a_valid_pass_asks_no_store() {
        assert!(store_calls_per_request() < f64::EPSILON);
    }

    #[test]
    fn the_compared_cases_are_at_their_indices() {
        for group in [BEHIND_AXUM, WITHOUT_AXUM] {
            assert!(group.cases()[FLOOR].name.contains("floor"));
            assert_eq!(group.cases()[FORWARDING].name, "+ a layer that forwards");
            assert!(ours(group) > FORWARDING);
        }
    }

    #[test]
    fn a_forwarding_layer_allocates_nothing_itself() {
        let [floor, forwarding] = [FLOOR, FORWARDING].map(|case| allocations(WITHOUT_AXUM, case));
        assert_eq!(floor, forwarding);
    }

    #[test]
    fn a_valid_pass_allocates_at_most_once_more_than_a_forwarding_layer() {
        let group = BEHIND_AXUM;
        let [forwarding, ours] = [FORWARDING, ours(group)].map(|case| allocations(group, case));
        assert!(ours <= forwarding + 1, "{ours} against {forwarding}");
    }
}
