//! The exact state of the world, which no site knows.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::recent::Lately;
use super::{
    clock::{MINUTE, SECOND},
    line::Line,
    scenario::Limits,
};

/// The active visitors, the recent admissions and the waiting visitors, and what follows from them
/// for each decision.
///
/// It knows nothing about policies, sites or slots. It is told what happens to each visitor, and
/// judges it.
#[derive(Debug)]
pub(super) struct Truth {
    limits: Limits,
    now: u32,
    active: u32,
    /// The times of the admissions within the last 60 seconds.
    recent: VecDeque<u32>,
    /// The number of visitors that could be admitted in addition to all who wait; negative if more
    /// wait than could be admitted.
    spare: Lately,
    line: Line,
    /// The number of new visitors at a door that has not decided yet.
    asking: u32,
    stranded: Stranded,
    pub(super) seen: Seen,
}

/// Slots held by sites that cannot give them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stranded {
    /// Slots for active visitors.
    pub(super) active: u32,
    /// Slots for new visitors in a minute.
    pub(super) new: u32,
}

/// The figures of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) max_active: u32,
    pub(super) max_new_in_60_s: u32,
    pub(super) admitted: u64,
    pub(super) queued: u64,
    /// Visitors who had to wait although they were next and a slot was free.
    pub(super) early: Early,
    /// The utilization of the room when the first visitor had to wait, and the time.
    pub(super) first_queued: Option<(f64, u32)>,
    /// Milliseconds × slots that were free while visitors waited for them.
    pub(super) early_slot_ms: u64,
    /// Milliseconds × visitors above the limit.
    pub(super) overshoot_ms: u64,
    pub(super) inversions: u64,
    pub(super) worst_inversion_s: u32,
    pub(super) max_stranded: u32,
    /// The number of slots that are still stranded.
    pub(super) stranded_at_end: u32,
    /// The last time at which slots were stranded, in milliseconds.
    pub(super) last_stranded: Option<u32>,
}

/// Visitors who had to wait too early.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Early {
    pub(super) queued: u64,
    /// The utilization of the room when the first of them had to wait.
    pub(super) first: Option<f64>,
}

impl Early {
    fn count(&mut self, fullness: f64) {
        self.queued += 1;
        self.first.get_or_insert(fullness);
    }
}

impl Truth {
    /// A world without visitors, for a run of `length` milliseconds. A slot that has been free for
    /// less than `news_take` milliseconds does not count as free, because a distant node cannot
    /// know of it yet.
    pub(super) fn new(limits: Limits, length: u32, news_take: u32) -> Self {
        let free = limits.total_active_users.min(limits.new_users_per_minute).into();
        Self {
            limits,
            now: 0,
            active: 0,
            recent: VecDeque::new(),
            spare: Lately::new(free, news_take),
            line: Line::new(length / SECOND),
            asking: 0,
            stranded: Stranded::default(),
            seen: Seen::default(),
        }
    }

    /// Admits a visitor who arrived at `arrived`.
    pub(super) fn admit(&mut self, arrived: u32, was_in_line: bool, now: u32) {
        self.advance(now);
        let second = arrived / SECOND;
        if was_in_line {
            self.line.leave(second);
        }
        if self.line.ahead(second) > 0 {
            let oldest = self.line.interval_of(0).unwrap_or(second);
            self.seen.inversions += 1;
            self.seen.worst_inversion_s = self.seen.worst_inversion_s.max(second - oldest);
        }
        self.active += 1;
        self.recent.push_back(now);
        self.has_changed();

        let in_60_s = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        let seen = &mut self.seen;
        seen.admitted += 1;
        seen.max_active = seen.max_active.max(self.active);
        seen.max_new_in_60_s = seen.max_new_in_60_s.max(in_60_s);
    }

    /// Ends a session.
    pub(super) fn lapse(&mut self, now: u32) {
        self.advance(now);
        self.active -= 1;
        self.has_changed();
    }

    /// Records a new visitor at a door that needs time to decide.
    pub(super) const fn stand(&mut self) {
        self.asking += 1;
    }

    /// Records that the door has decided about such a visitor.
    pub(super) const fn decided(&mut self) {
        self.asking -= 1;
    }

