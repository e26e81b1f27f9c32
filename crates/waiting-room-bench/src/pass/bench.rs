//! The two tables: behind axum, and without it.

use anyhow::Result;
use http::StatusCode;
use tower::{Layer, Service, ServiceExt};
use tower_waiting_room::{MemoryStore, StoreFailure, WaitingRoomLayer};

use super::{behind_axum::BEHIND_AXUM, without_axum::WITHOUT_AXUM};
use crate::{
    case::Group,
    effort::Effort,
    measure::{Counting, Counts, Samples, count, time},
    report::{Bar, NONE, Report, figure, range},
    setting::{CountingStore, Ready, Template, config, runtime, token},
};

/// Measures, and prints.
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
    let (times, counts) = (time(cases, effort), count(group, effort, counting)?);
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

/// How often the store is asked for one request with a valid pass.
fn store_calls_per_request() -> f64 {
    const REQUESTS: u32 = 100;
    let config = config().build().expect("the config is right");
    let store = MemoryStore::new(config.rules().clone()).expect("the rules are right");
    let store = CountingStore::new(store);
    let layer = WaitingRoomLayer::with_store(config, store.clone(), StoreFailure::Wait);
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

/// The rows that others are compared with, in both groups.
const FLOOR: usize = 0;
const FORWARDING: usize = 1;

const OURS: &str = "+ waiting room, valid pass";

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
    fn the_cases_that_are_compared_stand_where_they_are_looked_for() {
        for group in [BEHIND_AXUM, WITHOUT_AXUM] {
            assert!(group.cases()[FLOOR].name.contains("floor"));
            assert_eq!(group.cases()[FORWARDING].name, "+ a layer that forwards");
            assert!(ours(group) > FORWARDING);
        }
    }

    #[test]
    fn a_layer_that_forwards_allocates_nothing_itself() {
        let [floor, forwarding] = [FLOOR, FORWARDING].map(|case| allocations(WITHOUT_AXUM, case));
        assert_eq!(floor, forwarding);
    }

    #[test]
    fn a_valid_pass_allocates_twice_at_most_more_than_a_layer_that_forwards() {
        let group = BEHIND_AXUM;
        let [forwarding, ours] = [FORWARDING, ours(group)].map(|case| allocations(group, case));
        assert!(ours <= forwarding + 2, "{ours} against {forwarding}");
    }
}
