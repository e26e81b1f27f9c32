//! Who need not ask the server, because it cannot let them in before the next snapshot.
//!
//! ```text
//!   present, in order of arrival:  █ █ █ █ █ █ █ │ █ █ █ █ █ █ █ █ █ █ █ █ █ █ █ …
//!                                   may enter    │  answered by the node, which tells the
//!                                   soon: ask    │  server once a second who was here
//!                                            frontier
//! ```
//!
//! With a hundred thousand in line, nearly all stand beyond it. Their position is read off some
//! arrivals in between, so it is off by a few parts in a hundred of the line at most, and shown as
//! approximate.

use std::time::Duration;

use waiting_room_core::{Reason, RoomRules, Ticket, Timestamp, Verdict, WaitEstimate};

use crate::reply::{Fields, Head};

/// What a node knows of the line since the last snapshot.
#[derive(Debug)]
pub(crate) struct Frontier {
    pub(crate) at: Timestamp,
    /// Who arrived later stands beyond.
    arrival: Timestamp,
    /// When some of those who are present arrived, evenly spaced.
    arrivals: Vec<Timestamp>,
    present: u32,
    per_second: f64,
    dispersion: f64,
}

impl Frontier {
    /// For so long a snapshot tells who cannot enter.
    const LASTS: Duration = Duration::from_secs(2);

    /// The frontier in a reply, if anybody stands beyond it.
    pub(crate) fn read(
        head: &Head,
        said: &mut Fields,
    ) -> Result<Option<Self>, waiting_room_core::StoreError> {
        let arrival = said.signed()?;
        let arrivals = said.times()?;
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

    /// The verdict for a visitor beyond the frontier; `None` if the server has to be asked.
    pub(crate) fn check_in(
        &self,
        ticket: &Ticket,
        now: Timestamp,
        rules: &RoomRules,
    ) -> Option<Verdict> {
        let is_kept = now < ticket.last_check_in + rules.place_retention();
        let is_beyond = ticket.placed && is_kept && ticket.first_seen > self.arrival;
        if !is_beyond || now.since(self.at) >= Self::LASTS {
            return None;
        }
        let ahead = self.ahead(ticket.first_seen);
        let jitter = ticket.id.draw(ticket.last_check_in.as_nanos());
        let interval = rules.check_in_interval(ahead, self.per_second, jitter);
        let mut ticket = *ticket;
        ticket.last_check_in = now;
        ticket.next_check_in = now + interval;
        ticket.wait = WaitEstimate::behind(ahead, self.per_second, self.dispersion);
        ticket.show(ahead.saturating_add(1), true);
        Some(Verdict::Wait { ticket, reason: Reason::QueuedBehindOthers })
    }

    /// How many of the present arrived before: in proportion between the two arrivals that are
    /// known and nearest.
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
            reason = "a part of a u32, which is not negative"
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

    #[test]
    fn who_stands_beyond_the_frontier_is_told_its_position_by_the_node() {
        let verdict = frontier().check_in(&ticket(375, true), at(1_000), &RoomRules::new("r", 1));
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
            let verdict = frontier().check_in(&ticket, at(1_000), &RoomRules::new("r", 1));
            let Some(Verdict::Wait { ticket, .. }) = verdict else { panic!("{verdict:?}") };
            assert_eq!((ticket.shown_position, ticket.is_approximate), (Some(expected), true));
        }
    }

    #[test]
    fn who_may_enter_or_has_no_place_asks_and_so_does_everybody_when_nothing_is_known() {
        let rules = RoomRules::new("r", 1);
        assert_eq!(frontier().check_in(&ticket(100, true), at(1_000), &rules), None);
        assert_eq!(frontier().check_in(&ticket(375, false), at(1_000), &rules), None);
        assert_eq!(frontier().check_in(&ticket(375, true), at(1_002), &rules), None);
        let mut lapsed = ticket(375, true);
        lapsed.last_check_in = at(600);
        assert_eq!(frontier().check_in(&lapsed, at(1_000), &rules), None);
    }
}