    /// Records that a new visitor has to wait. A visitor that keeps no ticket does not join the
    /// line.
    pub(super) fn queue(&mut self, arrived: u32, keeps_ticket: bool, now: u32) {
        self.advance(now);
        let second = arrived / SECOND;
        let fullness = self.fullness();
        self.seen.queued += 1;
        self.seen.first_queued.get_or_insert((fullness, now));
        // A slot that was free for the whole window could have been used by this visitor. Visitors
        // at a door are ahead of it.
        if self.spare.least(now) > self.asking.into() {
            self.seen.early.count(fullness);
        }
        if keeps_ticket {
            self.line.join(second);
            self.has_changed();
        }
    }

    /// Records that a visitor who waited since `arrived` gives up.
    pub(super) fn give_up(&mut self, arrived: u32, now: u32) {
        self.advance(now);
        self.line.leave(arrived / SECOND);
        self.has_changed();
    }

    /// Records the slots that are held for sites that can neither use them nor give them back.
    pub(super) fn strand(&mut self, stranded: Stranded, now: u32) {
        self.advance(now);
        self.stranded = stranded;
        self.has_changed();
        if stranded != Stranded::default() {
            self.seen.last_stranded = Some(now);
        }
        self.seen.stranded_at_end = stranded.active.max(stranded.new);
        self.seen.max_stranded = self.seen.max_stranded.max(stranded.active);
    }

    /// Returns whether a ledger that knows this state would admit a visitor who arrived at
    /// `arrived`.
    pub(super) fn has_room_for(&mut self, arrived: u32, now: u32) -> bool {
        self.advance(now);
        self.free(now) > self.line.ahead(arrived / SECOND)
    }

    /// The number of visitors that could be admitted now.
    pub(super) fn free(&mut self, now: u32) -> u32 {
        self.advance(now);
        self.free_now()
    }

    pub(super) const fn active(&self) -> u32 {
        self.active
    }

    /// The numbers of waiting visitors, and of new visitors at a door.
    pub(super) const fn waiting_and_asking(&self) -> (u32, u32) {
        (self.line.waiting(), self.asking)
    }

    /// The number of admissions so far that are within the 60 seconds before `at`.
    pub(super) fn recent(&self, at: u32) -> u32 {
        let over = self.recent.partition_point(|admitted| admitted + MINUTE <= at);
        u32::try_from(self.recent.len() - over).unwrap_or(u32::MAX)
    }

    /// The time at which the oldest admission leaves the sliding minute.
    pub(super) fn minute_frees_at(&self) -> Option<u32> {
        self.recent.front().map(|oldest| oldest + MINUTE)
    }

    pub(super) const fn line(&self) -> &Line {
        &self.line
    }

    /// Advances to `now`. Admissions leave the sliding minute on the way.
    pub(super) fn advance(&mut self, now: u32) {
        while let Some(&oldest) = self.recent.front()
            && oldest + MINUTE <= now
        {
            self.pass(oldest + MINUTE);
            self.recent.pop_front();
            self.has_changed();
        }
        self.pass(now);
    }

    fn pass(&mut self, now: u32) {
        let millis = u64::from(now.saturating_sub(self.now));
        let over = self.active.saturating_sub(self.limits.total_active_users);
        self.seen.overshoot_ms += millis * u64::from(over);
        let idle = self.free_now().min(self.line.waiting());
        self.seen.early_slot_ms += millis * u64::from(idle);
        self.now = self.now.max(now);
    }

    fn has_changed(&mut self) {
        let spare = i64::from(self.free_now()) - i64::from(self.line.waiting());
        self.spare.change(spare, self.now);
    }

    fn free_now(&self) -> u32 {
        let stranded = self.stranded;
        let recent = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        let limits = self.limits;
        let slots = limits.total_active_users.saturating_sub(self.active + stranded.active);
        slots.min(limits.new_users_per_minute.saturating_sub(recent + stranded.new))
    }

    /// The utilization of the limit that is nearer.
    fn fullness(&self) -> f64 {
        let active = f64::from(self.active) / f64::from(self.limits.total_active_users);
        let new = self.recent.len() as f64 / f64::from(self.limits.new_users_per_minute);
        active.max(new)
    }
}
