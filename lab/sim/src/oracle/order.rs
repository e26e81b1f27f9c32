//! Order inversions: whether a later visitor was certainly admitted first.
//!
//! Suppose A stands in the line, certainly present, and B, who certainly arrived after A, is
//! admitted. At that instant more slots were free than visitors stood before B, and A was one of
//! these. So even after B took a slot, at least one more slot was free than visitors stood before
//! A. From then on, each admission of a visitor before A takes one slot and removes one visitor
//! before A; and a visitor behind A is admitted only if a slot is left for A, as long as A is
//! present. So A keeps its slot until its next request, and must not be told to wait.
//!
//! Two cases are not judged. In the first, a visitor before A is admitted who was *not* present all
//! the time since the admission of B. In the second, a visitor is admitted after A may have ceased
//! to be present.

use std::{collections::VecDeque, time::Duration};

use waiting_room_core::Timestamp;

use super::{limits::Limits, visitor::Span};

/// The recent admissions, in the order of their answers.
#[derive(Clone, Debug)]
pub(super) struct Order {
    recent: VecDeque<Admission>,
    /// For each of several times, the latest arrival among the visitors certainly admitted since
    /// then. Later times have earlier arrivals.
    latest: VecDeque<(Timestamp, Timestamp)>,
    /// How long admissions are kept.
    keep: Duration,
}

/// An admission that has happened, or may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// When it was decided.
    pub decided: Span,
    /// The earliest time at which the visitor may have arrived.
    pub arrived: Timestamp,
    /// When the visitor was certainly present in the line before.
    pub present: Option<Span>,
    pub fate: Fate,
}

/// How certain an admission is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The visitor was certainly admitted, and certainly by this request.
    Certain,
    /// The visitor was admitted, by this request or before it.
    Possible,
    /// The request failed. If it has admitted the visitor, then at any time since its departure.
    Stray,
}

/// A visitor who stands in the line and was told to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    /// The latest time at which it may have arrived.
    pub arrived: Timestamp,
    /// When the answer before this one arrived.
    pub answered: Timestamp,
    /// When the room decided that the visitor has to keep waiting.
    pub decided: Span,
    /// The time until which it was certainly present (exclusive).
    pub present_until: Timestamp,
}

impl Order {
    /// The most candidates that are tried: the latest one is nearly always conclusive.
    const CANDIDATES: usize = 16;

    pub(super) fn new(limits: &Limits) -> Self {
        let keep = limits.place_retention + Limits::STRAGGLER;
        Self { recent: VecDeque::new(), latest: VecDeque::new(), keep }
    }

    /// Records an admission; they come in the order of their answers.
    pub(super) fn record(&mut self, admission: Admission) {
        let answered = admission.decided.to;
        let old = answered.before(self.keep);
        while self.recent.front().is_some_and(|first| first.decided.to < old) {
            self.recent.pop_front();
        }
        while self.latest.front().is_some_and(|(at, _)| *at < old) {
            self.latest.pop_front();
        }
        if admission.fate == Fate::Certain {
            while self.latest.back().is_some_and(|(_, arrived)| *arrived <= admission.arrived) {
                self.latest.pop_back();
            }
            self.latest.push_back((answered, admission.arrived));
        }
        self.recent.push_back(admission);
    }

    /// Whether a visitor who arrived later than this one was certainly admitted before it, although
    /// this one was present.
    ///
    /// `unsettled` returns whether a request in flight may have taken the slot that was left for
    /// the waiter at the given admission, so that the case is open.
    pub(super) fn was_overtaken(
        &self,
        waiter: &Waiter,
        unsettled: impl Fn(&Admission) -> bool,
    ) -> bool {
        if !self.may_have_been_overtaken(waiter) {
            return false;
        }
        let begin = self.recent.partition_point(|other| other.decided.to <= waiter.answered);
        let is_later = |other: &&Admission| {
            other.fate == Fate::Certain
                && other.arrived > waiter.arrived
                && other.decided.from > waiter.answered
                && other.decided.to < waiter.decided.from
                && other.decided.to < waiter.present_until
        };
        let candidates = self.recent.range(begin..).rev().filter(is_later);
        candidates
            .take(Self::CANDIDATES)
            .any(|later| self.is_conclusive(waiter, later) && !unsettled(later))
    }

    /// A quick test that is nearly always false, so that the thorough one is rarely needed.
    fn may_have_been_overtaken(&self, waiter: &Waiter) -> bool {
        let since = self.latest.partition_point(|(at, _)| *at <= waiter.answered);
        self.latest.get(since).is_some_and(|(_, arrived)| *arrived > waiter.arrived)
    }

