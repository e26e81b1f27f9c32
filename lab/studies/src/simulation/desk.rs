//! The front desk: a model of the layer, which handles tokens without HTTP.

use std::time::Duration;

use waiting_room_core::{
    ConfigError, Pass, Room, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{
        Recovery, Renewal,
        event::{Reveal, Schedule},
    },
};

/// The content of a visitor's cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Pass(Pass),
    Ticket(Ticket),
}

/// The answer to a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Admitted(Pass),
    Refused { ticket: Option<Ticket>, retry_after: Option<Duration> },
    Waiting { ticket: Ticket, retry_after: Duration },
}

/// A door at which visitors send requests: the desk, or one with a fault.
pub(crate) trait Door {
    /// Answers a request with this token. A visitor without a valid one gets the identity `id`.
    fn ask(&mut self, token: Option<Token>, id: VisitorId, now: Timestamp) -> Reply;

    /// Ends the session of a visitor who checks out.
    fn leave(&mut self, id: VisitorId, now: Timestamp);

    /// Replaces the process by a new one, and returns the time until which it admits no newcomers.
    fn restart(&mut self, now: Timestamp) -> Timestamp;

    /// The draw that took place, as each answer after it contains it.
    fn reveal(&self) -> Option<Reveal>;
}

/// A room behind the rules of the layer.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    rules: RoomRules,
    schedule: Schedule,
    room: Room,
    /// When the room started. Passes from before are renewed as soon as they are seen.
    remembers_since: Timestamp,
}

impl Desk {
    pub(crate) fn new(rules: RoomRules, recovery: Recovery) -> Result<Self, ConfigError> {
        let rules = rules.recovery(recovery);
        let room = Room::new(rules.clone())?;
        Ok(Self { rules, schedule: Schedule::default(), room, remembers_since: Timestamp::ZERO })
    }

    /// Gives the room its events, before the first request.
    pub(crate) fn with_schedule(mut self, schedule: Schedule) -> Result<Self, ConfigError> {
        self.room = self.room.with_schedule(schedule.clone())?;
        self.schedule = schedule;
        Ok(self)
    }

    /// Checks a pass. The room renews it only when it is due; `None` if it is void.
    fn pass(&mut self, pass: Pass, now: Timestamp) -> Option<Pass> {
        if pass.expires_at <= now {
            return None;
        }
        let is_due = self.rules.timing().is_renewal_due(&pass, now);
        if !is_due && pass.last_check_in >= self.remembers_since {
            return Some(pass);
        }
        match self.room.renew(&pass, now) {
            Renewal::End => None,
            Renewal::Renew(renewed) => Some(renewed),
        }
    }
}

impl Door for Desk {
    fn ask(&mut self, token: Option<Token>, id: VisitorId, now: Timestamp) -> Reply {
        let verdict = match token {
            Some(Token::Pass(pass)) => match self.pass(pass, now) {
                Some(pass) => return Reply::Admitted(pass),
                None => self.room.enter(id, now),
            },
            Some(Token::Ticket(ticket)) if ticket.is_early(now) => {
                return Reply::Waiting { ticket, retry_after: whole(ticket.retry_after(now)) };
            }
            Some(Token::Ticket(ticket)) => self.room.check_in(&ticket, now),
            None => self.room.enter(id, now),
        };
        match verdict {
            Verdict::Admit { pass, .. } => Reply::Admitted(pass),
            Verdict::Refuse { ticket, retry_after, .. } => Reply::Refused { ticket, retry_after },
            Verdict::Wait { ticket, .. } => {
                Reply::Waiting { ticket, retry_after: ticket.retry_after(now) }
            }
        }
    }

    fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.room.leave(id, now);
    }

    fn restart(&mut self, now: Timestamp) -> Timestamp {
        self.remembers_since = now;
        self.room = Room::new(self.rules.clone())
            .and_then(|room| room.with_schedule(self.schedule.clone()))
            .expect("the same rules and events were valid for the room before");
        self.room.recover(now);
        now + self.rules.timing().recovery_pause()
    }

    fn reveal(&self) -> Option<Reveal> {
        self.room.plan()?.reveal
    }
}

fn whole(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs() + u64::from(duration.subsec_nanos() > 0))
}
