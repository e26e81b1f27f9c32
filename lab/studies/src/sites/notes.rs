//! Counts and times of a run, recorded beside the truth.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::{clock::SECOND, truth::Truth, visitor::Visitor};

/// The counts and times of a run.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) arrivals: u64,
    pub(super) pages: u64,
    pub(super) gave_up: u64,
    /// Visitors without a cookie who were told to wait, and so left for good.
    pub(super) bots_away: u64,
    /// The time in milliseconds until a page was shown to new visitors who were admitted at once.
    pub(super) answers_ms: Histogram<u32>,
    /// The time in milliseconds until new visitors were told to wait.
    pub(super) queues_ms: Histogram<u32>,
    /// The time in milliseconds that admitted visitors had spent in the line.
    pub(super) waits_ms: Histogram<u32>,
    /// The error in seconds of the first wait that was shown to a visitor.
    pub(super) errors_s: Histogram<u32>,
    /// The state of the world every [`Moment::EVERY`] milliseconds.
    pub(super) timeline: Vec<Moment>,
    /// All sessions, if a test asks for them; a hundred million of them would not fit into memory.
    pub(super) sessions: Option<BTreeMap<u32, Session>>,
}

/// The state of the world at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) active: u32,
    /// The number of visitors admitted within the last 60 seconds.
    pub(super) new: u32,
    pub(super) waiting: u32,
    /// The number of messages that the ledgers have sent so far.
    pub(super) messages: u64,
}

impl Moment {
    /// The time between two moments of a timeline, in milliseconds.
    pub(super) const EVERY: u32 = 10 * SECOND;
}

/// The beginning and the end of a visitor's session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests alone read it"))]
    pub(super) begun: u32,
    pub(super) over: Option<u32>,
}

impl Notes {
    pub(super) fn new() -> Self {
        let histogram = || {
            let most = u64::from(u32::MAX);
            Histogram::new_with_max(most, 3).expect("three digits are supported")
        };
        Self {
            arrivals: 0,
            pages: 0,
            gave_up: 0,
            bots_away: 0,
            answers_ms: histogram(),
            queues_ms: histogram(),
            waits_ms: histogram(),
            errors_s: histogram(),
            timeline: Vec::new(),
            sessions: None,
        }
    }

    /// Records an admission.
    pub(super) fn admitted(&mut self, visitor: &Visitor, now: u32) {
        if let Some(sessions) = &mut self.sessions {
            sessions.insert(visitor.id, Session { begun: now, over: None });
        }
        let wait = now - visitor.arrived;
        if !visitor.is_in_line {
            return self.answers_ms.saturating_record(u64::from(wait));
        }
        self.waits_ms.saturating_record(u64::from(wait));
        if let Some(shown) = visitor.shown {
            let error = u32::from(shown).abs_diff(wait / SECOND);
            self.errors_s.saturating_record(u64::from(error));
        }
    }

    /// Records that a new visitor was told to wait.
    pub(super) fn queued(&mut self, visitor: &Visitor, now: u32) {
        self.queues_ms.saturating_record(u64::from(now - visitor.arrived));
    }

    /// Records the end of a session.
    pub(super) fn lapsed(&mut self, visitor: &Visitor, now: u32) {
        if let Some(session) =
            self.sessions.as_mut().and_then(|sessions| sessions.get_mut(&visitor.id))
        {
            session.over = Some(now);
        }
    }

    pub(super) fn moment(&mut self, truth: &mut Truth, messages: u64, now: u32) {
        self.timeline.push(Moment {
            new: truth.recent(now),
            active: truth.active(),
            waiting: truth.line().waiting(),
            messages,
        });
    }
}
