//! The rows with instructions and allocations, their bars, their ceilings, and the case that no
//! other table has: everything at once.

use axum::Router;
use tower_waiting_room::WaitingRoomLayer;

use crate::{
    answers,
    case::{Case, Group, Repeat},
    gate,
    limits::{self, THOUSAND, governor_with_headers, never_used_up},
    pass,
    requests::{Template, drive_router, hello, runtime},
    visitors::{config, token},
};

/// A case, by its group and its name.
pub(super) type Place = (Group, &'static str);

/// A row with instructions and allocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) work: &'static str,
    pub(super) case: Place,
    /// Whether the cost is that over [`FORWARDING`].
    pub(super) is_added: bool,
    pub(super) peer: Option<Place>,
    /// The most instructions and allocations that the work may take some day.
    pub(super) bar: Option<(f64, Option<f64>)>,
    /// The instructions and allocations that the work takes today.
    pub(super) today: (f64, f64),
}

impl Row {
    const fn added(work: &'static str, group: Group, case: &'static str) -> Self {
        Self { is_added: true, ..Self::absolute(work, group, case) }
    }

    const fn absolute(work: &'static str, group: Group, case: &'static str) -> Self {
        let peer = None;
        let bar = None;
        let today = (f64::INFINITY, f64::INFINITY);
        Self { work, case: (group, case), is_added: false, peer, bar, today }
    }

    const fn beside(self, group: Group, case: &'static str) -> Self {
        Self { peer: Some((group, case)), ..self }
    }

    const fn bar(self, instructions: f64) -> Self {
        Self { bar: Some((instructions, None)), ..self }
    }

    const fn bars(self, instructions: f64, allocations: f64) -> Self {
        Self { bar: Some((instructions, Some(allocations))), ..self }
    }

    /// Sets the ceilings of the mode that only counts. Lower them when the figures fall.
    const fn today(self, instructions: f64, allocations: f64) -> Self {
        Self { today: (instructions, allocations), ..self }
    }
}

/// The floor of the rows that say what a layer adds.
pub(super) const FORWARDING: Place = (limits::ADMITTED, "+ a layer that forwards");

/// The rows, in the order of the table.
pub(super) const ROWS: &[Row] = &[
    Row::added(
        "the layer with nothing to do",
        limits::ADMITTED,
        "+ ours, a limit for another path",
    )
    .bars(700.0, 1.0)
    .today(901.0, 0.0),
    Row::added("limit by IP, no headers", limits::ADMITTED, "+ ours, a limit by IP, no headers")
        .beside(limits::ADMITTED, "+ tower_governor, by IP")
        .bars(1_300.0, 0.0)
        .today(1_489.0, 0.0),
    Row::added(
        "limit by IP, default headers",
        limits::ADMITTED,
        "+ ours, a limit by IP, all headers",
    )
    .beside(limits::ADMITTED, "+ tower_governor, by IP, use_headers")
    .bars(2_853.0, 2.0)
    .today(3_569.0, 1.0),
    Row::added("gate alone, to the last byte", gate::ADMITTED, "+ ours")
        .beside(gate::ADMITTED, "+ tower's limit")
        .bars(1_300.0, 1.0)
        .today(2_561.0, 3.0),
    Row::added("valid pass", pass::BEHIND_AXUM, "+ waiting room, valid pass")
        .beside(pass::BEHIND_AXUM, "+ PrivateCookieJar, read and rewrite")
        .bars(4_500.0, 1.0)
        .today(5_629.0, 1.0),
    Row::added("pass, limit with headers, gate", TOGETHER, OURS)
        .beside(TOGETHER, OTHERS)
        .bars(7_500.0, 3.0)
        .today(9_859.0, 5.0),
    Row::absolute("refused by a limit, program", limits::REFUSED, REFUSAL)
        .beside(limits::REFUSED, GOVERNOR)
        .bar(9_000.0)
        .today(11_638.0, 16.0),
    Row::absolute("refused by a limit, a dozen browsers", limits::REFUSED, DOZEN)
        .beside(limits::REFUSED, GOVERNOR)
        .bar(12_000.0)
        .today(14_024.0, 16.7),
    Row::absolute("refused by a limit, made-up Accept", limits::REFUSED, MADE_UP)
        .beside(limits::REFUSED, GOVERNOR)
        .bar(12_000.0)
        .today(20_784.0, 16.0),
    Row::absolute("refused by a full gate, program", gate::REFUSED, REFUSAL)
        .beside(gate::REFUSED, LOAD_SHED)
        .bar(9_000.0)
        .today(11_454.0, 15.0),
    Row::absolute("refused by a full gate, a dozen browsers", gate::REFUSED, DOZEN)
        .beside(gate::REFUSED, LOAD_SHED)
        .bar(9_000.0)
        .today(13_948.0, 15.6),
    Row::absolute("refused by a full gate, made-up Accept", gate::REFUSED, MADE_UP)
        .beside(gate::REFUSED, LOAD_SHED)
        .bar(9_000.0)
        .today(20_348.0, 15.0),
    Row::absolute("waiting: early ticket, JSON", answers::BEHIND_AXUM, "JSON, early ticket")
        .bar(9_000.0)
        .today(15_921.0, 17.0),
    Row::absolute(
        "waiting: early ticket, page, a dozen browsers",
        answers::BEHIND_AXUM,
        "HTML, early ticket, a dozen browsers",
    )
    .bar(15_000.0)
    .today(23_407.0, 22.4),
    Row::absolute(
        "waiting: early ticket, page, made-up Accept",
        answers::BEHIND_AXUM,
        "HTML, early ticket, made-up Accept",
    )
    .bar(15_000.0)
    .today(30_651.0, 22.0),
    Row::absolute("waiting: first touch, JSON", answers::BEHIND_AXUM, "JSON, first touch")
        .bar(17_000.0)
        .today(20_459.0, 20.0),
    Row::absolute("GCRA, the time given, 1 000 keys", THOUSAND, "Limiter, the time given")
        .beside(THOUSAND, "governor")
        .bar(150.0)
        .today(149.0, 0.0),
];

