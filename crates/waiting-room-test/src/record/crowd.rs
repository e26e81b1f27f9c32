//! The answers to a whole crowd, and the assertions on them.

use std::{fmt, time::Duration};

use waiting_room_core::{RoomRules, Timestamp};

use super::{
    fairness::{first_queued_early, most_overtaken},
    streak::{Inside, WaitStreak},
    visit::{AnswerRecord, VisitRecord},
};
use crate::{seed::SEED_VARIABLE, seen::SeenAs};

/// The requests and answers of a [`Crowd`](crate::Crowd), with the assertions on them.
///
/// Each assertion returns the record, so that several can be chained. If one fails, it panics with
/// a message that names the visitor, the time since the start of the crowd, the figure, and the
/// seed:
///
/// ```text
/// never_above(20) is broken: 21 visitors were inside at 12.345 s, the last of them visitor 37 (browser)
/// to repeat this crowd: WAITING_ROOM_SEED=17
/// ```
#[derive(Clone, Debug)]
pub struct CrowdRecord {
    seed: u64,
    start: Timestamp,
    visits: Vec<VisitRecord>,
}

impl CrowdRecord {
    pub(crate) fn new(seed: u64, start: Timestamp, mut visits: Vec<VisitRecord>) -> Self {
        visits.sort_by_key(VisitRecord::number);
        Self { seed, start, visits }
    }

    /// Returns the seed of the crowd.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the visits in the order of the visitors' numbers.
    #[must_use]
    pub fn visits(&self) -> &[VisitRecord] {
        &self.visits
    }

    /// Returns the number of visitors that were admitted.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.visits.iter().filter(|visit| visit.admitted_at().is_some()).count()
    }
}

#[expect(clippy::must_use_candidate, reason = "an assertion returns the record only for chaining")]
impl CrowdRecord {
    /// Asserts that at most `limit` visitors were inside at any time.
    ///
    /// A visitor is inside from the first answer of the application to the last request that the
    /// application answered. The session is over earlier if an answer deletes the visitor's
    /// [token](crate::Crowd::token_cookie), or if the token lapses. A visitor that
    /// [stays](crate::Habits::staying) and requests pages therefore counts for as long as it is
    /// seen; its slot may be held for longer.
    ///
    /// # Panics
    ///
    /// Panics if more visitors were inside.
    #[track_caller]
    pub fn never_above(&self, limit: u32) -> &Self {
        let spans: Vec<_> = self.visits.iter().flat_map(Inside::all).collect();
        // At equal times, a visitor leaves before another arrives, unless it was inside only at
        // that time.
        let ends = spans
            .iter()
            .map(|inside| (inside.until, 2 * u8::from(inside.from == inside.until), inside));
        let mut changes: Vec<_> =
            ends.chain(spans.iter().map(|inside| (inside.from, 1, inside))).collect();
        changes.sort_by_key(|(at, order, inside)| (*at, *order, inside.visit.number()));
        let mut inside = 0_u32;
        for (at, order, change) in changes {
            if order != 1 {
                inside -= 1;
                continue;
            }
            inside += 1;
            if inside > limit {
                let at = self.time(at);
                let last = change.visit;
                let what =
                    format!("{inside} visitors were inside at {at}, the last of them {last}");
                self.fail(format_args!("never_above({limit})"), &what);
            }
        }
        self
    }

    /// Asserts that visitors were admitted in the order of their first touches.
    ///
    /// The assertion fails if a visitor with a place waited for more than `tolerance` after a
    /// visitor that came later had been admitted. A visitor learns that it is its turn at its next
    /// check-in, so the tolerance should be the longest time between two check-ins: 1.3 refresh
    /// intervals, which are 26 s by default. A visitor that was refused meanwhile is not
    /// considered, and the first touch alone does not give a place.
    ///
    /// # Panics
    ///
    /// Panics if a visitor was overtaken. The message names the visitor that waited longest.
    #[track_caller]
    pub fn in_order(&self, tolerance: Duration) -> &Self {
        let waits: Vec<_> = self.visits.iter().flat_map(WaitStreak::all).collect();
        if let Some(found) = most_overtaken(&waits, tolerance) {
            let first = found.waiting;
            let other = found.admitted;
            let what = format!(
                "{} came at {} and waited until {}, but {} came at {} and was admitted at {}, \
                 which is {:?} earlier",
                first.visit,
                self.time(first.since()),
                self.time(first.until()),
                other.visit,
                self.time(other.since()),
                self.time(found.at),
                found.by,
            );
            self.fail(format_args!("in_order({tolerance:?})"), &what);
        }
        self
    }

    /// Asserts that no visitor was queued early: none had to wait while, for certain, a slot was
    /// free, the limit on new visitors was not reached, and no visitor was ahead.
    ///
    /// `rules` are the rules of the room, which
    /// [`WaitingRoomConfig::room`](tower_waiting_room::WaitingRoomConfig::room) returns, and the
    /// crowd must be the only visitors of the room. The assertion assumes that a visitor holds its
    /// slot for the lifetime of a pass after its last page, even if it has checked out. Answers
    /// whose reason is something other than a limit or the visitors ahead are not considered.
    ///
    /// # Panics
    ///
    /// Panics if a visitor was queued early.
    #[track_caller]
    pub fn never_early(&self, rules: &RoomRules) -> &Self {
        if let Some(found) = first_queued_early(&self.visits, rules) {
            let minute = match rules.new_users_per_minute {
                Some(limit) => format!(", at most {} of {limit} were new", found.new),
                None => String::new(),
            };
            let what = format!(
                "{} was queued at {} ({}), but at most {} of {} slots were taken{minute}, and at \
                 most {} visitors were ahead",
                found.visit,
                self.time(found.answer.answered),
                found.answer,
                found.active,
                rules.total_active_users,
                found.ahead,
            );
            self.fail(format_args!("never_early"), &what);
        }
        self
    }

