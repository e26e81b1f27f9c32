//! The passes and places that visitors hold, and whether one of them was taken away too early.
//!
//! The oracle judges the same, but to the oracle, an answer during an outage of the store proves
//! nothing. Passes and places have to survive outages too.

use std::{collections::HashMap, time::Duration};

use tower_waiting_room::time::Timestamp;
use waiting_room_sim::{Limits, Seen, VisitorNo};

/// The passes and places of all visitors.
#[derive(Debug)]
pub(crate) struct Claims {
    session: Duration,
    retention: Duration,
    first_retention: Duration,
    /// The time until which each pass is certainly valid.
    passes: HashMap<VisitorNo, Timestamp>,
    places: HashMap<VisitorNo, Place>,
    interrupted: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    waiting_since: Timestamp,
    kept_from: Timestamp,
    /// The retention, which is shorter for the order of arrival of a first ticket than for a place.
    kept_for: Duration,
    /// Before this time the node answers from the ticket, and returns it unchanged.
    due: Timestamp,
    /// The time at which the store itself last asked the visitor to return.
    sure_due: Timestamp,
    /// The time since which its holder may have been admitted without knowing it.
    doubtful_since: Option<Timestamp>,
}

/// How certain the conclusions from an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surety {
    /// The store may be unavailable, and may have decided otherwise.
    InDoubt,
    /// The node says that it could not extend the session: its store did not answer in time, or its
    /// site has no lease. The pass lasts until it expires.
    NotExtended,
    /// The answer was the decision of the store, or was about a pass that was not due.
    Sure,
}