/// Rows of others, for comparison with all rows of ours.
pub(super) const PEERS: &[Row] = &[
    Row::absolute("axum's router alone", limits::ADMITTED, "bare Router (the floor)"),
    Row::absolute("a layer that only forwards", FORWARDING.0, FORWARDING.1),
    Row::absolute("a bare 429", limits::REFUSED, "a layer answering 429, no body (the floor)"),
    Row::absolute("tower-resilience, refused", limits::REFUSED, "tower-resilience, no key"),
    Row::added("tower's limit, LoadShed", gate::ADMITTED, "+ tower's limit, LoadShed"),
    Row::absolute("governor with ahash, 1 000 keys", THOUSAND, "governor, ahash"),
];

/// Everything at once.
pub(crate) const TOGETHER: Group = Group::new(
    "together",
    "A pass, a limit with headers and a gate",
    &[
        Case { name: OURS, set_up: ours },
        Case { name: OTHERS, set_up: || sent_to(others(), "other=1") },
    ],
);

/// Our layer with a room, a limit per address with its headers, and a gate to the last byte.
fn ours() -> Repeat {
    let config = config().rate_limit(never_used_up()).concurrency(gate::limit());
    let layer = WaitingRoomLayer::new(config.build().expect("the config is right"));
    let pass = runtime().block_on(token(&layer));
    sent_to(hello().layer(layer.for_axum()), &format!("__Host-wr-shop={pass}"))
}

/// The same without a room, by four layers.
fn others() -> Router {
    governor_with_headers(gate::shedding_and_timing_out(hello()))
}

fn sent_to(router: Router, cookie: &str) -> Repeat {
    drive_router(router, Template::new([cookie]).with_peer())
}

const OURS: &str = "+ ours: pass, limit with headers, gate";
const OTHERS: &str = "+ tower_governor with headers, LoadShed, concurrency, timeout";
const REFUSAL: &str = "ours, all headers and a problem document";
const DOZEN: &str = "ours, to a dozen browsers";
const MADE_UP: &str = "ours, to made-up Accept headers";
const GOVERNOR: &str = "tower_governor, by IP, use_headers";
const LOAD_SHED: &str = "tower's limit, LoadShed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_cases() {
        let cases = ROWS.iter().chain(PEERS).flat_map(|row| [Some(row.case), row.peer]);
        for (group, case) in cases.flatten() {
            assert!(group.case(case).is_some(), "no case {case:?} in {:?}", group.name());
        }
    }

    #[test]
    fn every_row_of_ours_has_a_bar_and_a_ceiling() {
        let has_both = |row: &Row| row.bar.is_some() && row.today.0.is_finite();
        assert!(ROWS.iter().all(has_both));
    }
}
