//! Who uses a slot of a site, and until when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::Death;

/// The sessions on a site's account.
///
/// Each stays until its last pass is void, even if the visitor has left: other sites would still
/// honour the pass. Some are *owed* a slot: the site has taken the visitor on, and makes no pass
/// before it has slots for all of those.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sessions {
    by_visitor: BTreeMap<VisitorId, Session>,
    lapses: BTreeSet<(Timestamp, VisitorId)>,
    owed: BTreeMap<VisitorId, Claimed>,
}

/// When the slot was last claimed that a visitor had elsewhere, and what was known of its home then.
type Claimed = Option<(Timestamp, Option<Death>)>;

/// One session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    /// The slot is held until then: no pass of the visitor is valid any more.
    pub(super) lapses_at: Timestamp,
    /// When the last pass ends that was made here, if any was.
    pub(super) pass_until: Option<Timestamp>,
    pub(super) stage: Stage,
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// It has begun here, and its pass was made once: the caller may still take it back.
    Begun,
    /// The visitor has left.
    Ended,
    /// The visitor may have a pass: it came from elsewhere, was there before, or was given a pass
    /// more than once.
    Sent,
}

impl Sessions {
    /// Begins a session, or continues it.
    pub(super) fn hold(&mut self, visitor: VisitorId, session: Session) {
        if let Some(old) = self.by_visitor.insert(visitor, session) {
            self.lapses.remove(&(old.lapses_at, visitor));
        }
        self.lapses.insert((session.lapses_at, visitor));
    }

    /// Begins a session that lacks a slot.
    pub(super) fn owe(&mut self, visitor: VisitorId, session: Session) {
        self.hold(visitor, session);
        self.owed.entry(visitor).or_default();
    }

    /// All who have a session lack a slot from now on.
    pub(super) fn owe_all(&mut self) {
        self.owed = self.by_visitor.keys().map(|visitor| (*visitor, None)).collect();
    }

    /// All who lacked a slot have one now.
    pub(super) fn settle(&mut self) {
        self.owed.clear();
    }

    /// The visitor may have a pass from now on.
    pub(super) fn send(&mut self, visitor: VisitorId) {
        if let Some(session) = self.by_visitor.get_mut(&visitor) {
            session.stage = Stage::Sent;
        }
    }

    /// The visitor has left; the session stays.
    pub(super) fn end(&mut self, visitor: VisitorId) {
        if let Some(session) = self.by_visitor.get_mut(&visitor) {
            session.stage = Stage::Ended;
        }
    }

    /// Takes a session back as if it had never begun.
    pub(super) fn remove(&mut self, visitor: VisitorId) {
        if let Some(old) = self.by_visitor.remove(&visitor) {
            self.lapses.remove(&(old.lapses_at, visitor));
            self.owed.remove(&visitor);
        }
    }

    /// Drops the sessions whose passes are void.
    pub(super) fn lapse(&mut self, now: Timestamp) {
        while let Some(&(lapses_at, visitor)) = self.lapses.first()
            && lapses_at <= now
        {
            self.remove(visitor);
        }
    }

    pub(super) fn of(&self, visitor: VisitorId) -> Option<Session> {
        self.by_visitor.get(&visitor).copied()
    }

    pub(super) fn is_owed(&self, visitor: VisitorId) -> bool {
        self.owed.contains_key(&visitor)
    }

    /// Whether a slot is held for a visitor, who may have left.
    pub(super) fn holds(&self, visitor: VisitorId) -> bool {
        self.by_visitor.contains_key(&visitor) && !self.is_owed(visitor)
    }

    /// Notes that the slot is claimed that a visitor had elsewhere, by a site that knows this of its
    /// home. Not if it knew as much when it claimed the slot less than `pause` ago.
    pub(super) fn claim(
        &mut self,
        visitor: VisitorId,
        death: Option<Death>,
        now: Timestamp,
        pause: Duration,
    ) -> bool {
        let Some(claimed) = self.owed.get_mut(&visitor) else { return false };
        let is_news = claimed.is_none_or(|(at, known)| known != death || at + pause <= now);
        if is_news {
            *claimed = Some((now, death));
        }
        is_news
    }

    /// How many there are, those that lack a slot among them.
    pub(super) fn count(&self) -> u64 {
        self.by_visitor.len() as u64
    }

    /// How many lack a slot.
    pub(super) fn owed(&self) -> u64 {
        self.owed.len() as u64
    }

    /// When the next session lapses.
    pub(super) fn next_lapse(&self) -> Option<Timestamp> {
        self.lapses.first().map(|&(at, _)| at)
    }
}
