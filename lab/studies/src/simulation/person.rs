//! One visitor of the simulation.

use std::time::Duration;

use waiting_room_core::Timestamp;

use waiting_room_sim::VisitorNo;

use super::{
    desk::{Reply, Token},
    visitors::Temper,
};

/// A visitor, and the token that it holds.
///
/// At any time the queue has exactly one event for it, or two if its request is to be lost on the
/// way back: the decision, and the failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person {
    pub no: VisitorNo,
    pub temper: Temper,
    /// When its first request departed.
    pub arrived: Timestamp,
    /// When its last request departed.
    pub sent: Timestamp,
    pub token: Option<Token>,
    pub pages_seen: u32,
    /// How long the answer travels; `None` if it is lost, or if answers take no time.
    pub returns_in: Option<Duration>,
    /// The decision on the request in flight.
    pub outcome: Option<Outcome>,
}

/// The decision on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The visitor was active, and has checked out.
    CheckedOut,
    /// Any other decision.
    Replied(Reply),
}

impl Person {
    pub(crate) const fn new(no: VisitorNo, temper: Temper, now: Timestamp) -> Self {
        Self {
            no,
            temper,
            arrived: now,
            sent: now,
            token: None,
            pages_seen: 0,
            returns_in: None,
            outcome: None,
        }
    }

    /// Keeps a token, if the client keeps cookies.
    pub(crate) fn keep(&mut self, token: Token) {
        if self.temper.keeps_cookies {
            self.token = Some(token);
        }
    }

    /// Whether the page that it requests now is the last one and ends the session.
    pub(crate) const fn checks_out_now(&self) -> bool {
        self.temper.checks_out && self.pages_seen + 1 >= self.temper.pages
    }
}
