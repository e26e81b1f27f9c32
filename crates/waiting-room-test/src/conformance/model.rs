//! The naive model of a room: lists that are searched from end to end, and rules that are applied
//! one after another.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::{
    Pass, Reason, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{HeadStart, QueueingMethod, Recovery, Renewal, RoomMode, event::Schedule},
};

use self::draw::ModelDraw;
use super::schedule::PlannedEvent;

/// A room that is simple enough to be obviously correct, and slow for the same reason.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// The rules of the room itself.
    base: RoomRules,
    /// The rules in force, which an event may override.
    settings: RoomRules,
    events: Vec<PlannedEvent>,
    /// The same events, as a schedule that decides which changes are possible.
    schedule: Schedule,
    /// The event for whose start visitors wait.
    prequeue: Option<PlannedEvent>,
    draw: Option<ModelDraw>,
    sessions: Vec<Pass>,
    /// The active visitors who are within the shares of their networks.
    counted: Vec<VisitorId>,
    /// The active visitors whose sessions give way to others.
    ending: Vec<VisitorId>,
    ended: Vec<Ended>,
    places: Vec<Place>,
    admissions: Vec<Timestamp>,
    abandoned: u64,
    /// The places that have entered the line, without those that were given up.
    entered: u64,
    /// For each network with places, when it may have the next place without using its burst.
    next: BTreeMap<u64, u64>,
    since: Timestamp,
    hold_until: Timestamp,
}

/// The parts of a reply that the model cannot know, taken from the store's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreChoice {
    /// The time after which the visitor is to return.
    pub(crate) interval: Duration,
    /// Whether it was the visitor's turn. Matters only in a random line, where a draw decides.
    pub(crate) let_in: bool,
}

/// The room in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The slots that are taken.
    pub(crate) active: usize,
    /// Visitors admitted within the last 60 seconds.
    pub(crate) new_in_last_minute: usize,
    /// Places in the line.
    pub(crate) waiting: usize,
    /// Visitors in the line who are present.
    pub(crate) present: usize,
    /// How long the first visitor in line has waited; `None` for a random line.
    pub(crate) oldest_wait: Option<Duration>,
    /// Places that were given up.
    pub(crate) abandoned: u64,
    /// The largest number of slots, and the largest number of places, that one network has.
    pub(crate) of_one_network: [usize; 2],
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    id: VisitorId,
    at: Timestamp,
    has_left: bool,
    forget_at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    id: VisitorId,
    /// The first touch, less the head start.
    arrived: Timestamp,
    /// The arrival in nanoseconds, or the place of an entrant after a draw.
    order: u64,
    /// The draw in which the visitor has a number, and the number.
    number: Option<(u32, u32)>,
    /// Whether the visitor was moved by the start of an event, and has not checked in since.
    is_moved: bool,
    present_until: Timestamp,
    kept_until: Timestamp,
}

impl Model {
    const MINUTE: Duration = Duration::from_secs(60);

    /// Creates an empty room at `now`.
    #[must_use]
    pub(crate) fn new(settings: RoomRules, now: Timestamp) -> Self {
        let hold_until = match settings.recovery {
            Recovery::AdmitAtOnce => Timestamp::ZERO,
            Recovery::Pause => now + settings.timing().pass_lifetime().max(Self::MINUTE),
        };
        Self {
            base: settings.clone(),
            settings,
            events: Vec::new(),
            schedule: Schedule::default(),
            prequeue: None,
            draw: None,
            sessions: Vec::new(),
            counted: Vec::new(),
            ending: Vec::new(),
            ended: Vec::new(),
            places: Vec::new(),
            admissions: Vec::new(),
            abandoned: 0,
            entered: 0,
            next: BTreeMap::new(),
            since: now,
            hold_until,
        }
    }

    /// A visitor without a pass or a ticket asks for a slot.
    pub(crate) fn enter(&mut self, id: VisitorId, now: Timestamp, told: StoreChoice) -> Verdict {
        self.sweep(now);
        self.active(id, now).unwrap_or_else(|| self.newcomer(id, now, told))
    }

