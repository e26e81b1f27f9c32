//! The frontier of the line. Visitors behind the frontier cannot be admitted before the next
//! snapshot, so a node answers their check-ins without the server.
//!
//! ```text
//!   present, in order of arrival:  █ █ █ █ █ █ █ │ █ █ █ █ █ █ █ █ █ █ █ █ █ █ █ …
//!                                  may enter     │  answered by the node, which reports
//!                                  soon: server  │  them to the server once a second
//!                                            frontier
//! ```
//!
//! With 100 000 visitors in line, nearly all of them are behind the frontier. The node interpolates
//! the positions of visitors between 32 arrival times that the snapshot has sampled, so a position
//! is off by at most a few percent of the line, and is marked as approximate.
//!
//! There is no frontier while the order of the line is random, while every visitor is admitted, or
//! while no visitor is admitted.

use std::time::Duration;

use waiting_room_core::{Reason, RoomRules, Ticket, Timestamp, Verdict, room::WaitEstimate};

use crate::reply::{Head, ReplyFields};

/// The frontier of one snapshot, with the numbers that a node uses to answer check-ins.
#[derive(Debug)]
pub(crate) struct Frontier {
    /// The time at which the snapshot was taken.
    pub(crate) at: Timestamp,
    /// The arrival time of the visitor at the frontier. Visitors who arrived later are behind the
    /// frontier.
    arrival: Timestamp,
    /// The arrival times of some present visitors, at equal distances in the line, in order.
    arrivals: Vec<Timestamp>,
    /// The number of present visitors in the line.
    present: u32,
    /// The number of admissions per second.
    per_second: f64,
    /// The index of dispersion: the variance of the number of admissions divided by its mean.
    dispersion: f64,
}

impl Frontier {
    /// The time for which a frontier is valid, which is the horizon of the computation in
    /// `snapshot.lua`.
    const LASTS: Duration = Duration::from_secs(2);

    /// Reads the frontier from a reply. Returns `None` if no visitor is behind a frontier.
    pub(crate) fn read(
        head: &Head,
        said: &mut ReplyFields,
    ) -> Result<Option<Self>, waiting_room_core::StoreError> {
        let arrival = said.signed()?;
        let arrivals = said.times()?;
        // A negative number means that there is no frontier.
        let Ok(arrival) = u64::try_from(arrival) else {
            return Ok(None);
        };
        Ok(Some(Self {
            at: head.now,
            arrival: crate::clock::from_micros(arrival),
            arrivals,
            present: head.present,
            per_second: head.per_second,
            dispersion: head.dispersion,
        }))
    }

    /// Returns the verdict for a visitor behind the frontier, or `None` if the server has to
    /// decide. `order` is the number by which the server orders the visitor: its arrival or, for an
    /// entrant of a draw, its place as a number of microseconds.
    ///
    /// The server decides on a ticket without a place, because only the server assigns places. It
    /// also decides on a ticket that has lapsed, and on all tickets once the frontier is too old.
    pub(crate) fn check_in(
        &self,
        ticket: &Ticket,
        order: Timestamp,
        now: Timestamp,
        rules: &RoomRules,
    ) -> Option<Verdict> {
        let is_kept = now < ticket.last_check_in + rules.place_retention;
        let is_beyond = ticket.placed && is_kept && order > self.arrival;
        // Only the server can check whether a reissued ticket still has its place, whether a visitor
        // that returns, or comes from another site, has a session, and when a late place enters.
        let is_known = !ticket.is_reissued() && !ticket.resumes && ticket.late_by == 0;
        if !is_beyond || !is_known || now.since(self.at) >= Self::LASTS {
            return None;
        }
        let ahead = self.ahead(order);
        // The node derives the jitter in the same way as the server, so the interval has the same
        // jitter whether the node or the server answers.
        let jitter = ticket.id.draw(ticket.last_check_in.as_nanos());
        let interval = rules.timing().check_in_interval(ahead, self.per_second, jitter);
        let mut ticket = *ticket;
        ticket.last_check_in = now;
        ticket.next_check_in = now + interval;
        ticket.wait = WaitEstimate::behind(ahead, self.per_second, self.dispersion);
        ticket.show(ahead.saturating_add(1), true);
        Some(Verdict::Wait { ticket, reason: Reason::QueuedBehindOthers })
    }

