//! Visitors with plans, like those of the `shop` example.
//!
//! ```text
//!   away ──arrives──► asking ──► waiting ──► active ──next page, or its session lapses──► away …
//!                       ▲          │  ▲        │
//!                       └──────────┘  │        └─ the last page: checks out, or falls silent
//!                                  aside: it closes the tab for a while
//! ```
//!
//! Such a visitor may have several sessions one after the other, and one without cookies has a session
//! for each page. In the world, each session is a visitor of its own.

use rand::RngExt;
use waiting_room_sim::plan::{Ending, Memory};

use super::World;
use crate::sites::{
    clock::from_seconds,
    shopper::millis,
    visitor::{Phase, Visitor},
};

impl World<'_> {
    /// A visitor with a plan sends a request.
    pub(super) fn sets_out(&mut self, who: u32) {
        let now = self.now;
        if let Some(shopper) = self.shoppers.of(who) {
            if shopper.plan.memory == Memory::Forgets {
                self.witness.gave_up(shopper.number, now);
                shopper.number = self.witness.stranger();
            }
            self.witness.sent(shopper.number, now);
            shopper.asked = now;
            let patience = shopper.plan.patience.map_or(u32::MAX, millis);
            shopper.until.get_or_insert(now.saturating_add(patience));
        }
    }

    /// A visitor that was away arrives.
    pub(super) fn returns(&mut self, who: u32) {
        self.notes.arrivals += 1;
        let now = self.now;
        let id = u32::try_from(self.notes.arrivals).unwrap_or(u32::MAX);
        let visitor = self.visitors.of_mut(who);
        visitor.id = id;
        visitor.arrived = now;
        visitor.phase = Phase::Asking;
    }

    /// A visitor with a plan has an answer to a request for which it had no pass.
    pub(super) fn is_answered(&mut self, who: u32) {
        let now = self.now;
        let trip = self.scenario.network.wan_rtt_ms[0];
        if let Some(shopper) = self.shoppers.of(who)
            && !shopper.has_pass
            && now - shopper.asked >= trip
        {
            self.notes.crowd.slow_decisions += 1;
        }
    }

    /// A visitor with a plan is inside. One without cookies leaves its session behind.
    pub(super) fn comes_in(&mut self, who: u32) {
        let now = self.now;
        let Some(shopper) = self.shoppers.of(who) else { return };
        self.witness.admitted(shopper.number, now);
        let counts = &mut self.notes.crowd;
        counts.let_in += u64::from(!shopper.has_pass);
        counts.visitors_let_in += u64::from(!std::mem::replace(&mut shopper.has_been_in, true));
        shopper.until = None;
        let keeps = shopper.plan.memory == Memory::Keeps;
        shopper.has_pass = keeps;
        if keeps {
            return self.plans_page(who);
        }
        let next = shopper.plan_page(now);
        let Visitor { site, ends, .. } = *self.visitors.of(who);
        self.wheel.schedule(who, ends);
        if let (Some(plan), Some(at)) = (self.shoppers.detach(who), next) {
            self.goes_away(plan, site, at);
        }
    }

    /// A visitor with a plan requests a page, and has a pass.
    pub(super) fn requests_page(&mut self, who: u32) {
        let now = self.now;
        let Some(shopper) = self.shoppers.of(who) else { return };
        self.witness.sent(shopper.number, now);
        self.witness.admitted(shopper.number, now);
        self.plans_page(who);
    }

    /// A visitor with a plan has seen a page, and requests the next one later. After the last page, it
    /// checks out or falls silent.
    pub(super) fn plans_page(&mut self, who: u32) {
        let now = self.now;
        let Some(shopper) = self.shoppers.of(who) else { return };
        let next = shopper.plan_page(now);
        if next.is_none() && shopper.plan.ending == Ending::Checkout {
            self.witness.left(shopper.number, now);
            self.shoppers.detach(who);
            self.door.release(who, now);
            return self.lapse(who);
        }
        let visitor = self.visitors.of_mut(who);
        let ends = visitor.ends;
        if next.is_none() {
            visitor.browsing = now;
        }
        self.wheel.schedule(who, next.unwrap_or(ends).min(ends));
    }

    /// Whether it is not yet the time of the next page of this visitor.
    pub(super) fn is_too_soon(&mut self, who: u32) -> Option<u32> {
        let now = self.now;
        self.shoppers.of(who).and_then(|shopper| shopper.next_page).filter(|next| *next > now)
    }

    /// The session of a visitor is over. One with a plan that has not seen the last page returns.
    pub(super) fn loses_its_session(&mut self, who: u32) {
        let site = self.visitors.of(who).site;
        let next = self.shoppers.of(who).and_then(|shopper| shopper.next_page);
        if let (Some(plan), Some(at)) = (self.shoppers.detach(who), next) {
            self.goes_away(plan, site, at);
        }
    }

    /// A visitor without cookies has to wait. It returns as another one.
    pub(super) fn returns_as_another(&mut self, who: u32) {
        let now = self.now;
        let site = self.visitors.of(who).site;
        let Some(pause) = self.told_to_wait(who) else { return };
        let until = self.shoppers.of(who).and_then(|shopper| shopper.until);
        let at = now + pause;
        if let Some(plan) = self.shoppers.detach(who)
            && until.is_none_or(|until| at <= until)
        {
            self.goes_away(plan, site, at);
        }
    }

    /// A visitor with a plan loses patience.
    pub(super) fn loses_patience(&mut self, who: u32) {
        if let Some(shopper) = self.shoppers.of(who) {
            self.witness.gave_up(shopper.number, self.now);
        }
    }

    /// The time until which a visitor with a plan is willing to wait.
    pub(super) fn waits_until(&mut self, who: u32) -> Option<u32> {
        self.shoppers.of(who).and_then(|shopper| shopper.until)
    }

    /// A visitor with a plan is told to wait. Returns the time after which it asks again: that which it
    /// is told, in whole seconds, or its absence. While it is absent, it is not in the line.
    pub(super) fn told_to_wait(&mut self, who: u32) -> Option<u32> {
        let Visitor { arrived, site, is_in_line: is_placed, .. } = *self.visitors.of(who);
        let jitter: f64 = self.habits.random();
        let seconds = if is_placed {
            (self.scenario.visitors.refresh * (1.0 + 0.3 * jitter)).ceil()
        } else {
            (1.5 + jitter).floor()
        };
        let shopper = self.shoppers.of(who)?;
        shopper.has_pass = false;
        shopper.waits += 1;
        let waits = shopper.waits;
        let absence = shopper.plan.absence.filter(|absence| absence.after == waits);
        let pause = from_seconds(seconds);
        self.witness.waits(shopper.number, pause, arrived, is_placed, self.now);
        let Some(absence) = absence else { return Some(pause) };
        if is_placed {
            shopper.is_aside = true;
            self.truth.step_aside(arrived, self.now);
            self.door.leaves_line(site, arrived, self.now);
        }
        Some(pause.max(millis(absence.lasts)))
    }

    /// A visitor that was absent is in the line again.
    pub(super) fn steps_back(&mut self, who: u32) {
        let now = self.now;
        let Visitor { arrived, site, .. } = *self.visitors.of(who);
        if let Some(shopper) = self.shoppers.of(who)
            && std::mem::take(&mut shopper.is_aside)
        {
            self.truth.step_back(arrived, now);
            self.door.joins_line(site, arrived, now);
        }
    }

    /// The visitor with this plan is not at the shop until `at`.
    fn goes_away(&mut self, plan: u32, site: u16, at: u32) {
        let is_bot = self.shoppers.forgets(plan);
        let who = self.visitors.add(Visitor {
            phase: Phase::Away,
            is_bot,
            ..Visitor::new(0, at, site, u32::MAX)
        });
        self.shoppers.attach(who, plan);
        self.wheel.schedule(who, at);
    }
}
