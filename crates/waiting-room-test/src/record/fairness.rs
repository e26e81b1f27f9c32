//! Unfair waits: visitors that were overtaken, and visitors that were queued although a slot was
//! free.

use std::time::Duration;

use waiting_room_core::{Reason, RoomRules, Timestamp, room::QueueingMethod};

use super::{
    streak::WaitStreak,
    visit::{AnswerRecord, VisitRecord},
};
use crate::seen::SeenAs;

/// A visitor with a place that kept waiting after a visitor that had arrived later was admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overtaken<'a> {
    pub(super) waiting: WaitStreak<'a>,
    pub(super) admitted: WaitStreak<'a>,
    pub(super) at: Timestamp,
    /// The time for which the visitor kept waiting.
    pub(super) by: Duration,
}

/// Returns the visitor that kept waiting for the longest time, if that time is longer than
/// `tolerance`.
///
/// A visitor counts as overtaken only from its second touch on, which gives it its place. Two first
/// touches have no order if neither had been answered before the other was sent.
pub(super) fn most_overtaken<'a>(
    waits: &[WaitStreak<'a>],
    tolerance: Duration,
) -> Option<Overtaken<'a>> {
    let mut admitted: Vec<_> = waits.iter().filter(|wait| wait.admission.is_some()).collect();
    admitted.sort_by_key(|wait| wait.until());
    let mut worst: Option<Overtaken<'a>> = None;
    for waiting in waits.iter().filter(|wait| !wait.has_refusal()) {
        let Some(placed) = waiting.placed() else { continue };
        let is_later = |other: &&&WaitStreak<'_>| {
            let asked = other.admission.map_or(Timestamp::ZERO, |answer| answer.sent);
            other.since() > waiting.touched() && asked > placed
        };
        // The admissions are in the order of their times, so the first one is the worst.
        let Some(other) = admitted.iter().find(is_later) else { continue };
        let at = other.until();
        let until = waiting.until();
        let by = until.since(at);
        if by > tolerance && worst.is_none_or(|worst| by > worst.by) {
            worst = Some(Overtaken { waiting: *waiting, admitted: **other, at, by });
        }
    }
    worst
}

/// A visitor that was queued before a limit was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedEarly<'a> {
    pub(super) visit: &'a VisitRecord,
    pub(super) answer: &'a AnswerRecord,
    /// The largest number of visitors that may have been active.
    pub(super) active: usize,
    /// The largest number of visitors that may have been admitted within 60 s.
    pub(super) new: usize,
    /// The largest number of visitors that may have been ahead.
    pub(super) ahead: usize,
}

/// Finds the first visitor, in the order of their numbers, that was queued early under these rules.
pub(super) fn first_queued_early<'a>(
    visits: &'a [VisitRecord],
    rules: &RoomRules,
) -> Option<QueuedEarly<'a>> {
    let waits: Vec<_> = visits.iter().flat_map(WaitStreak::all).collect();
    let room = Evidence {
        active: visits
            .iter()
            .flat_map(|visit| held(visit, rules.timing().pass_lifetime()))
            .collect(),
        new: waits.iter().flat_map(admissions).map(|answer| span(answer, MINUTE)).collect(),
        waits: &waits,
        rules,
    };
    waits
        .iter()
        .filter(|wait| !wait.has_refusal())
        .find_map(|wait| wait.answers.iter().find_map(|answer| room.judge(wait, answer)))
}

/// What the answers to a crowd reveal about the room.
struct Evidence<'a, 'b> {
    active: Spans,
    new: Spans,
    waits: &'b [WaitStreak<'a>],
    rules: &'b RoomRules,
}

