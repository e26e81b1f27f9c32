//! The active visitors, and the sessions that have ended but whose proofs are still valid.
//!
//! A session holds one slot until its pass expires or its visitor leaves. After the session, a
//! client may still have copies of the pass and of the ticket that led to the pass. A copy must not
//! revive the session, so an ended session is remembered until its last proof is void.
//!
//! ```text
//!          hold                 expired, or end                forget_at
//!  (none) ──────► live, a slot ─────────────────► ended, no slot ────────► (none)
//!                      ▲                                 │
//!                      └─────────────────────────────────┘
//!                              hold: a new session
//! ```

use std::collections::HashMap;

use crate::{Pass, Timestamp, VisitorId, room::orders::Deadlines};

/// The sessions of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    /// The current pass of each active visitor.
    live: HashMap<VisitorId, Pass>,
    /// The expiry of each live session.
    lapses: Deadlines,
    ended: HashMap<VisitorId, Ended>,
    /// The time at which each ended session is forgotten.
    forgets: Deadlines,
}

/// A session that has ended but whose proofs may still be valid.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The time at which the session ended, because the visitor left or its pass expired.
    at: Timestamp,
    /// Whether the session ended because the visitor left, rather than because its pass expired.
    has_left: bool,
    /// The time from which all proofs of the session are void.
    forget_at: Timestamp,
}

impl Sessions {
    /// The maximum number of ended sessions that are remembered, which bounds memory. If the
    /// maximum is reached, the session that would be forgotten next is forgotten early.
    const MAX_ENDED: usize = 1_000_000;

    /// Begins a visitor's session, or continues it under a new pass.
    pub(super) fn hold(&mut self, pass: Pass) {
        if let Some(old) = self.live.insert(pass.id, pass) {
            self.lapses.cancel(old.expires_at, old.id);
        }
        self.lapses.set(pass.expires_at, pass.id);
        // The visitor is active again, so the new session now determines which of its proofs are
        // valid.
        self.forget(pass.id);
    }

    /// Ends a visitor's session, if there is one, and voids all of the visitor's proofs issued up
    /// to and including `now`.
    ///
    /// The end of the session is remembered until `forget_at` or until the session's pass expires,
    /// whichever is later.
    pub(super) fn end(&mut self, id: VisitorId, now: Timestamp, mut forget_at: Timestamp) {
        if let Some(pass) = self.live.remove(&id) {
            self.lapses.cancel(pass.expires_at, id);
            forget_at = forget_at.max(pass.expires_at);
        }
        self.remember(id, Ended { at: now, has_left: true, forget_at });
    }

    /// Ends the sessions that have expired. `ticket_void_at` returns the time until which the
    /// ticket that led to a session could be valid. The end of a session is remembered until that
    /// time.
    pub(super) fn reap(&mut self, now: Timestamp, ticket_void_at: impl Fn(&Pass) -> Timestamp) {
        while let Some(id) = self.forgets.pop_due(now) {
            self.ended.remove(&id);
        }
        while let Some(id) = self.lapses.pop_due(now) {
            if let Some(pass) = self.live.remove(&id) {
                let forget_at = ticket_void_at(&pass);
                // The session ended when its pass expired, not when this call noticed the expiry.
                if forget_at > now {
                    self.remember(id, Ended { at: pass.expires_at, has_left: false, forget_at });
                }
            }
        }
    }

    /// Returns the pass of a visitor, if the visitor is active.
    pub(super) fn pass(&self, id: VisitorId) -> Option<Pass> {
        self.live.get(&id).copied()
    }

    /// Returns the passes of all active visitors.
    pub(super) fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.live.values()
    }

    /// Returns whether the ticket of a visitor first seen at `seen_at` is void because a session of
    /// that visitor has ended since. If the session ended exactly at `seen_at`, the ticket is also
    /// void.
    pub(super) fn is_ticket_void(&self, id: VisitorId, seen_at: Timestamp) -> bool {
        self.ended.get(&id).is_some_and(|ended| seen_at <= ended.at)
    }

    /// Returns whether a pass that was issued or renewed at `made_at` belongs to a session that its
    /// visitor has left.
    ///
    /// A session that has merely expired in this room does not void a pass. The pass itself states
    /// how long it is valid, and this room may not know of a renewal.
    pub(super) fn is_pass_void(&self, id: VisitorId, made_at: Timestamp) -> bool {
        self.ended.get(&id).is_some_and(|ended| ended.has_left && made_at <= ended.at)
    }

    /// Returns the number of slots in use.
    pub(super) fn active(&self) -> u32 {
        u32::try_from(self.live.len()).unwrap_or(u32::MAX)
    }

    /// Checks the invariants, in debug builds.
    pub(super) fn invariants(&self) {
        debug_assert_eq!(self.live.len(), self.lapses.len(), "each live session has one expiry");
        debug_assert_eq!(self.ended.len(), self.forgets.len(), "each end is forgotten once");
        debug_assert!(self.ended.len() <= Self::MAX_ENDED, "ended sessions are bounded");
    }

    /// Remembers the end of a session, within the maximum number of ended sessions.
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

    /// Forgets the end of a session, if one is remembered.
    fn forget(&mut self, id: VisitorId) {
        if let Some(old) = self.ended.remove(&id) {
            self.forgets.cancel(old.forget_at, id);
        }
    }
}
