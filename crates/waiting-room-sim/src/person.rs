//! One visitor of the simulation.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::{
    VisitorNo,
    desk::{Reply, Token},
    visitors::Temper,
};

/// A visitor and what it holds. Exactly one event of it is to come at any time, or a decision and
/// the answer that follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Person {
    pub no: VisitorNo,
    pub temper: Temper,
    pub arrived: Timestamp,
    pub sent: Timestamp,
    pub token: Option<Token>,
    pub pages_seen: u32,
    /// How long the answer takes on its way back; `None` if none comes, or if it takes no time.
    pub returns_in: Option<Duration>,
    /// What the room decided on the request under way.
    pub outcome: Option<Outcome>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The visitor was inside, and checked out.
    CheckedOut,
    /// An answer like any other.
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

    /// Puts the token into the cookie jar, if there is one.
    pub(crate) fn keep(&mut self, token: Token) {
        if self.temper.keeps_cookies {
            self.token = Some(token);
        }
    }

    /// Whether the page it asks for now is the last one, and ends the session.
    pub(crate) const fn checks_out_now(&self) -> bool {
        self.temper.checks_out && self.pages_seen + 1 >= self.temper.pages
    }
}
