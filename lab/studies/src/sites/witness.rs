//! The observations of the visitors with plans, judged by the same oracle as the visitors of real sites.

use std::time::Duration;

use waiting_room_sim::{Limits, Oracle, Seen, ShownPosition, VisitorNo};

use super::{
    clock::{SECOND, from_seconds, timestamp},
    scenario::Scenario,
};

/// The oracle of a crowd, and the numbers by which it knows the visitors.
#[derive(Debug)]
pub(super) struct Witness {
    oracle: Oracle,
    /// The number of the next visitor without cookies, who is a stranger at each request.
    stranger: u64,
}

impl Witness {
    /// The time by which a place outlives its last check-in, in the rooms of the real sites.
    const PLACE_RETENTION: Duration = Duration::from_secs(60);

    /// A witness of the limits of a scenario. The first visitors have the numbers of their plans.
    pub(super) fn new(scenario: &Scenario, plans: usize) -> Self {
        let millis = |millis: u32| Duration::from_millis(millis.into());
        let oracle = Oracle::new(Limits {
            total_active_users: scenario.limits.total_active_users,
            new_users_per_minute: Some(scenario.limits.new_users_per_minute),
            session_duration: millis(scenario.limits.session * SECOND),
            place_retention: Self::PLACE_RETENTION,
            refresh_interval: millis(from_seconds(scenario.visitors.refresh)),
        });
        Self { oracle, stranger: plans as u64 }
    }

    /// A number that no visitor had before.
    pub(super) const fn stranger(&mut self) -> VisitorNo {
        let stranger = VisitorNo(self.stranger);
        self.stranger += 1;
        stranger
    }

    /// A request departs.
    pub(super) fn sent(&mut self, visitor: VisitorNo, now: u32) {
        self.oracle.sent(visitor, timestamp(now));
    }

    /// The answer lets the visitor in. It takes a moment, as at real sites: only a room that answers in no
    /// time has certainly renewed a pass before its answer.
    pub(super) fn admitted(&mut self, visitor: VisitorNo, now: u32) {
        self.oracle.answered(visitor, timestamp(now + 1), Seen::Admitted);
    }

    /// The answer asks a visitor who arrived at a time to return after `interval` milliseconds.
    pub(super) fn waits(
        &mut self,
        visitor: VisitorNo,
        interval: u32,
        arrived: u32,
        returned_ticket: bool,
        now: u32,
    ) {
        let seen = Seen::Waiting {
            interval: Duration::from_millis(interval.into()),
            waiting_since: Some(timestamp(arrived)),
            position: ShownPosition::None,
            returned_ticket,
        };
        self.oracle.answered(visitor, timestamp(now), seen);
    }

    /// The visitor checks out.
    pub(super) fn left(&mut self, visitor: VisitorNo, now: u32) {
        let at = timestamp(now);
        self.oracle.sent(visitor, at);
        self.oracle.left(visitor, at, at);
    }

    /// The visitor sends no more requests.
    pub(super) fn gave_up(&mut self, visitor: VisitorNo, now: u32) {
        self.oracle.gave_up(visitor, timestamp(now));
    }

    /// The answers so far that certainly asked a visitor to wait while a slot was free for it.
    pub(super) fn queued_while_free(&self, now: u32) -> u64 {
        self.oracle.clone().finish(timestamp(now)).queued_while_free
    }
}