    /// Asserts that no visitor was forwarded to the application before the doors opened, which is
    /// the time `opening` after the start of the crowd.
    ///
    /// # Panics
    ///
    /// Panics if a visitor was forwarded before that time, or if no visitor sent a request before
    /// that time, because doors that opened too early would then go unnoticed.
    #[track_caller]
    pub fn never_before(&self, opening: Duration) -> &Self {
        let opens = self.start + opening;
        if self.answers().all(|(_, answer)| answer.sent >= opens) {
            let what = "no visitor sent a request before, so nothing is tested";
            self.fail(format_args!("never_before({opening:?})"), what);
        }
        let is_inside = |answer: &&AnswerRecord| answer.seen_as == SeenAs::Forwarded;
        let early = self.answers().filter(|(_, answer)| is_inside(answer));
        if let Some((visit, answer)) = early.min_by_key(|(_, answer)| answer.answered)
            && answer.answered < opens
        {
            let what = format!("{visit} was forwarded at {}", self.time(answer.answered));
            self.fail(format_args!("never_before({opening:?})"), &what);
        }
        self
    }

    /// Asserts that every visitor was admitted, and that the application's first answer to each
    /// visitor was not an error: a path that does not exist admits no visitor.
    ///
    /// # Panics
    ///
    /// Panics if a visitor was not admitted, or got an error with a status of 400 or more. The
    /// message names the first one and counts the others.
    #[track_caller]
    pub fn every_visitor_admitted(&self) -> &Self {
        let errors = || {
            let admissions =
                self.visits.iter().filter_map(|visit| Some((visit, visit.admission()?)));
            admissions.filter(|(_, answer)| answer.status.as_u16() >= 400)
        };
        if let Some((visit, answer)) = errors().next() {
            let at = self.time(answer.answered);
            let others = errors().count() - 1;
            let what = format!(
                "the application answered {visit} with an error at {at} ({answer}), and {others} \
                 other visitors"
            );
            self.fail(format_args!("every_visitor_admitted"), &what);
        }
        let mut left_out = self.visits.iter().filter(|visit| visit.admitted_at().is_none());
        if let Some(visit) = left_out.next() {
            let others = left_out.count();
            let last = visit.answers().last().map_or("none".to_owned(), ToString::to_string);
            let what = format!(
                "{visit} was not admitted until it ended at {} ({:?}, its last answer was {last}), \
                 nor were {others} other visitors",
                self.time(visit.ended),
                visit.ending(),
            );
            self.fail(format_args!("every_visitor_admitted"), &what);
        }
        self
    }

    /// Asserts that no visitor waited for longer than `longest`, from its first request to its
    /// admission or, if it was not admitted, to the end of its visit. A visitor that is sent back
    /// into the line later waits again, from then on.
    ///
    /// # Panics
    ///
    /// Panics if a visitor waited longer. The message names the visitor that waited longest.
    #[track_caller]
    pub fn waits_at_most(&self, longest: Duration) -> &Self {
        let waits = self.visits.iter().flat_map(WaitStreak::all);
        if let Some(wait) = waits.max_by_key(WaitStreak::length)
            && wait.length() > longest
        {
            let end = if wait.admission.is_some() { "admitted" } else { "gone" };
            let visit = wait.visit;
            let waited = wait.length();
            let came = self.time(wait.since());
            let what =
                format!("{visit} came at {came} and waited for {waited:?} until it was {end}");
            self.fail(format_args!("waits_at_most({longest:?})"), &what);
        }
        self
    }

    /// Asserts that no request was refused, by a limit, by a gate or by the room.
    ///
    /// # Panics
    ///
    /// Panics if a request was refused. The message names the first refusal and counts the others.
    #[track_caller]
    pub fn no_refusals(&self) -> &Self {
        let is_refused = |answer: &&AnswerRecord| answer.seen_as == SeenAs::Refused;
        let refused = || self.answers().filter(|(_, answer)| is_refused(answer));
        if let Some((visit, answer)) = refused().min_by_key(|(_, answer)| answer.answered) {
            let at = self.time(answer.answered);
            let others = refused().count() - 1;
            let what = format!(
                "{visit} was refused at {at} ({answer}), and there are {others} other refusals"
            );
            self.fail(format_args!("no_refusals"), &what);
        }
        self
    }

    fn answers(&self) -> impl Iterator<Item = (&VisitRecord, &AnswerRecord)> {
        let of = |visit| VisitRecord::answers(visit).iter().map(move |answer| (visit, answer));
        self.visits.iter().flat_map(of)
    }

    /// Returns a time as it is shown: in seconds since the start of the crowd.
    fn time(&self, at: Timestamp) -> String {
        format!("{:.3} s", at.since(self.start).as_secs_f64())
    }

    #[track_caller]
    fn fail(&self, assertion: fmt::Arguments<'_>, what: &str) -> ! {
        let seed = self.seed;
        panic!("{assertion} is broken: {what}\nto repeat this crowd: {SEED_VARIABLE}={seed}");
    }
}