    /// A waiting visitor checks in or, if it `stays`, only confirms that it is still waiting.
    pub(crate) fn check_in(
        &mut self,
        shown: &Ticket,
        stays: bool,
        now: Timestamp,
        told: StoreChoice,
    ) -> Verdict {
        self.sweep(now);
        let mut ticket = *shown;
        let turn = Verdict::Wait { ticket, reason: Reason::QueuedTurn };
        if let Some(verdict) = self.active(ticket.id, now) {
            return verdict;
        }
        let is_void = |ended: &Ended| {
            ended.voids(ticket.id, ticket.first_seen)
                || ticket.resumes && ended.has_left && ended.voids(ticket.id, ticket.arrival())
        };
        if self.ended.iter().any(is_void) {
            return if stays { turn } else { self.newcomer(ticket.id, now, told) };
        }
        let has_lapsed = ticket.last_check_in + self.lifetime(&ticket) <= now;
        ticket.resumes = false;
        if has_lapsed {
            ticket.head_start = HeadStart::NONE;
            ticket.entrant = None;
        }
        let place = self.places.iter().find(|place| place.id == ticket.id).copied();
        let needs_place = place.is_none() && (!ticket.placed || ticket.is_reissued());
        if let Some(place) = place {
            let mut arrived = place.arrived;
            if ticket.is_reissued() && !has_lapsed {
                arrived = arrived.min(ticket.arrival());
            }
            ticket.first_seen = arrived + ticket.head_start.duration();
            ticket.shown_position = ticket.shown_position.filter(|_| ticket.placed);
            ticket.placed = true;
        } else if has_lapsed {
            ticket = Ticket::new(ticket.id, now, now, now);
        }
        ticket.first_seen = ticket.first_seen.min(now);
        if !ticket.placed && self.settings.mode == RoomMode::Drain {
            return self.newcomer(ticket.id, now, told);
        }
        let order = self.recognize(&mut ticket);
        let order = self.late_order(&ticket, place).unwrap_or(order);
        let expected = self.expected_ahead(&ticket, order, now);
        let rank = (order, ticket.id);
        let ahead = match self.settings.queueing_method {
            QueueingMethod::Random if told.let_in => 0,
            QueueingMethod::Random => self.others(ticket.id, now).count().max(expected),
            QueueingMethod::Fifo | QueueingMethod::Passthrough | QueueingMethod::Reject => {
                let others = self.others(ticket.id, now);
                others.filter(|place| place.rank() < rank).count().max(expected)
            }
        };
        let decision = if self.awaits_draw(&ticket) {
            Err(Reason::QueuedRecovery)
        } else {
            self.may_enter(ahead, now)
        };
        match decision {
            Ok(_) if stays && needs_place => turn,
            Ok(_) if stays => self.stand(ticket, needs_place, 0, Reason::QueuedTurn, now, told),
            Ok(reason) => {
                self.depart(&ticket);
                self.admit(ticket.id, ticket.bucket(), reason, now)
            }
            Err(reason) => self.stand(ticket, needs_place, ahead, reason, now, told),
        }
    }

    /// The time for which a ticket keeps its order after a check-in.
    fn lifetime(&self, ticket: &Ticket) -> Duration {
        if ticket.placed {
            return self.settings.place_retention;
        }
        let refresh = self.settings.refresh_interval;
        (refresh * 3 / 2).max(refresh + Duration::from_secs(2))
    }

    /// An active visitor renews its pass.
    pub(crate) fn renew(&mut self, pass: &Pass, now: Timestamp) -> Renewal {
        self.sweep(now);
        let known = self.sessions.iter().find(|session| session.id == pass.id).copied();
        let has_left = |ended: &Ended| ended.has_left && ended.voids(pass.id, pass.last_check_in);
        let is_over = pass.expires_at <= now || self.ended.iter().any(has_left);
        if known.is_none() && (is_over || self.is_above_the_limit(pass, now)) {
            return Renewal::End;
        }
        self.remove_places(|place| place.id == pass.id);
        Renewal::Renew(self.prolong(known.unwrap_or(*pass), now))
    }

