//! Who is active, until when, and whose session is over although its proofs are not.
//!
//! A session holds one slot until its pass expires or the visitor leaves. Copies of the pass, and
//! of the ticket that led to it, may outlive the session in the hands of the client. They must not
//! bring it back, so an ended session is remembered until the last of them is void.

use std::collections::HashMap;

use crate::{Pass, Timestamp, VisitorId, room::orders::Deadlines};

/// The sessions of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    live: HashMap<VisitorId, Pass>,
    lapses: Deadlines,
    ended: HashMap<VisitorId, Ended>,
    forgets: Deadlines,
}

/// A session that is over while proofs of it may still be valid.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Timestamp,
    /// Whether its visitor went, rather than stay away for too long.
    has_left: bool,
    forget_at: Timestamp,
}

impl Sessions {
    /// So many ended sessions are remembered; over it, the one to be forgotten next goes early.
    const MAX_ENDED: usize = 1_000_000;

    /// Begins a session, or continues it under a new pass.
    pub(super) fn hold(&mut self, pass: Pass) {
        if let Some(old) = self.live.insert(pass.id, pass) {
            self.lapses.cancel(old.expires_at, old.id);
        }
        self.lapses.set(pass.expires_at, pass.id);
        self.forget(pass.id);
    }

    /// Ends a session, if there is one, and voids every proof of `id` made until `now`.
    ///
    /// They are void until `forget_at`, and until the pass of the session has expired.
    pub(super) fn end(&mut self, id: VisitorId, now: Timestamp, mut forget_at: Timestamp) {
        if let Some(pass) = self.live.remove(&id) {
            self.lapses.cancel(pass.expires_at, id);
            forget_at = forget_at.max(pass.expires_at);
        }
        self.remember(id, Ended { at: now, has_left: true, forget_at });
    }

    /// Drops the sessions that have lapsed. A ticket older than its session is void for as long as
    /// `ticket_void_at` says.
    pub(super) fn reap(&mut self, now: Timestamp, ticket_void_at: impl Fn(&Pass) -> Timestamp) {
        while let Some(id) = self.forgets.pop_due(now) {
            self.ended.remove(&id);
        }
        while let Some(id) = self.lapses.pop_due(now) {
            if let Some(pass) = self.live.remove(&id) {
                let forget_at = ticket_void_at(&pass);
                if forget_at > now {
                    self.remember(id, Ended { at: pass.expires_at, has_left: false, forget_at });
                }
            }
        }
    }

    /// The pass of a visitor who is active.
    pub(super) fn pass(&self, id: VisitorId) -> Option<Pass> {
        self.live.get(&id).copied()
    }

    /// The passes of all who are active.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.live.values()
    }

    /// Whether a ticket of somebody who was first seen at `seen_at` led to a session that is over.
    /// One of the same instant did.
    pub(super) fn is_ticket_void(&self, id: VisitorId, seen_at: Timestamp) -> bool {
        self.ended.get(&id).is_some_and(|ended| seen_at <= ended.at)
    }

    /// Whether a pass that was made at `made_at` is of a session that its visitor has left.
    ///
    /// That a session has lapsed voids no pass, which knows itself how long it lasts: what prolonged
    /// it may have been forgotten here.
    pub(super) fn is_pass_void(&self, id: VisitorId, made_at: Timestamp) -> bool {
        self.ended.get(&id).is_some_and(|ended| ended.has_left && made_at <= ended.at)
    }

    /// How many slots are taken.
    pub(super) fn active(&self) -> u32 {
        u32::try_from(self.live.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn invariants(&self) {
        debug_assert_eq!(self.live.len(), self.lapses.len(), "each session lapses once");
        debug_assert_eq!(self.ended.len(), self.forgets.len(), "each end is forgotten once");
        debug_assert!(self.ended.len() <= Self::MAX_ENDED, "ended sessions are bounded");
    }

    fn remember(&mut self, id: VisitorId, ended: Ended) {
        self.forget(id);
        if self.ended.len() >= Self::MAX_ENDED
            && let Some(soonest) = self.forgets.pop_first()
        {
            self.ended.remove(&soonest);
        }
        self.ended.insert(id, ended);
        self.forgets.set(ended.forget_at, id);
    }

    fn forget(&mut self, id: VisitorId) {
        if let Some(old) = self.ended.remove(&id) {
            self.forgets.cancel(old.forget_at, id);
        }
    }
}
