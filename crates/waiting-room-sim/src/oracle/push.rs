//! Conclusions from an event of a push stream, which confirms that a visitor still waits.
//!
//! A visitor with a stream sends no requests: the server checks in for it. An event is therefore not
//! the answer to a request, and takes no slot. It was decided at some time after the event before it
//! was sent, and before it arrived.

use std::time::Duration;

use waiting_room_core::Timestamp;

use super::{
    event::Call,
    judge::Oracle,
    limits::{Seen, Told, VisitorNo},
    visitor::Span,
};

impl Oracle {
    /// Records an event on the visitor's push stream that tells it to wait. The event was decided
    /// after `since`, the time at which the server made the event before it, and arrives at `at`.
    ///
    /// The request that opens the stream is recorded like any other request. Events that tell a
    /// visitor that it is its turn are not recorded.
    pub fn pushed(&mut self, visitor: VisitorNo, since: Timestamp, at: Timestamp, seen: Seen) {
        let Seen::Waiting { interval, waiting_since, position, .. } = seen else { return };
        let told = Told { interval, waiting_since, position, returned_ticket: true };
        self.push(visitor, since, at, told);
    }

    pub(super) fn push(&mut self, visitor: VisitorNo, since: Timestamp, at: Timestamp, told: Told) {
        if self.holds_back(at, Call::Pushed(visitor, since, at, told)) {
            return;
        }
        let at = self.advance(at);
        let decided = Span { from: since.min(at), to: at };
        self.keeps_waiting(visitor, decided, told);
        // A stream reports a position that has not changed only every few seconds.
        self.stands_until(visitor, at + SILENCE + Self::presence(told.interval));
    }
}

/// How long a stream may have no news of a position.
const SILENCE: Duration = Duration::from_secs(20);
