//! The answers of a visitor as streaks: it waits, it is inside, it waits again.

use std::time::Duration;

use waiting_room_core::{Reason, Timestamp};

use super::visit::{AnswerRecord, VisitRecord};
use crate::seen::SeenAs;

/// The time of one visitor from a first touch to its admission, or to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitStreak<'a> {
    pub(super) visit: &'a VisitRecord,
    /// The answers before the admission.
    pub(super) answers: &'a [AnswerRecord],
    /// The answer to the request with which the visitor got in.
    pub(super) admission: Option<&'a AnswerRecord>,
}

/// A time during which one visitor was certainly active.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    pub(super) visit: &'a VisitRecord,
    /// The time of the first answer of the application.
    pub(super) from: Timestamp,
    /// The time of the last request that the application answered.
    pub(super) until: Timestamp,
}

impl<'a> WaitStreak<'a> {
    /// Returns all waits of a visitor. A visitor that gets in at once has a wait without answers.
    pub(super) fn all(visit: &'a VisitRecord) -> Vec<Self> {
        let mut waits = Vec::new();
        let is_inside = |answer: &AnswerRecord| answer.seen_as == SeenAs::Forwarded;
        let mut rest = visit.answers.as_slice();
        while !rest.is_empty() {
            let length = rest.iter().position(is_inside).unwrap_or(rest.len());
            let (answers, inside) = rest.split_at(length);
            waits.push(Self { visit, answers, admission: inside.first() });
            let length = inside.iter().position(|answer| !is_inside(answer));
            rest = &inside[length.unwrap_or(inside.len())..];
        }
        waits
    }

    /// The time of the first touch: the time at which its request was sent.
    pub(super) fn since(&self) -> Timestamp {
        let first = self.answers.first().or(self.admission);
        first.map_or(Timestamp::MAX, |answer| answer.sent)
    }

    /// The time at which the first touch had been answered.
    pub(super) fn touched(&self) -> Timestamp {
        let first = self.answers.first().or(self.admission);
        first.map_or(Timestamp::MAX, |answer| answer.answered)
    }

    /// The time from which the visitor certainly has a place: the answer to its second touch. A
    /// check-in that comes too early does not count.
    pub(super) fn placed(&self) -> Option<Timestamp> {
        let counts = |answer: &&AnswerRecord| answer.reason != Some(Reason::QueuedEarly);
        self.answers.iter().filter(counts).nth(1).map(|answer| answer.answered)
    }

    /// The time at which the visitor got in, or finished without getting in.
    pub(super) fn until(&self) -> Timestamp {
        self.admission.map_or(self.visit.ended, |answer| answer.answered)
    }

    /// The time from the first touch until the visitor got in, or finished without getting in.
    pub(super) fn length(&self) -> Duration {
        self.until().since(self.since())
    }

    /// Returns whether the visitor was refused meanwhile, and may have lost its place.
    pub(super) fn has_refusal(&self) -> bool {
        self.answers.iter().any(|answer| answer.seen_as == SeenAs::Refused)
    }
}

impl<'a> Inside<'a> {
    /// Returns all times during which this visitor was certainly active.
    ///
    /// Such a time ends with an answer that deletes the visitor's token, with a token that has
    /// lapsed, and with an answer that sends the visitor into the line. A request that a limit or a
    /// gate refuses does not end the session.
    pub(super) fn all(visit: &'a VisitRecord) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut continues = false;
        for answer in &visit.answers {
            continues &= !answer.token_lapsed;
            if answer.seen_as == SeenAs::Forwarded {
                match all.last_mut().filter(|_| continues) {
                    Some(inside) => inside.until = inside.until.max(answer.sent),
                    None if !answer.deletes_token => {
                        all.push(Self { visit, from: answer.answered, until: answer.answered });
                    }
                    None => {}
                }
                continues = true;
            }
            continues &= !answer.deletes_token && keeps_the_session(answer);
        }
        all
    }
}

/// Returns whether a visitor that was inside still is, as far as this answer tells.
fn keeps_the_session(answer: &AnswerRecord) -> bool {
    let is_of_a_limit = |reason: &Reason| {
        let reason = reason.to_string();
        reason.starts_with("refused:rate:") || reason.starts_with("refused:gate_")
    };
    match answer.seen_as {
        SeenAs::Forwarded => true,
        SeenAs::Refused => answer.reason.as_ref().is_some_and(is_of_a_limit),
        SeenAs::Waiting => false,
    }
}
