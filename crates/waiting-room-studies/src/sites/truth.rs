//! What is true in the world, which nobody in it knows.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::recent::Lately;
use super::{
    clock::{MINUTE, SECOND},
    line::Line,
    scenario::Limits,
};

/// Who is active, who came in lately, and who waits; and what follows from it for every decision.
///
/// It knows nothing of policies, sites or slots: it is told what happened to whom, and judges.
#[derive(Debug)]
pub(super) struct Truth {
    limits: Limits,
    now: u32,
    active: u32,
    /// When the visitors of the last 60 seconds were let in.
    recent: VecDeque<u32>,
    /// How many could be let in besides all who wait; less than none, if more wait.
    spare: Lately,
    /// The same, if the stranded slots were free as well.
    spare_with_stranded: Lately,
    /// The present calendar minute, and how many were let in in it.
    minute: (u32, u32),
    line: Line,
    /// New visitors who stand at a door that has not decided yet.
    asking: u32,
    stranded: Stranded,
    pub(super) seen: Seen,
}

/// Slots that belong to sites which cannot give them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stranded {
    /// Of those for active visitors.
    pub(super) active: u32,
    /// Of those for new visitors in a minute.
    pub(super) new: u32,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) max_active: u32,
    pub(super) max_new_in_a_minute: u32,
    pub(super) max_new_in_60_s: u32,
    pub(super) admitted: u64,
    pub(super) queued: u64,
    /// Visitors who had to wait although they were next and a slot was free.
    pub(super) early: Early,
    /// The same, if a slot that is stranded counts as free.
    pub(super) early_with_stranded: Early,
    /// How full the room was when somebody had to wait for the first time, and when that was.
    pub(super) first_queued: Option<(f64, u32)>,
    /// Milliseconds × slots: free, while somebody waited.
    pub(super) early_slot_ms: u64,
    /// Milliseconds × visitors above the limit.
    pub(super) overshoot_ms: u64,
    pub(super) inversions: u64,
    pub(super) worst_inversion_s: u32,
    pub(super) max_waiting: u32,
    pub(super) max_stranded: u32,
    /// Slots that are stranded still.
    pub(super) stranded_at_end: u32,
    /// When slots were stranded for the last time, in milliseconds.
    pub(super) last_stranded: Option<u32>,
}