impl Claims {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            session: limits.session_duration,
            retention: limits.place_retention,
            first_retention: limits.first_retention(),
            passes: HashMap::new(),
            places: HashMap::new(),
            interrupted: 0,
            lost: 0,
        }
    }

    /// The number of times that a visitor with a valid pass was kept out.
    pub(crate) const fn interrupted(&self) -> u64 {
        self.interrupted
    }

    /// The number of times that a place was taken away within its retention.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Records the answer to a visitor.
    pub(crate) fn answered(
        &mut self,
        visitor: VisitorNo,
        sent: Timestamp,
        now: Timestamp,
        seen: Seen,
        surety: Surety,
    ) {
        let in_doubt = surety == Surety::InDoubt;
        if seen == Seen::Admitted {
            self.admitted(visitor, sent, surety);
            return;
        }
        if let Some(until) = self.passes.remove(&visitor).filter(|until| now < *until) {
            let left = until.since(now);
            tracing::warn!(?visitor, ?sent, ?left, "a visitor with a valid pass is kept out");
            self.interrupted += 1;
        }
        match seen {
            Seen::Waiting { waiting_since: Some(since), returned_ticket, interval, .. } => {
                let before = self.places.get(&visitor).filter(|_| returned_ticket);
                let is_kept = before.is_some_and(|place| place.waiting_since == since);
                if is_kept && before.is_some_and(|place| sent < place.due) {
                    return;
                }
                // A node issues a ticket anew only for a while, and never one that has lapsed.
                let may_reissue = |place: &Place| {
                    sent < place.kept_from + place.kept_for
                        && sent < place.sure_due + place.kept_for
                };
                if is_kept && in_doubt && !before.is_some_and(may_reissue) {
                    return;
                }
                let is_lost = !is_kept && before.is_some_and(|place| self.holds(place, now));
                if is_lost {
                    tracing::warn!(?visitor, ?sent, ?before, ?seen, ?surety, "a place is lost");
                }
                self.lost += u64::from(is_lost);
                let doubtful_since =
                    in_doubt.then(|| before.and_then(|place| place.doubtful_since).unwrap_or(sent));
                let kept_for = match before {
                    Some(place) if in_doubt => place.kept_for,
                    _ if returned_ticket && !in_doubt => self.retention,
                    _ => self.first_retention,
                };
                let due = now + interval;
                let sure_due = match before {
                    Some(place) if in_doubt => place.sure_due,
                    // The first answer was a page, without a start of the wait. The ticket is due
                    // by now.
                    None if in_doubt && returned_ticket => sent,
                    _ => due,
                };
                let place = Place {
                    waiting_since: since,
                    kept_from: sent,
                    kept_for,
                    due,
                    sure_due,
                    doubtful_since,
                };
                self.places.insert(visitor, place);
            }
            Seen::Refused => {
                let place = self.places.remove(&visitor);
                self.lost += u64::from(place.is_some_and(|place| self.holds(&place, now)));
            }
            Seen::Admitted | Seen::Waiting { .. } => {}
        }
    }

    /// Records an admission.
    fn admitted(&mut self, visitor: VisitorNo, sent: Timestamp, surety: Surety) {
        self.places.remove(&visitor);
        let until = sent + self.session;
        // A pass cannot be renewed during an outage, but a new one is valid for a full session.
        let pass = self.passes.entry(visitor).or_insert(until);
        if surety == Surety::Sure {
            *pass = until.max(*pass);
        }
    }

    /// Records that a request sent at `sent` got no answer.
    pub(crate) fn failed(&mut self, visitor: VisitorNo, sent: Timestamp) {
        if let Some(place) = self.places.get_mut(&visitor) {
            place.doubtful_since.get_or_insert(sent);
        }
    }

    /// Records that a visitor leaves, and so no longer holds anything.
    pub(crate) fn leaves(&mut self, visitor: VisitorNo) {
        self.passes.remove(&visitor);
        self.places.remove(&visitor);
    }

    /// Returns whether a place must still be kept. It must within its retention, unless a session
    /// that its holder never knew of may have begun and ended since.
    fn holds(&self, place: &Place, now: Timestamp) -> bool {
        now < place.kept_from + place.kept_for
            && place.doubtful_since.is_none_or(|since| now < since + self.session)
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_sim::ShownPosition;

    use super::*;

    const ANN: VisitorNo = VisitorNo(1);
    const SURE: Surety = Surety::Sure;
    const IN_DOUBT: Surety = Surety::InDoubt;

    fn claims() -> Claims {
        Claims::new(&Limits {
            total_active_users: 1,
            new_users_per_minute: None,
            session_duration: Duration::from_secs(20),
            place_retention: Duration::from_secs(300),
            refresh_interval: Duration::from_secs(20),
        })
    }

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(1_000 + secs)
    }

    fn waits(since: u64) -> Seen {
        told_to_wait(since, true)
    }

    /// The answer to a visitor without a ticket.
    fn arrives(since: u64) -> Seen {
        told_to_wait(since, false)
    }

    fn told_to_wait(since: u64, returned_ticket: bool) -> Seen {
        Seen::Waiting {
            interval: Duration::from_secs(5),
            waiting_since: Some(at(since)),
            position: ShownPosition::None,
            returned_ticket,
        }
    }

    fn tell(claims: &mut Claims, secs: u64, seen: Seen, surety: Surety) {
        claims.answered(ANN, at(secs), at(secs), seen, surety);
    }

    #[test]
    fn a_visitor_kept_out_within_its_session_was_interrupted() {
        for (secs, in_doubt, interrupted) in
            [(19, SURE, 1), (19, IN_DOUBT, 1), (20, SURE, 0), (20, IN_DOUBT, 0)]
        {
            let mut claims = claims();
            tell(&mut claims, 0, Seen::Admitted, SURE);
            tell(&mut claims, secs, waits(secs), in_doubt);
            assert_eq!(claims.interrupted(), interrupted, "after {secs} s");
        }
    }

    #[test]
    fn a_pass_is_not_extended_while_the_store_is_away() {
        let mut claims = claims();
        tell(&mut claims, 0, Seen::Admitted, SURE);
        tell(&mut claims, 10, Seen::Admitted, IN_DOUBT);
        tell(&mut claims, 25, waits(25), SURE);
        assert_eq!(claims.interrupted(), 0);
        tell(&mut claims, 30, Seen::Admitted, SURE);
        tell(&mut claims, 40, Seen::Admitted, SURE);
        tell(&mut claims, 55, Seen::Refused, SURE);
        assert_eq!(claims.interrupted(), 1);
    }

    #[test]
    fn a_pass_that_was_not_extended_is_valid_until_it_expires() {
        for (secs, interrupted) in [(19, 1), (20, 0)] {
            let mut claims = claims();
            tell(&mut claims, 0, Seen::Admitted, SURE);
            tell(&mut claims, 10, Seen::Admitted, Surety::NotExtended);
            tell(&mut claims, secs, waits(secs), SURE);
            assert_eq!(claims.interrupted(), interrupted, "after {secs} s");
        }
    }

    #[test]
    fn another_time_of_arrival_is_a_lost_place() {
        let mut claims = claims();
        tell(&mut claims, 0, waits(0), SURE);
        tell(&mut claims, 5, waits(0), IN_DOUBT);
        assert_eq!(claims.lost(), 0);
        tell(&mut claims, 10, waits(10), SURE);
        assert_eq!(claims.lost(), 1);
        tell(&mut claims, 311, waits(311), SURE);
        assert_eq!(claims.lost(), 1, "no place is kept for longer");
        tell(&mut claims, 320, Seen::Refused, SURE);
        assert_eq!(claims.lost(), 2);
    }

    #[test]
    fn an_early_check_in_gives_no_place() {
        for (first, second, lost) in [(1, 34, 0), (6, 34, 1), (6, 307, 0)] {
            let mut claims = claims();
            tell(&mut claims, 0, arrives(0), SURE);
            tell(&mut claims, first, waits(0), SURE);
            tell(&mut claims, second, waits(second), SURE);
            assert_eq!(claims.lost(), lost, "at {first} s and {second} s");
        }
    }

    #[test]
    fn a_first_ticket_keeps_its_order_if_it_is_shown_on_time() {
        for (last, lost) in [(50, 0), (49, 1)] {
            let mut claims = claims();
            claims.session = Duration::from_secs(900);
            tell(&mut claims, 0, arrives(0), SURE);
            for secs in [10, 20] {
                tell(&mut claims, secs, waits(0), IN_DOUBT);
            }
            tell(&mut claims, last, waits(last), SURE);
            assert_eq!(claims.lost(), lost, "{last} s");
        }
    }

    /// A page does not show the start of the wait, so the store's own answer is not known.
    #[test]
    fn a_node_that_answers_first_proves_that_the_store_answered_before() {
        for (last, lost) in [(64, 1), (66, 0)] {
            let mut claims = claims();
            claims.session = Duration::from_secs(900);
            // At 42 s, the last answer of the store is too old for another ticket.
            for secs in [10, 35, 42] {
                tell(&mut claims, secs, waits(0), IN_DOUBT);
            }
            tell(&mut claims, last, waits(last), SURE);
            assert_eq!(claims.lost(), lost, "{last} s");
        }
    }

    #[test]
    fn a_place_may_have_been_used_up_by_an_unknown_session() {
        for (secs, lost) in [(24, 1), (25, 0)] {
            let mut claims = claims();
            tell(&mut claims, 0, waits(0), SURE);
            claims.failed(ANN, at(5));
            tell(&mut claims, secs, waits(secs), SURE);
            assert_eq!(claims.lost(), lost, "after {secs} s");
        }
    }
}
