//! The answers of a full room to waiting visitors.

use std::time::Duration;

use http::StatusCode;
use tower::{Layer, ServiceExt};
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer,
    respond::ClientKind,
    time::{Clock, ManualClock, SystemClock, Timestamp},
};

use crate::{
    browsers::{dozen, made_up},
    case::{Case, Group, Repeat},
    requests::{Template, drive, drive_router, hello, peer, runtime},
    services::Ready,
    visitors::{config, cookie_of, token, token_at},
};

/// Answers by the layer alone.
pub(crate) const ALONE: Group = Group::new(
    "answers",
    "Answers to waiting visitors, without axum",
    &[
        Case { name: "JSON, early ticket", set_up: || alone(Ticket::Early, program) },
        Case { name: "JSON, first touch", set_up: || alone(Ticket::None, program) },
        Case { name: "JSON, check-in", set_up: || alone(Ticket::Due, program) },
        Case { name: "HTML, early ticket", set_up: || alone(Ticket::Early, browser) },
        Case { name: "HTML, first touch", set_up: || alone(Ticket::None, browser) },
    ],
);

/// Answers through an axum router, as a user gets them.
pub(crate) const BEHIND_AXUM: Group = Group::new(
    "answers-behind-axum",
    "Answers to waiting visitors, through axum's Router::layer",
    &[
        Case { name: "JSON, early ticket", set_up: || routed(Ticket::Early, program) },
        Case { name: "JSON, first touch", set_up: || routed(Ticket::None, program) },
        Case {
            name: "HTML, early ticket, a dozen browsers",
            set_up: || routed(Ticket::Early, |routed| routed.of_clients(dozen()).answered(PAGE)),
        },
        Case {
            name: "HTML, early ticket, made-up Accept",
            set_up: || routed(Ticket::Early, |routed| routed.of_clients(made_up()).answered(PAGE)),
        },
    ],
);

/// The ticket in the requests of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticket {
    Due,
    Early,
    None,
}

/// Sends requests through a router, with the clock of the machine slowed down.
///
/// A ticket may be shown twenty times at once, which is enough for counting only.
fn routed(ticket: Ticket, of: fn(Template) -> Template) -> Repeat {
    let clock = Slowed::default();
    let layer = WaitingRoomLayer::with_clock(crowded(), clock.clone());
    let template = of(asked(&layer, ticket, &clock.ahead));
    drive_router(hello().layer(layer.for_axum()), template)
}

/// Sends requests without a router, by a clock that moves with each request, so that no ticket is
/// shown too often, however fast the machine is.
fn alone(ticket: Ticket, of: fn(Template) -> Template) -> Repeat {
    let clock = ManualClock::new(OPENING);
    let layer = WaitingRoomLayer::with_clock(crowded(), clock.clone());
    let template = of(asked(&layer, ticket, &clock));
    drive(layer.layer(Ready), template, move || clock.advance(TICK))
}

/// Returns the configuration of a room in which no ticket is due for ten minutes after a check-in.
///
/// The status shows that a program has got the answer to a waiting visitor: one that shows its
/// ticket too often gets 429.
fn crowded() -> WaitingRoomConfig {
    let longest = Duration::from_secs(10 * 60);
    let config = config().refresh_interval(longest).place_retention(3 * longest);
    config.status(ClientKind::Json, WAITING).build().expect("the config is right")
}

/// Fills the room, and returns the requests of visitors with such a ticket.
fn asked(layer: &WaitingRoomLayer, ticket: Ticket, clock: &ManualClock) -> Template {
    runtime().block_on(async {
        let _pass = token(layer).await;
        if ticket == Ticket::None {
            return Template::new(["other=1"]).with_peer();
        }
        let mut visitors = Vec::new();
        for number in 0..CROWD {
            let [.., high, low] = number.to_be_bytes();
            let peer = peer([10, high, low, 1]);
            visitors.push((format!("__Host-wr-shop={}", token_at(layer, peer).await), peer));
        }
        clock.advance(DUE);
        for (cookie, peer) in &mut visitors {
            let template = Template::of_visitors([(cookie.as_str(), *peer)]);
            let request = template.accept(JSON, WAITING).request(());
            let Ok(response) = layer.layer(Ready).oneshot(request).await;
            let ticket = cookie_of(&response).expect("a check-in is answered with a ticket");
            *cookie = format!("__Host-wr-shop={ticket}");
        }
        if ticket == Ticket::Due {
            clock.advance(DUE);
        }
        Template::of_visitors(visitors.iter().map(|(cookie, peer)| (cookie.as_str(), *peer)))
    })
}

/// The clock of the machine, slowed down a hundredfold.
///
/// A program takes about that much longer under valgrind. By the clock of the machine, work that is
/// done at certain times would be counted for too few requests.
#[derive(Clone, Debug)]
struct Slowed {
    machine: SystemClock,
    start: Timestamp,
    /// The time at the start, which may be advanced.
    ahead: ManualClock,
}

impl Default for Slowed {
    fn default() -> Self {
        let machine = SystemClock::new();
        let start = machine.now();
        Self { machine, start, ahead: ManualClock::new(OPENING) }
    }
}

impl Clock for Slowed {
    fn now(&self) -> Timestamp {
        self.ahead.now() + self.machine.now().since(self.start) / 100
    }
}

fn program(template: Template) -> Template {
    template.accept(JSON, WAITING)
}

fn browser(template: Template) -> Template {
    template.accept(HTML, PAGE)
}

/// The number of visitors that take turns, a multiple of the dozen browsers.
const CROWD: u32 = 516;

/// The time between two requests. A ticket may be shown four times a second, and each visitor of
/// the crowd has its turn less often.
const TICK: Duration = Duration::from_micros(500);

/// When a room opens by a clock that is not that of the machine.
const OPENING: Timestamp = Timestamp::from_secs(1_700_000_000);

/// The time after which every ticket is due, and none has lapsed.
const DUE: Duration = Duration::from_secs(800);

/// The status of an answer to a program that waits.
const WAITING: StatusCode = StatusCode::ACCEPTED;

/// The types that a program accepts, and those that a browser accepts.
const JSON: &str = "application/json";
const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The status of an answer to a browser.
const PAGE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    /// Returns the seconds until the ticket is due again, as in the answer to a ticket.
    fn retry_after(ticket: Ticket) -> (u64, bool) {
        let clock = ManualClock::new(OPENING);
        let layer = WaitingRoomLayer::with_clock(crowded(), clock.clone());
        let request = program(asked(&layer, ticket, &clock)).request(());
        let Ok(response) = runtime().block_on(layer.layer(Ready).oneshot(request));
        assert_eq!(response.status(), WAITING);
        let after = response.headers().get(header::RETRY_AFTER).expect("it has the header");
        let after = after.to_str().expect("it is a number").parse().expect("it is a number");
        (after, response.headers().contains_key(header::SET_COOKIE))
    }

    #[test]
    fn an_early_ticket_stays_early_and_one_that_is_due_is_renewed() {
        let (after, is_renewed) = retry_after(Ticket::Early);
        assert!(after > 300 && !is_renewed, "{after} s, renewed: {is_renewed}");
        let (after, is_renewed) = retry_after(Ticket::Due);
        assert!(after > 300 && is_renewed, "{after} s, renewed: {is_renewed}");
    }
}
