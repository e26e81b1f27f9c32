//! Visitors at the door. As in the room of a real site, new visitors need a place in the minute first, and
//! then a slot.

use waiting_room_core::VisitorId;
use waiting_room_ledger::model::{Admission, Prolonged, SiteAction, SitePass};

use super::{DOOR_WAIT, EscrowDoor, SPARE, guests::Guest, network::Limit};
use crate::sites::{
    clock::{millis, timestamp},
    door::{Asker, Outcome, Say},
};

impl EscrowDoor {
    /// Requests a slot for a visitor. The first request of a visitor counts as demand.
    pub(in crate::sites::door) fn arrive(&mut self, asker: &Asker) -> Say {
        if asker.is_new {
            for ledger in &mut self.sites[usize::from(asker.site)] {
                ledger.arrived();
            }
        }
        let in_line_since = (!asker.is_new).then_some(asker.arrived);
        let guest = Guest::new(asker.id, asker.site, asker.now + DOOR_WAIT);
        let guest = Guest { in_line_since, ..guest };
        self.guests.welcome(asker.who, guest);
        self.admit(asker.who, Limit::New, asker.now)
    }

    /// The end of a visitor's pass, which was issued when the ledger of slots admitted the visitor.
    pub(in crate::sites::door) fn pass_ends(&self, who: u32) -> u32 {
        let pass = self.guests.of(who).pass.expect("an admitted visitor has a pass");
        millis(pass.expires_at).saturating_sub(SPARE)
    }

    /// Extends the pass of a visitor who requests a page. Returns the new end.
    pub(in crate::sites::door) fn prolong(&mut self, asker: &Asker, ends: u32) -> u32 {
        let Some(pass) = self.guests.of(asker.who).pass else { return ends };
        let now = timestamp(asker.now);
        let site = &mut self.sites[usize::from(asker.site)][Limit::Active.index()];
        let prolonged = site.prolong(&pass, now);
        let (ends, request) = match prolonged {
            Prolonged::Renew { pass, claim } => {
                self.guests.hold(asker.who, pass);
                (asker.now + self.session, claim)
            }
            Prolonged::Borrow { request, .. } => {
                self.guests.wait(asker.who);
                self.trips.returning += 1;
                (ends, request)
            }
            Prolonged::End | Prolonged::Keep | _ => (ends, None),
        };
        self.send(asker.site, Limit::Active, request, asker.now);
        self.tick(asker.site, Limit::Active, asker.now);
        ends
    }

    /// Asks one ledger, and then the next one if this one has a slot.
    fn admit(&mut self, who: u32, limit: Limit, now: u32) -> Say {
        let Guest { id, site, in_line_since, deadline, .. } = *self.guests.of(who);
        let visitor = VisitorId::new(id.into());
        let ledger = &mut self.sites[usize::from(site)][limit.index()];
        let deadline = timestamp(deadline);
        let at = timestamp(now);
        let admission = match in_line_since {
            Some(since) => ledger.admit_from_line(visitor, timestamp(since), deadline, at),
            None => ledger.admit_by(visitor, deadline, at),
        };
        let say = match admission {
            Admission::Admit(pass) => {
                self.take(who, limit, pass);
                self.admitted(who, limit, now)
            }
            Admission::Borrow { request, .. } => {
                self.guests.wait(who);
                self.trips.wan += 1;
                self.send(site, limit, request, now);
                Say::Wait
            }
            Admission::Full | _ => self.refused(who, limit, now),
        };
        self.tick(site, limit, now);
        say
    }

    fn take(&mut self, who: u32, limit: Limit, pass: SitePass) {
        match limit {
            Limit::New => self.guests.set_place(who, Some(pass)),
            Limit::Active => self.guests.hold(who, pass),
        }
    }

    fn admitted(&mut self, who: u32, limit: Limit, now: u32) -> Say {
        match limit {
            Limit::New => self.admit(who, Limit::Active, now),
            // A visitor is admitted now, so its place is held from now on.
            Limit::Active if !self.renews_place(who, now) => {
                self.withdraw(who, Limit::Active, now);
                self.refused(who, limit, now)
            }
            Limit::Active => {
                self.guests.set_place(who, None);
                self.let_in[usize::from(self.guests.of(who).site)].add(now);
                Say::Admit
            }
        }
    }

    /// Returns whether the place in the minute of a visitor is held from now on.
    fn renews_place(&mut self, who: u32, now: u32) -> bool {
        let Guest { site, place, .. } = *self.guests.of(who);
        let ledger = &mut self.sites[usize::from(site)][Limit::New.index()];
        place.is_some_and(|place| {
            matches!(ledger.prolong(&place, timestamp(now)), Prolonged::Renew { .. })
        })
    }

    fn refused(&mut self, who: u32, limit: Limit, now: u32) -> Say {
        if limit == Limit::Active {
            self.withdraw(who, Limit::New, now);
        }
        self.guests.leave(who);
        Say::Queue
    }

    /// Returns what a ledger has given to a visitor who is not admitted after all.
    fn withdraw(&mut self, who: u32, limit: Limit, now: u32) {
        let Guest { id, site, .. } = *self.guests.of(who);
        let ledger = &mut self.sites[usize::from(site)][limit.index()];
        ledger.withdraw(VisitorId::new(id.into()), timestamp(now));
        self.tick(site, limit, now);
    }

    /// Performs the actions that a ledger returned.
    pub(super) fn act(&mut self, site: u16, limit: Limit, actions: Vec<SiteAction>, now: u32) {
        for action in actions {
            match action {
                SiteAction::Admit(pass) => {
                    if let Some(who) = self.guests.called(pass.visitor) {
                        let is_returning = self.guests.of(who).pass.is_some();
                        self.take(who, limit, pass);
                        let say = match limit {
                            Limit::Active if is_returning => Say::Prolong(now + self.session),
                            limit @ (Limit::Active | Limit::New) => self.admitted(who, limit, now),
                        };
                        self.tell(who, say);
                    }
                }
                SiteAction::GiveUp(visitor) => {
                    if let Some(who) = self.guests.called(visitor) {
                        let is_returning =
                            limit == Limit::Active && self.guests.of(who).pass.is_some();
                        if !is_returning {
                            let say = self.refused(who, limit, now);
                            self.tell(who, say);
                        }
                    }
                }
                SiteAction::Send(message) => self.send(site, limit, Some(message), now),
                SiteAction::Warn(_) | _ => {}
            }
        }
    }

    fn tell(&mut self, who: u32, say: Say) {
        if say != Say::Wait {
            self.outcomes.push(Outcome { who, say });
        }
    }
}