    /// Estimates the number of present visitors who arrived before `arrival`, by linear
    /// interpolation between the two nearest sampled arrivals.
    fn ahead(&self, arrival: Timestamp) -> u32 {
        let count = self.arrivals.len().max(1) as f64;
        let after = self.arrivals.partition_point(|&at| at <= arrival);
        let before = after.saturating_sub(1);
        let within = match (self.arrivals.get(before), self.arrivals.get(after)) {
            (Some(&from), Some(&to)) if to > from => {
                arrival.since(from).as_secs_f64() / to.since(from).as_secs_f64()
            }
            _ => 0.0,
        };
        let share = (before as f64 + within) / count;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a fraction of a u32, which is not negative"
        )]
        let ahead = (share * f64::from(self.present)) as u32;
        ahead.min(self.present)
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::VisitorId;

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(10_000 + secs)
    }

    fn frontier() -> Frontier {
        Frontier {
            at: at(1_000),
            arrival: at(100),
            arrivals: vec![at(0), at(250), at(500), at(750)],
            present: 1_000,
            per_second: 1.0,
            dispersion: 1.0,
        }
    }

    fn ticket(arrived: u64, placed: bool) -> Ticket {
        let mut ticket = Ticket::new(VisitorId::new(7), at(arrived), at(980), at(1_000));
        ticket.placed = placed;
        ticket
    }

    fn check_in(ticket: &Ticket, now: Timestamp) -> Option<Verdict> {
        frontier().check_in(ticket, ticket.first_seen, now, &RoomRules::new("r", 1))
    }

    #[test]
    fn a_node_tells_visitors_beyond_the_frontier_their_positions() {
        let verdict = check_in(&ticket(375, true), at(1_000));
        let Some(Verdict::Wait { ticket, reason: Reason::QueuedBehindOthers }) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(ticket.shown_position, Some(376));
        assert_eq!(ticket.wait.unwrap().p50, Duration::from_secs(376));
        assert_eq!((ticket.first_seen, ticket.last_check_in), (at(375), at(1_000)));
        assert!(ticket.next_check_in >= at(1_020) && ticket.next_check_in <= at(1_026));
    }

    #[test]
    fn a_position_is_approximate_and_does_not_flutter() {
        for (shown, expected) in [(360, 360), (376, 376), (400, 376), (300, 376)] {
            let mut ticket = ticket(375, true);
            ticket.shown_position = Some(shown);
            let verdict = check_in(&ticket, at(1_000));
            let Some(Verdict::Wait { ticket, .. }) = verdict else { panic!("{verdict:?}") };
            assert_eq!((ticket.shown_position, ticket.is_approximate), (Some(expected), true));
        }
    }

    #[test]
    fn visitors_before_the_frontier_or_without_a_place_ask_the_store() {
        assert_eq!(check_in(&ticket(100, true), at(1_000)), None);
        assert_eq!(check_in(&ticket(375, false), at(1_000)), None);
        assert_eq!(check_in(&ticket(375, true), at(1_002)), None);
        let mut reissued = ticket(375, true);
        reissued.last_check_in = reissued.next_check_in;
        assert_eq!(check_in(&reissued, at(1_000)), None);
        let mut from_elsewhere = ticket(375, true);
        from_elsewhere.resumes = true;
        assert_eq!(check_in(&from_elsewhere, at(1_000)), None);
        let mut lapsed = ticket(375, true);
        lapsed.last_check_in = at(600);
        assert_eq!(check_in(&lapsed, at(1_000)), None);
    }
}
