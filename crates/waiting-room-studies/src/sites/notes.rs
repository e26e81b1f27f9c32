//! What a run writes down beside the truth: how long things took, and how many there were.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::{clock::SECOND, truth::Truth, visitor::Visitor};

/// Counts and times of a run.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) events: u64,
    pub(super) arrivals: u64,
    pub(super) pages: u64,
    pub(super) refreshes: u64,
    pub(super) gave_up: u64,
    /// Visitors without a cookie who were told to wait, which they cannot.
    pub(super) bots_away: u64,
    /// Milliseconds that new visitors waited for a page who were let in at once.
    pub(super) answers_ms: Histogram<u32>,
    /// Milliseconds that new visitors waited for the page that told them to wait.
    pub(super) queues_ms: Histogram<u32>,
    /// Milliseconds in line of those who came in from it.
    pub(super) waits_ms: Histogram<u32>,
    /// Seconds by which the wait that was shown first was wrong.
    pub(super) errors_s: Histogram<u32>,
    /// Minute by minute.
    pub(super) timeline: Vec<Minute>,
    /// Every session, if somebody wants to know; a hundred million of them would not fit.
    pub(super) sessions: Option<BTreeMap<u32, Session>>,
}

/// The world at the turn of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Minute {
    pub(super) active: u32,
    /// Let in within the last 60 seconds.
    pub(super) new: u32,
    pub(super) waiting: u32,
}

/// From when and until when somebody was active.
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
            events: 0,
            arrivals: 0,
            pages: 0,
            refreshes: 0,
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

    /// Somebody is let in.
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

    /// Somebody new is told to wait.
    pub(super) fn queued(&mut self, visitor: &Visitor, now: u32) {
        self.queues_ms.saturating_record(u64::from(now - visitor.arrived));
    }

    /// A session is over.
    pub(super) fn lapsed(&mut self, visitor: &Visitor, now: u32) {
        if let Some(session) = self.sessions.as_mut().and_then(|it| it.get_mut(&visitor.id)) {
            session.over = Some(now);
        }
    }

    pub(super) fn minute(&mut self, truth: &mut Truth, now: u32) {
        self.timeline.push(Minute {
            new: truth.recent(now),
            active: truth.active(),
            waiting: truth.line().waiting(),
        });
    }
}
