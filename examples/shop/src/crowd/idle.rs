//! Slots that were idle while a visitor waited, as far as the visitors know.
//!
//! A client knows when it got or renewed its pass, and so until when its slot is held. It also knows
//! for how long it counts as present. From both follows how many slots were free at any time, and for
//! which of the waiting visitors: the first of them, in the order of the line.
//!
//! A slot that is free for a visitor who follows the line over a stream should be taken at once. A
//! slot that is free for a visitor who polls is reserved until its next poll, or until it no longer
//! counts as present. Both are counted, but separately.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, VecDeque},
    time::Duration,
};

use tower_waiting_room::time::Timestamp;
use waiting_room_sim::VisitorNo;

/// The actions of the visitors, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotLog(Vec<(Timestamp, VisitorNo, Step)>);

/// A change in the state of one visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It has left, and holds neither a slot nor a place.
    Gone,
    /// It holds a slot until this time, unless it leaves or renews its pass.
    Inside(Timestamp),
    /// It has a place, and counts as present until this time.
    Waits(Timestamp, By),
}

/// How a waiting visitor learns that it is its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Poll,
    Push,
}

/// The limits of the room, and the time in which they are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sale {
    pub(super) slots: u32,
    pub(super) per_minute: u32,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

/// The slots that stood idle, in seconds times slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IdleSlots {
    /// All slots, while a visitor waited.
    pub(super) total: f64,
    /// Free slots whose turn it was for a visitor with a stream.
    pub(super) for_push: f64,
    /// Free slots whose turn it was for a visitor without one.
    pub(super) for_polls: f64,
}

impl IdleSlots {
    /// The share of the slots that stood idle for visitors with a stream.
    pub(super) fn share(&self) -> f64 {
        if self.total > 0.0 { self.for_push / self.total } else { 0.0 }
    }
}

impl SlotLog {
    /// Records a step.
    pub(super) fn record(&mut self, at: Timestamp, visitor: VisitorNo, step: Step) {
        self.0.push((at, visitor, step));
    }

    /// Adds up the idle slots of a sale. The visitors wait in the order that `order` returns.
    pub(super) fn idle(&self, sale: Sale, order: impl Fn(VisitorNo) -> Timestamp) -> IdleSlots {
        let mut hall = Hall::default();
        let mut idle = IdleSlots::default();
        for (at, visitor, step) in &self.0 {
            hall.advance(*at, &sale, &mut idle);
            hall.apply(*at, *visitor, *step, order(*visitor));
        }
        hall.advance(sale.until, &sale, &mut idle);
        idle
    }
}

/// The state of all visitors at one time.
#[derive(Debug, Default)]
struct Hall {
    now: Timestamp,
    /// Until when each visitor inside holds its slot.
    inside: HashMap<VisitorNo, Timestamp>,
    /// The waiting visitors in the order of the line, and the ends of their presence.
    waiting: BTreeMap<(Timestamp, VisitorNo), (Timestamp, By)>,
    orders: HashMap<VisitorNo, Timestamp>,
    /// The admissions of the last minute.
    admitted: VecDeque<Timestamp>,
    /// The times at which a visitor may lose its slot or its presence.
    deadlines: BinaryHeap<Reverse<(Timestamp, VisitorNo)>>,
}

impl Hall {
    fn apply(&mut self, at: Timestamp, visitor: VisitorNo, step: Step, order: Timestamp) {
        if !matches!(step, Step::Inside(_)) {
            self.inside.remove(&visitor);
        }
        if let Some(before) = self.orders.remove(&visitor) {
            self.waiting.remove(&(before, visitor));
        }
        match step {
            Step::Gone => {}
            Step::Inside(until) => {
                if self.inside.insert(visitor, until).is_none() {
                    self.admitted.push_back(at);
                }
                self.deadlines.push(Reverse((until, visitor)));
            }
            Step::Waits(until, by) => {
                self.orders.insert(visitor, order);
                self.waiting.insert((order, visitor), (until, by));
                self.deadlines.push(Reverse((until, visitor)));
            }
        }
    }