    /// Whether a pass from before a loss of memory is shown after the pause, and finds no free
    /// slot.
    ///
    /// A pass that is shown during the pause extends the pause to the lifetime of such passes.
    fn is_above_the_limit(&mut self, pass: &Pass, now: Timestamp) -> bool {
        if self.settings.recovery != Recovery::Pause || pass.last_check_in >= self.since {
            return false;
        }
        if now < self.hold_until {
            let others = pass.expires_at.since(pass.last_check_in);
            self.hold_until = self.hold_until.max(self.since + others);
            return false;
        }
        let is_bound = self.settings.queueing_method != QueueingMethod::Passthrough;
        is_bound && self.sessions.len() >= self.settings.total_active_users as usize
    }

    /// A visitor leaves.
    pub(crate) fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.sweep(now);
        self.give_up(|place| place.id == id);
        let longest = self.settings.timing().pass_lifetime().max(3 * self.settings.place_retention);
        let session = self.sessions.iter().find(|session| session.id == id);
        let forget_at = session.map_or(now, |session| session.expires_at).max(now + longest);
        self.sessions.retain(|session| session.id != id);
        self.forget_shares();
        self.remember(Ended { id, at: now, has_left: true, forget_at });
    }

    /// Drops sessions, places and records that have lapsed.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        self.follow(now);
        self.let_in(now);
        self.ended.retain(|ended| ended.forget_at > now);
        self.give_up(|place| place.kept_until <= now);
        self.admissions.retain(|&at| at + Self::MINUTE > now);
        let (live, lapsed): (Vec<_>, Vec<_>) =
            self.sessions.iter().partition(|session| session.expires_at > now);
        self.sessions = live;
        self.forget_shares();
        for session in lapsed {
            let forget_at = session.accepted_at + 3 * self.settings.place_retention;
            if forget_at > now {
                let id = session.id;
                let at = session.expires_at;
                self.remember(Ended { id, at, has_left: false, forget_at });
            }
        }
    }

    /// The room in numbers.
    pub(crate) fn numbers(&mut self, now: Timestamp) -> Numbers {
        self.sweep(now);
        let first = self.places.iter().min_by_key(|place| place.rank());
        let oldest = first.map_or(Duration::ZERO, |first| now.since(first.arrived));
        Numbers {
            active: self.sessions.len(),
            new_in_last_minute: self.admissions.len(),
            waiting: self.places.len(),
            present: self.present(now).count(),
            oldest_wait: (self.settings.queueing_method != QueueingMethod::Random)
                .then_some(oldest),
            abandoned: self.abandoned,
            of_one_network: self.of_one_network(),
        }
    }

    /// Removes the places of visitors who did not come back, or who left.
    fn give_up(&mut self, is_gone: impl Fn(&Place) -> bool) {
        let given_up = self.remove_places(is_gone) as u64;
        self.abandoned += given_up;
        self.entered = self.entered.saturating_sub(given_up);
    }

    /// Replaces the rules of the room itself.
    pub(crate) fn configure(&mut self, settings: RoomRules, now: Timestamp) {
        self.sweep(now);
        self.base = settings;
        self.follow(now);
    }

    /// The rules in force.
    pub(crate) const fn settings(&self) -> &RoomRules {
        &self.settings
    }

    /// The events of the room.
    pub(crate) const fn events(&self) -> &Schedule {
        &self.schedule
    }
}

impl Ended {
    /// Whether this record voids a proof of the visitor that was issued at `made_at`.
    fn voids(&self, id: VisitorId, made_at: Timestamp) -> bool {
        self.id == id && made_at <= self.at
    }
}

impl Place {
    const fn rank(&self) -> (u64, VisitorId) {
        (self.order, self.id)
    }

    const fn is_late(&self) -> bool {
        self.order >= LATE
    }
}

/// The order of the first late place.
const LATE: u64 = 1 << 63;

mod decisions;
mod draw;
mod events;
mod shares;