    /// Whether no admission after `later` can have taken the slot that was left for the waiter.
    fn is_conclusive(&self, waiter: &Waiter, later: &Admission) -> bool {
        self.recent.iter().all(|other| {
            let settled = other.fate != Fate::Stray;
            if settled && other.decided.to < later.decided.from {
                return true;
            }
            let under_watch =
                waiter.is_attended() || (settled && other.decided.to < waiter.present_until);
            let was_counted =
                other.arrived > waiter.arrived || later.counted(other.present, other.decided.to);
            under_watch && was_counted
        })
    }
}

impl Waiter {
    /// Whether the visitor was certainly present until its request was decided.
    pub(super) fn is_attended(&self) -> bool {
        self.decided.to < self.present_until
    }
}

impl Admission {
    /// Whether a visitor with this presence certainly counted as present from this admission until
    /// the time `until`.
    pub(super) fn counted(&self, present: Option<Span>, until: Timestamp) -> bool {
        present.is_some_and(|present| present.from <= self.decided.from && until < present.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(10_000 + secs)
    }

    fn order() -> Order {
        Order::new(&Limits {
            total_active_users: 1,
            new_users_per_minute: None,
            session_duration: Duration::from_secs(60),
            place_retention: Duration::from_secs(300),
            refresh_interval: Duration::from_secs(20),
        })
    }

    fn let_in(arrived: u64, from: u64, to: u64) -> Admission {
        let decided = Span { from: at(from), to: at(to) };
        Admission { decided, arrived: at(arrived), present: None, fate: Fate::Certain }
    }

    /// A visitor who arrives at 5, is answered at 20, is told to wait at 40, and is present until
    /// 50.
    const WAITER: (u64, u64, u64, u64) = (5, 20, 40, 50);

    fn overtaken(
        order: &Order,
        (arrived, answered, decided, present): (u64, u64, u64, u64),
    ) -> bool {
        let waiter = Waiter {
            arrived: at(arrived),
            answered: at(answered),
            decided: Span { from: at(decided), to: at(decided) },
            present_until: at(present),
        };
        order.was_overtaken(&waiter, |_| false)
    }

    #[test]
    fn a_later_visitor_admitted_between_two_answers_is_an_inversion() {
        let mut order = order();
        order.record(let_in(6, 25, 26));
        assert!(overtaken(&order, WAITER));
    }

    #[test]
    fn an_uncertain_order_is_not_an_inversion() {
        for harmless in [
            let_in(5, 25, 26),
            let_in(6, 20, 26),
            let_in(6, 25, 40),
            Admission { fate: Fate::Possible, ..let_in(6, 25, 26) },
        ] {
            let mut order = order();
            order.record(harmless);
            assert!(!overtaken(&order, WAITER), "{harmless:?}");
        }
        let mut order = order();
        order.record(let_in(6, 25, 26));
        assert!(!overtaken(&order, (5, 20, 40, 26)), "the waiter may have been away");
    }

    #[test]
    fn an_earlier_visitor_that_returned_in_between_leaves_it_open() {
        let mut order = order();
        order.record(let_in(6, 25, 26));
        order.record(let_in(4, 30, 31));
        assert!(!overtaken(&order, WAITER));
        order.record(let_in(6, 32, 33));
        assert!(overtaken(&order, WAITER), "the last admission came after the returner's");
    }

    #[test]
    fn an_earlier_visitor_that_was_there_all_the_time_changes_nothing() {
        let mut order = order();
        order.record(let_in(6, 25, 26));
        let present = Some(Span { from: at(10), to: at(45) });
        order.record(Admission { present, ..let_in(4, 30, 31) });
        assert!(overtaken(&order, WAITER));
    }

    #[test]
    fn an_earlier_visitor_that_was_briefly_away_leaves_it_open() {
        let mut order = order();
        order.record(let_in(6, 25, 26));
        let present = Some(Span { from: at(10), to: at(28) });
        order.record(Admission { present, ..let_in(4, 30, 31) });
        assert!(!overtaken(&order, WAITER));
    }

    #[test]
    fn a_stray_request_of_an_earlier_visitor_leaves_it_open_while_it_may_last() {
        let mut order = order();
        order.record(Admission { fate: Fate::Stray, ..let_in(4, 10, 11) });
        order.record(let_in(6, 25, 26));
        assert!(!overtaken(&order, WAITER));
    }

    #[test]
    fn a_slot_taken_while_the_waiter_was_away_is_no_inversion() {
        let mut order = order();
        order.record(let_in(6, 25, 26));
        assert!(overtaken(&order, (5, 20, 70, 50)), "no admission since the waiter went away");
        order.record(let_in(6, 55, 55));
        assert!(!overtaken(&order, (5, 20, 70, 50)));
    }
}
