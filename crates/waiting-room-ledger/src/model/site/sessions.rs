//! The visitors that use the slots of a site, and the time until which they use them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::Death;

/// The sessions on a site's account.
///
/// A session stays until its last pass is void, even if the visitor has left, because other sites
/// would still honour the pass. Some sessions are *owed* a slot: the site has taken the visitor on
/// its account without a slot. The site makes no pass for any such session before it has slots for
/// all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sessions {
    by_visitor: BTreeMap<VisitorId, Session>,
    /// The sessions by the time at which they lapse.
    lapses: BTreeSet<(Timestamp, VisitorId)>,
    /// The visitors that are owed a slot, each with its last claim.
    owed: BTreeMap<VisitorId, Claimed>,
}

/// The time of the last claim to the slot that a visitor had elsewhere, and the notice of the
/// home's death that was known at that time. `None` if the slot was never claimed.
type Claimed = Option<(Timestamp, Option<Death>)>;

/// One session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    /// The time until which the slot is held. From then on no pass of the visitor is valid.
    pub(super) lapses_at: Timestamp,
    /// The expiry of the last pass that was made here; `None` if none was.
    pub(super) pass_until: Option<Timestamp>,
    pub(super) stage: Stage,
}

/// The stage of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// The session has begun here, and its pass was made once. The caller may still withdraw it.
    Begun,
    /// The visitor has left.
    Ended,
    /// The visitor may have a pass: it came from elsewhere, had a session before, or was given a
    /// pass more than once.
    Sent,
}

impl Sessions {
    /// Begins or continues a session.
    pub(super) fn hold(&mut self, visitor: VisitorId, session: Session) {
        if let Some(old) = self.by_visitor.insert(visitor, session) {
            self.lapses.remove(&(old.lapses_at, visitor));
        }
        self.lapses.insert((session.lapses_at, visitor));
    }

    /// Begins or continues a session that is owed a slot.
    pub(super) fn owe(&mut self, visitor: VisitorId, session: Session) {
        self.hold(visitor, session);
        self.owed.entry(visitor).or_default();
    }

    /// Records that all sessions are owed a slot.
    pub(super) fn owe_all(&mut self) {
        self.owed = self.by_visitor.keys().map(|visitor| (*visitor, None)).collect();
    }

    /// Records that all sessions have a slot.
    pub(super) fn settle(&mut self) {
        self.owed.clear();
    }

    /// Records that the visitor may have a pass.
    pub(super) fn send(&mut self, visitor: VisitorId) {
        if let Some(session) = self.by_visitor.get_mut(&visitor) {
            session.stage = Stage::Sent;
        }
    }

    /// Records that the visitor has left. The session stays.
    pub(super) fn end(&mut self, visitor: VisitorId) {
        if let Some(session) = self.by_visitor.get_mut(&visitor) {
            session.stage = Stage::Ended;
        }
    }

    /// Removes a session as if it had never begun.
    pub(super) fn remove(&mut self, visitor: VisitorId) {
        if let Some(old) = self.by_visitor.remove(&visitor) {
            self.lapses.remove(&(old.lapses_at, visitor));
            self.owed.remove(&visitor);
        }
    }

    /// Removes the sessions whose passes are void.
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

    /// Returns whether a slot is held for a visitor, even if it has left.
    pub(super) fn holds(&self, visitor: VisitorId) -> bool {
        self.by_visitor.contains_key(&visitor) && !self.is_owed(visitor)
    }

    /// Records a claim of the slot that a visitor had elsewhere, with the known notice of its
    /// home's death, and returns whether the claim is to be sent.
    ///
    /// The claim is not sent if the visitor is not owed a slot, or if the same claim was sent less
    /// than `pause` ago.
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

    /// The number of sessions, including those that are owed a slot.
    pub(super) fn count(&self) -> u64 {
        self.by_visitor.len() as u64
    }

    /// The number of sessions that are owed a slot.
    pub(super) fn owed(&self) -> u64 {
        self.owed.len() as u64
    }

    /// The time at which the next session lapses.
    pub(super) fn next_lapse(&self) -> Option<Timestamp> {
        self.lapses.first().map(|&(at, _)| at)
    }
}