    /// Advances to a time, and adds up what was idle until then.
    fn advance(&mut self, until: Timestamp, sale: &Sale, idle: &mut IdleSlots) {
        loop {
            let deadline = self.deadlines.peek().map(|Reverse((at, _))| *at);
            let leaves_minute = self.admitted.front().map(|at| *at + MINUTE);
            let next = [deadline, leaves_minute].into_iter().flatten().min();
            let next = next.filter(|next| *next <= until);
            self.count(next.unwrap_or(until), sale, idle);
            let Some(next) = next else { return };
            while let Some(Reverse((at, visitor))) = self.deadlines.peek().copied()
                && at <= next
            {
                self.deadlines.pop();
                self.lapse(at, visitor);
            }
            while self.admitted.front().is_some_and(|at| *at + MINUTE <= next) {
                self.admitted.pop_front();
            }
        }
    }

    /// Takes note that a deadline has passed, unless it was postponed.
    fn lapse(&mut self, at: Timestamp, visitor: VisitorNo) {
        if self.inside.get(&visitor).is_some_and(|until| *until <= at) {
            self.inside.remove(&visitor);
        }
        if let Some(order) = self.orders.get(&visitor).copied()
            && self.waiting.get(&(order, visitor)).is_some_and(|(until, _)| *until <= at)
        {
            self.waiting.remove(&(order, visitor));
            self.orders.remove(&visitor);
        }
    }

    /// Counts the slots that are idle until this time, in which nothing changes.
    fn count(&mut self, until: Timestamp, sale: &Sale, idle: &mut IdleSlots) {
        let from = self.now.max(sale.from);
        let seconds = until.min(sale.until).since(from).as_secs_f64();
        self.now = self.now.max(until);
        if seconds <= 0.0 || self.waiting.is_empty() {
            return;
        }
        idle.total += f64::from(sale.slots) * seconds;
        let slots = (sale.slots as usize).saturating_sub(self.inside.len());
        let minute = (sale.per_minute as usize).saturating_sub(self.admitted.len());
        for (_, by) in self.waiting.values().take(slots.min(minute)) {
            match by {
                By::Poll => idle.for_polls += seconds,
                By::Push => idle.for_push += seconds,
            }
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: VisitorNo = VisitorNo(1);
    const BOB: VisitorNo = VisitorNo(2);
    const CAT: VisitorNo = VisitorNo(3);

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(1_000 + secs)
    }

    /// The idle slots of a room with two slots from 0 s to 100 s: for push, for polls, and all slots.
    fn idle(per_minute: u32, steps: &[(u64, VisitorNo, Step)]) -> String {
        let mut log = SlotLog::default();
        for (secs, visitor, step) in steps {
            log.record(at(*secs), *visitor, *step);
        }
        let sale = Sale { slots: 2, per_minute, from: at(0), until: at(100) };
        let idle = log.idle(sale, |visitor| Timestamp::from_secs(visitor.0));
        format!("{:.1} {:.1} {:.1}", idle.for_push, idle.for_polls, idle.total)
    }

    fn waits(until: u64, by: By) -> Step {
        Step::Waits(at(until), by)
    }

    fn inside(until: u64) -> Step {
        Step::Inside(at(until))
    }

    #[test]
    fn a_slot_is_idle_from_the_end_of_a_session_to_the_next_admission() {
        let full = [(0, ANN, inside(50)), (0, CAT, inside(200)), (10, BOB, waits(90, By::Push))];
        // The session lapses at 50 s, and the next visitor enters at 53 s.
        let lapsed = [&full[..], &[(53, BOB, inside(200))]].concat();
        assert_eq!(idle(100, &lapsed), "3.0 0.0 86.0");
        // It renews its pass, and checks out at 60 s.
        let left = [(40, ANN, inside(90)), (60, ANN, Step::Gone), (61, BOB, inside(200))];
        assert_eq!(idle(100, &[&full[..], &left].concat()), "1.0 0.0 102.0");
    }

    #[test]
    fn the_first_present_visitor_has_the_slot() {
        let line = [(0, ANN, waits(5, By::Poll)), (0, BOB, waits(8, By::Push))];
        let with = |slots: &[_]| idle(100, &[slots, &line].concat());
        // The first visitor polls, so the slot is reserved for it as long as it is present.
        assert_eq!(with(&[(0, CAT, inside(200))]), "3.0 5.0 16.0");
        assert_eq!(with(&[]), "8.0 5.0 16.0");
    }

    #[test]
    fn a_slot_that_the_minute_forbids_is_not_idle() {
        let steps = [
            (0, ANN, inside(10)),
            (0, CAT, inside(10)),
            (0, BOB, waits(90, By::Push)),
            (61, BOB, inside(200)),
        ];
        assert_eq!(idle(2, &steps), "1.0 0.0 122.0");
        assert_eq!(idle(100, &steps), "51.0 0.0 122.0");
    }
}
