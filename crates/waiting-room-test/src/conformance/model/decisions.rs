//! The decisions of the model, and the state that they change.

use waiting_room_core::{
    Pass, Reason, Ticket, Timestamp, Verdict, VisitorId,
    room::{CookieTest, HeadStart, QueueingMethod, RoomMode, Shares},
};

use super::{Ended, Model, Place, StoreChoice};

impl Model {
    pub(super) fn active(&mut self, id: VisitorId, now: Timestamp) -> Option<Verdict> {
        let session = *self.sessions.iter().find(|session| session.id == id)?;
        let pass = self.prolong(session, now);
        Some(Verdict::Admit { pass, reason: Reason::AdmittedActive })
    }

    pub(super) fn newcomer(&mut self, id: VisitorId, now: Timestamp, told: StoreChoice) -> Verdict {
        let mut ticket = Ticket::new(id, now, now, now + told.interval);
        let present = u32::try_from(self.present(now).count()).unwrap_or(u32::MAX);
        ticket.shown_position = Some(present + 1);
        ticket.is_approximate = true;
        if self.settings.mode == RoomMode::Drain {
            let retry_after = Some(self.settings.refresh_interval);
            return Verdict::Refuse { ticket: None, reason: Reason::RefusedDraining, retry_after };
        }
        match self.may_enter(self.present(now).count(), now) {
            Ok(Reason::AdmittedSlot) if self.is_cookie_tested() => {
                Verdict::Wait { ticket, reason: Reason::QueuedCookieTest }
            }
            Ok(reason) => self.admit(id, ticket.bucket(), reason, now),
            Err(reason) if self.settings.queueing_method == QueueingMethod::Reject => {
                self.rejected(&reason)
            }
            Err(reason) => Verdict::Wait { ticket, reason },
        }
    }

    pub(super) fn may_enter(&self, ahead: usize, now: Timestamp) -> Result<Reason, Reason> {
        let slots = (self.settings.total_active_users as usize).saturating_sub(self.sessions.len());
        let minute = self
            .settings
            .new_users_per_minute
            .map_or(usize::MAX, |limit| (limit as usize).saturating_sub(self.admissions.len()));
        if self.settings.mode == RoomMode::QueueAll {
            Err(if self.is_prequeue() { Reason::Prequeue } else { Reason::QueueAll })
        } else if self.settings.queueing_method == QueueingMethod::Passthrough {
            Ok(Reason::AdmittedPassthrough)
        } else if now < self.hold_until {
            Err(Reason::QueuedRecovery)
        } else if slots == 0 {
            Err(Reason::QueuedActiveLimit)
        } else if minute == 0 {
            Err(Reason::QueuedRate)
        } else if slots.min(minute) <= ahead {
            Err(Reason::QueuedBehindOthers)
        } else {
            Ok(Reason::AdmittedSlot)
        }
    }

    pub(super) fn admit(
        &mut self,
        id: VisitorId,
        bucket: u32,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        let expires_at = now + self.settings.timing().pass_lifetime();
        let pass = Pass::new(id, bucket, now, now, expires_at);
        self.remove_places(|place| place.id == id);
        self.admissions.push(now);
        if self.crowded(id).is_none() {
            self.counted.push(id);
        }
        self.hold(pass);
        Verdict::Admit { pass, reason }
    }

    pub(super) fn stand(
        &mut self,
        mut ticket: Ticket,
        needs_place: bool,
        ahead: usize,
        reason: Reason,
        now: Timestamp,
        told: StoreChoice,
    ) -> Verdict {
        if !ticket.placed && self.settings.queueing_method == QueueingMethod::Reject {
            return self.rejected(&reason);
        }
        let is_over = needs_place && self.is_network_full(ticket.id);
        let reason = match self.settings.shares {
            Shares::Auto | Shares::Limit(_) if is_over => {
                return Verdict::Refuse {
                    ticket: Some(Ticket::new(ticket.id, now, now, now + told.interval)),
                    reason: Reason::RefusedNetworkFull,
                    retry_after: Some(told.interval),
                };
            }
            Shares::Shadow(_) if is_over => Reason::QueuedNetworkFull,
            Shares::Auto | Shares::Limit(_) | Shares::Off | Shares::Shadow(_) => reason,
        };
        ticket.last_check_in = now;
        ticket.next_check_in = now + told.interval;
        if needs_place && self.places.len() >= self.settings.line_capacity as usize {
            return Verdict::Refuse {
                ticket: Some(ticket),
                reason: Reason::RefusedLineFull,
                retry_after: Some(told.interval),
            };
        }
        self.number(&mut ticket);
        let known = self.places.iter().find(|place| place.id == ticket.id).copied();
        let late = self.late_order(&ticket, known);
        if late.is_some() {
            ticket.head_start = HeadStart::NONE;
        }
        self.charge(&ticket);
        ticket.late_by = late.map_or(0, |order| self.late_by(order));
        let in_order = self.present(now).filter(|place| !place.is_late()).count();
        let ahead = if ticket.late_by > 0 && reason != Reason::QueuedTurn {
            ahead.max(in_order + ticket.late_by as usize - 1)
        } else {
            ahead
        };
        let position = u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1);
        (ticket.shown_position, ticket.is_approximate) = match (
            self.settings.queueing_method,
            ticket.shown_position.filter(|_| ticket.placed),
        ) {
            (QueueingMethod::Random, _) => (None, false),
            _ if self.will_be_drawn() => (None, false),
            (_, Some(shown)) if position > shown => {
                let is_near = position - shown <= shown / 16;
                (Some(if is_near { shown } else { position }), true)
            }
            _ => (Some(position), false),
        };
        ticket.placed = true;
        self.take_back(&ticket);
        let enters = late.is_none() && known.is_none_or(|known| known.is_late());
        self.entered += u64::from(enters);
        self.places.retain(|place| place.id != ticket.id);
        let place = ticket.entrant.and_then(|entrant| entrant.place);
        self.places.push(Place {
            id: ticket.id,
            arrived: ticket.arrival(),
            order: late.unwrap_or(place.map_or(ticket.arrival().as_nanos(), u64::from)),
            number: ticket.entrant.map(|entrant| (entrant.draw, entrant.number)),
            is_moved: false,
            present_until: now + told.interval * 3 / 2,
            kept_until: now + self.settings.place_retention,
        });
        self.let_in(now);
        Verdict::Wait { ticket, reason }
    }

    pub(super) fn hold(&mut self, pass: Pass) {
        self.sessions.retain(|session| session.id != pass.id);
        self.ended.retain(|ended| ended.id != pass.id);
        self.sessions.push(pass);
    }

    pub(super) fn remember(&mut self, ended: Ended) {
        self.ended.retain(|other| other.id != ended.id);
        self.ended.push(ended);
    }

    fn is_cookie_tested(&self) -> bool {
        match self.settings.cookie_test {
            CookieTest::AboveUtilization(percent) => {
                let taken =
                    self.sessions.len() as f64 / f64::from(self.settings.total_active_users);
                taken * 100.0 >= f64::from(percent)
            }
            CookieTest::Off => false,
        }
    }

    pub(super) fn present(&self, now: Timestamp) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.present_until > now)
    }

    fn rejected(&self, reason: &Reason) -> Verdict {
        let is_closed =
            matches!(reason, Reason::Prequeue | Reason::QueueAll | Reason::QueuedRecovery);
        let retry_after = is_closed.then_some(self.settings.refresh_interval);
        Verdict::Refuse { ticket: None, reason: Reason::RefusedReject, retry_after }
    }
}
