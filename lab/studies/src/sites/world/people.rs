//! The behaviour of visitors.

use rand::RngExt;
use rand_distr::{Distribution, Exp1};

use super::World;
use crate::sites::{
    clock::{SECOND, from_seconds},
    crowd::Newcomer,
    door::{Asker, Say},
    news::LineNews,
    scenario::Policy,
    visitor::{Phase, Visitor},
};

impl World<'_> {
    /// A new visitor arrives.
    pub(super) fn arrive(&mut self, newcomer: Newcomer) {
        self.notes.arrivals += 1;
        let id = u32::try_from(self.notes.arrivals).unwrap_or(u32::MAX);
        let Newcomer { at, site, browsing, is_bot } = newcomer;
        let who = self.visitors.add(Visitor { is_bot, ..Visitor::new(id, at, site, browsing) });
        self.ask_elsewhere(who);
    }

    /// A visitor is due.
    pub(super) fn act(&mut self, who: u32) {
        let visitor = *self.visitors.of(who);
        match visitor.phase {
            Phase::Active if self.now >= visitor.ends => self.lapse(who),
            // The pass was extended after the last page, by the reply of a ledger.
            Phase::Active if self.now > visitor.browsing => {
                self.wheel.schedule(who, visitor.ends);
            }
            Phase::Active => self.browse(who),
            Phase::Asking => {
                let asker = self.asker(who);
                let world = self.news.world(asker.site, self.now);
                let say = self.door.resume(&asker, world);
                self.hear(who, say);
            }
            Phase::Waiting if self.now >= visitor.ends => {
                self.truth.give_up(visitor.arrived, self.now);
                self.notes.gave_up += 1;
                self.visitors.remove(who);
            }
            Phase::Waiting => {
                self.ask_elsewhere(who);
            }
        }
    }

    /// The site at whose door a visitor stood is gone, so the visitor tries another one. A visitor
    /// with a pass has no need to hurry.
    pub(super) fn lose_the_door(&mut self, who: u32) {
        if self.visitors.of(who).phase == Phase::Asking {
            self.ask_elsewhere(who);
        }
    }

    /// A visitor requests admission, at another site if its own is gone.
    fn ask_elsewhere(&mut self, who: u32) {
        self.move_from_a_dead_site(who);
        self.ask(who);
    }

    /// A visitor requests admission, if it may be next.
    fn ask(&mut self, who: u32) {
        let asker = self.asker(who);
        let arrived = self.visitors.of(who).arrived;
        let line = match self.policy {
            Policy::Ideal => LineNews::default(),
            Policy::IdealHolds => self.line_news(),
            Policy::Counters | Policy::Curve | Policy::Escrow | Policy::Even => {
                self.news.line(asker.site, self.now)
            }
        };
        if arrived / SECOND > line.frontier {
            return self.hear(who, Say::Queue);
        }
        let world = self.news.world(asker.site, self.now);
        let say = self.door.request(&asker, world);
        self.hear(who, say);
    }

    /// A visitor receives the answer of the door.
    pub(super) fn hear(&mut self, who: u32, say: Say) {
        match say {
            Say::Admit => {
                self.leave_the_door(who);
                self.admit(who);
            }
            Say::Later(at) => {
                self.stand_at_the_door(who);
                self.wheel.schedule(who, at);
            }
            Say::Prolong(ends) => self.visitors.of_mut(who).ends = ends,
            Say::Queue => {
                self.leave_the_door(who);
                self.queue(who);
            }
            Say::Wait => self.stand_at_the_door(who),
        }
    }

    fn stand_at_the_door(&mut self, who: u32) {
        let visitor = self.visitors.of_mut(who);
        visitor.phase = Phase::Asking;
        if !visitor.is_in_line && !visitor.is_at_a_door {
            visitor.is_at_a_door = true;
            self.truth.stand();
        }
    }

    fn leave_the_door(&mut self, who: u32) {
        let visitor = self.visitors.of_mut(who);
        if std::mem::take(&mut visitor.is_at_a_door) {
            self.truth.decided();
        }
    }

    fn admit(&mut self, who: u32) {
        let visitor = *self.visitors.of(who);
        self.notes.admitted(&visitor, self.now);
        self.truth.admit(visitor.arrived, visitor.is_in_line, self.now);
        self.admissions.count(self.now);
        self.news.count(visitor.site, self.now);
        self.active[usize::from(visitor.site)] += 1;
        let visitor = self.visitors.of_mut(who);
        visitor.phase = Phase::Active;
        visitor.is_in_line = false;
        // From now on this is the time of the last page.
        visitor.browsing = self.now.saturating_add(visitor.browsing);
        visitor.ends = self.door.pass_ends(who, self.now, self.scenario.pass_ms());
        self.show_page(who);
    }

    /// A visitor with a pass requests a page. The visitor waits for no round trip.
    fn browse(&mut self, who: u32) {
        self.notes.pages += 1;
        self.move_from_a_dead_site(who);
        let asker = self.asker(who);
        let ends = self.visitors.of(who).ends;
        let lasts = self.scenario.pass_ms();
        self.visitors.of_mut(who).ends = self.door.prolong(&asker, ends, lasts);
        self.show_page(who);
    }

    /// Chooses the time of the next page, unless this was the last.
    fn show_page(&mut self, who: u32) {
        let think: f64 = Exp1.sample(&mut self.habits);
        let next = self.now.saturating_add(from_seconds(think * self.scenario.visitors.think));
        let visitor = self.visitors.of(who);
        let was_the_last = visitor.is_bot || visitor.browsing <= self.now;
        let due = if was_the_last { visitor.ends } else { next.min(visitor.browsing) };
        self.wheel.schedule(who, due.min(visitor.ends));
    }

    pub(super) fn lapse(&mut self, who: u32) {
        let visitor = *self.visitors.of(who);
        self.notes.lapsed(&visitor, self.now);
        self.active[usize::from(visitor.site)] -= 1;
        self.truth.lapse(self.now);
        self.door.lapse(who);
        self.lapses.count(self.now);
        self.visitors.remove(who);
    }

    /// A visitor has to wait, or still has to.
    fn queue(&mut self, who: u32) {
        let visitor = *self.visitors.of(who);
        if !visitor.is_in_line {
            self.look_for_stranded_slots();
            self.notes.queued(&visitor, self.now);
            self.truth.queue(visitor.arrived, !visitor.is_bot, self.now);
            if visitor.is_bot {
                self.notes.bots_away += 1;
                return self.visitors.remove(who);
            }
        }
        if !visitor.is_in_line {
            self.join_the_line(who);
        }
        let refresh = self.now + self.refresh();
        let visitor = self.visitors.of_mut(who);
        visitor.phase = Phase::Waiting;
        self.wheel.schedule(who, refresh.min(visitor.ends));
    }

    /// The time until a waiting visitor checks in again.
    fn refresh(&mut self) -> u32 {
        let later: f64 = self.habits.random_range(1.0..1.3);
        from_seconds(later * self.scenario.visitors.refresh)
    }

    pub(super) fn look_for_stranded_slots(&mut self) {
        if !self.scenario.faults.is_empty() {
            let stranded = self.door.stranded(self.now);
            self.truth.strand(stranded, self.now);
        }
    }

    /// Shows the expected wait to a visitor, and draws the visitor's patience.
    fn join_the_line(&mut self, who: u32) {
        let patience: f64 = Exp1.sample(&mut self.habits);
        let patience = self.scenario.visitors.patience.map(|mean| from_seconds(mean * patience));
        let until = patience.map(|patience| self.now.saturating_add(patience));
        let line = self.news.line(self.visitors.of(who).site, self.now);
        let visitor = self.visitors.of_mut(who);
        visitor.is_in_line = true;
        visitor.ends = until.unwrap_or(u32::MAX);
        visitor.shown = line.wait();
    }

    /// Moves a visitor away from a dead site.
    fn move_from_a_dead_site(&mut self, who: u32) {
        let visitor = self.visitors.of_mut(who);
        let from = usize::from(visitor.site);
        if self.nodes[from] > 0 {
            return;
        }
        let to = self.crowd.site_at(self.habits.random());
        visitor.site = to;
        if visitor.phase == Phase::Active {
            self.active[from] -= 1;
            self.active[usize::from(to)] += 1;
        }
    }

    fn asker(&mut self, who: u32) -> Asker {
        let visitor = self.visitors.of(who);
        Asker {
            who,
            site: visitor.site,
            now: self.now,
            arrived: visitor.arrived,
            is_connected: !self.news.is_cut(visitor.site),
            is_next: self.truth.has_room_for(visitor.arrived, self.now),
            is_new: !visitor.is_in_line,
            id: visitor.id,
        }
    }

    /// The current line. Visitors may ask if fewer others are ahead than will be admitted before
    /// the next refresh.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub(super) fn line_news(&mut self) -> LineNews {
        let limits = self.scenario.limits;
        let refresh = self.scenario.visitors.refresh;
        let lapsing = refresh * self.lapses.per_second(60, self.now);
        let free = |limit: u32, used: u32| f64::from(limit) - f64::from(used);
        let slots = free(limits.total_active_users, self.truth.active()) + lapsing;
        let new = limits.new_users_per_minute;
        let ageing = refresh * self.admissions.per_second(60, self.now);
        let minute = free(new, self.truth.recent(self.now)) + ageing;
        let next = slots.min(minute).max(0.0) as u32;
        let line = self.truth.line();
        LineNews {
            waiting: line.waiting(),
            frontier: line.interval_of(next).unwrap_or(u32::MAX),
            per_minute: 60.0 * self.admissions.per_second(180, self.now),
        }
    }
}