impl<'a> Evidence<'a, '_> {
    /// Returns the visitor of this answer, if the answer should have admitted it.
    fn judge(&self, wait: &WaitStreak<'a>, answer: &'a AnswerRecord) -> Option<QueuedEarly<'a>> {
        if !is_for_lack_of_a_slot(answer) {
            return None;
        }
        let from = answer.sent;
        let until = answer.answered;
        let active = self.active.count(from, until);
        let new = self.new.count(from, until);
        // Most answers are right because no slot was free, and then the line need not be searched.
        if !self.is_free(active, new) {
            return None;
        }
        let ahead =
            self.waits.iter().filter(|other| self.may_be_ahead(other, wait, answer)).count();
        let is_early = self.is_free(active + ahead, new + ahead);
        is_early.then_some(QueuedEarly { visit: wait.visit, answer, active, new, ahead })
    }

    fn is_free(&self, active: usize, new: usize) -> bool {
        let below =
            |count: usize, limit: u32| u32::try_from(count).is_ok_and(|count| count < limit);
        below(active, self.rules.total_active_users)
            && self.rules.new_users_per_minute.is_none_or(|limit| below(new, limit))
    }

    fn may_be_ahead(
        &self,
        other: &WaitStreak<'a>,
        wait: &WaitStreak<'a>,
        answer: &AnswerRecord,
    ) -> bool {
        let is_in_order = self.rules.queueing_method == QueueingMethod::Fifo;
        let is_other = other.visit.number() != wait.visit.number();
        // A place lapses after the last answer, not at the end of the visit.
        let seen = other.answers.last().or(other.admission);
        let kept = seen.map_or(Timestamp::ZERO, |seen| seen.answered + self.rules.place_retention);
        let until = other.admission.map_or(kept, |admission| admission.answered);
        is_other
            && !other.answers.is_empty()
            && other.since() <= answer.answered
            && (!is_in_order || other.since() <= wait.touched())
            && until >= answer.sent
    }
}

/// Spans of time. All that matters is how many of them overlap another span.
struct Spans {
    starts: Vec<Timestamp>,
    ends: Vec<Timestamp>,
}

impl FromIterator<(Timestamp, Timestamp)> for Spans {
    fn from_iter<T: IntoIterator<Item = (Timestamp, Timestamp)>>(spans: T) -> Self {
        let (mut starts, mut ends): (Vec<_>, Vec<_>) = spans.into_iter().unzip();
        starts.sort_unstable();
        ends.sort_unstable();
        Self { starts, ends }
    }
}

impl Spans {
    /// Returns the number of spans that overlap this one.
    fn count(&self, from: Timestamp, until: Timestamp) -> usize {
        let begun = self.starts.partition_point(|start| *start <= until);
        begun - self.ends.partition_point(|end| *end < from)
    }
}

/// Returns the times during which a visitor may have held a slot. Every answer except a queued one
/// may have given the visitor a slot, or kept its slot.
fn held(visit: &VisitRecord, lifetime: Duration) -> Vec<(Timestamp, Timestamp)> {
    let mut all: Vec<(Timestamp, Timestamp)> = Vec::new();
    for answer in visit.answers.iter().filter(|answer| answer.seen_as != SeenAs::Waiting) {
        let (start, end) = span(answer, lifetime);
        match all.last_mut().filter(|(_, last)| *last >= start) {
            Some((_, last)) => *last = end,
            None => all.push((start, end)),
        }
    }
    all
}

/// Returns the answers of a wait with which the visitor may have been admitted. A visitor that is
/// refused by a limit may have been admitted by the room.
fn admissions<'a>(wait: &WaitStreak<'a>) -> impl Iterator<Item = &'a AnswerRecord> {
    let refused = wait.answers.iter().filter(|answer| answer.seen_as == SeenAs::Refused);
    refused.chain(wait.admission)
}

fn span(answer: &AnswerRecord, lasts: Duration) -> (Timestamp, Timestamp) {
    (answer.sent, answer.answered + lasts)
}

/// Returns whether the visitor was queued because no slot was free, as far as the answer tells.
fn is_for_lack_of_a_slot(answer: &AnswerRecord) -> bool {
    let reasons = [Reason::QueuedActiveLimit, Reason::QueuedBehindOthers, Reason::QueuedRate];
    let is_such = answer.reason.as_ref().is_none_or(|reason| reasons.contains(reason));
    answer.seen_as == SeenAs::Waiting && is_such
}

const MINUTE: Duration = Duration::from_secs(60);