/// Visitors who had to wait too early.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Early {
    pub(super) queued: u64,
    /// How full the room was when the first of them had to.
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
    /// less than `news_take` is not yet one that somebody far away could have had.
    pub(super) fn new(limits: Limits, length: u32, news_take: u32) -> Self {
        let free = limits.total_active_users.min(limits.new_users_per_minute).into();
        Self {
            limits,
            now: 0,
            active: 0,
            recent: VecDeque::new(),
            spare: Lately::new(free, news_take),
            spare_with_stranded: Lately::new(free, news_take),
            minute: (0, 0),
            line: Line::new(length / SECOND),
            asking: 0,
            stranded: Stranded::default(),
            seen: Seen::default(),
        }
    }

    /// Somebody who arrived then is let in.
    pub(super) fn admit(&mut self, arrived: u32, was_in_line: bool, now: u32) {
        self.advance(now);
        let second = arrived / SECOND;
        if was_in_line {
            self.line.leave(second);
        }
        if self.line.ahead(second) > 0 {
            let oldest = self.line.second_of(0).unwrap_or(second);
            self.seen.inversions += 1;
            self.seen.worst_inversion_s = self.seen.worst_inversion_s.max(second - oldest);
        }
        self.active += 1;
        self.recent.push_back(now);
        self.has_changed();
        let minute = now / MINUTE;
        let so_far = if self.minute.0 == minute { self.minute.1 } else { 0 };
        self.minute = (minute, so_far + 1);

        let in_60_s = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        let seen = &mut self.seen;
        seen.admitted += 1;
        seen.max_active = seen.max_active.max(self.active);
        seen.max_new_in_60_s = seen.max_new_in_60_s.max(in_60_s);
        seen.max_new_in_a_minute = seen.max_new_in_a_minute.max(self.minute.1);
    }

    /// A session is over.
    pub(super) fn lapse(&mut self, now: u32) {
        self.advance(now);
        self.active -= 1;
        self.has_changed();
    }

    /// A new visitor stands at a door that needs time to decide.
    pub(super) const fn stand(&mut self) {
        self.asking += 1;
    }

    /// The door has decided about a new visitor who stood there.
    pub(super) const fn decided(&mut self) {
        self.asking -= 1;
    }

    /// Somebody has to wait who has just come. One who keeps no ticket does not get into the line.
    pub(super) fn queue(&mut self, arrived: u32, keeps_ticket: bool, now: u32) {
        self.advance(now);
        let second = arrived / SECOND;
        let fullness = self.fullness();
        self.seen.queued += 1;
        self.seen.first_queued.get_or_insert((fullness, now));
        // A slot that was free all the time, whoever asks can have. Who stands at a door is ahead.
        if self.spare.least(now) > self.asking.into() {
            self.seen.early.count(fullness);
        }
        if self.spare_with_stranded.least(now) > self.asking.into() {
            self.seen.early_with_stranded.count(fullness);
        }
        if keeps_ticket {
            self.line.join(second);
            self.has_changed();
            self.seen.max_waiting = self.seen.max_waiting.max(self.line.waiting());
        }
    }

    /// Somebody who has waited since then goes.
    pub(super) fn give_up(&mut self, arrived: u32, now: u32) {
        self.advance(now);
        self.line.leave(arrived / SECOND);
        self.has_changed();
    }

    /// So many slots are held for sites that cannot use them or give them back.
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

    /// Whether a ledger that knows all of this would let in somebody who arrived then.
    pub(super) fn has_room_for(&mut self, arrived: u32, now: u32) -> bool {
        self.advance(now);
        self.free(now) > self.line.ahead(arrived / SECOND)
    }

    /// How many could be let in now.
    pub(super) fn free(&mut self, now: u32) -> u32 {
        self.advance(now);
        self.free_now()
    }

    pub(super) const fn active(&self) -> u32 {
        self.active
    }

    /// How many wait, and how many new visitors stand at a door.
    pub(super) const fn waiting_and_asking(&self) -> (u32, u32) {
        (self.line.waiting(), self.asking)
    }

    /// Let in within the last 60 seconds.
    pub(super) fn recent(&mut self, now: u32) -> u32 {
        self.advance(now);
        u32::try_from(self.recent.len()).unwrap_or(u32::MAX)
    }

    pub(super) const fn line(&self) -> &Line {
        &self.line
    }

    /// Time goes by in which nothing happens but that minutes pass.
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
        let besides_who_wait = |free: u32| i64::from(free) - i64::from(self.line.waiting());
        let spare = besides_who_wait(self.free_now());
        let with_stranded = besides_who_wait(self.free_without(Stranded::default()));
        self.spare.change(spare, self.now);
        self.spare_with_stranded.change(with_stranded, self.now);
    }

    fn free_now(&self) -> u32 {
        self.free_without(self.stranded)
    }

    /// How many could be let in if so many slots were stranded.
    fn free_without(&self, stranded: Stranded) -> u32 {
        let recent = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        let limits = self.limits;
        let slots = limits.total_active_users.saturating_sub(self.active + stranded.active);
        slots.min(limits.new_users_per_minute.saturating_sub(recent + stranded.new))
    }

    /// The share of the limit that is nearer.
    fn fullness(&self) -> f64 {
        let active = f64::from(self.active) / f64::from(self.limits.total_active_users);
        let new = self.recent.len() as f64 / f64::from(self.limits.new_users_per_minute);
        active.max(new)
    }
}
