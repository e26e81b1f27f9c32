//! The active visitors, and the ended sessions whose proofs may still be valid.
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
//!
//! # What has to be forgotten
//!
//! At most [`Sizes::ended`] ends are remembered. Beyond that, the earliest end is forgotten, and a
//! watermark rises to its time. A proof that is not later than the watermark might belong to a
//! forgotten end, so it counts only if the room holds the session or the place of its visitor. All
//! other visitors with such a proof are newcomers. A flood of ends therefore revives no proof, and
//! does no harm to active or waiting visitors.
//!
//! # Bounded steps
//!
//! A session frees its slot at the instant when its pass expires, even if many others expire at the
//! same time. The number of active visitors is computed as the number of sessions minus the number
//! of expired ones. Expired sessions are removed a few at a time. An operation first removes the
//! session of its own visitor if the session has expired, so no operation uses an expired session.

use std::time::Duration;

use crate::{
    Pass, Timestamp, VisitorId,
    room::{
        networks::Networks,
        orders::{Rank, Ranks},
        shards::Shards,
        work::Sizes,
    },
};

/// The sessions of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    /// The current pass of each active visitor, and of visitors whose sessions have expired but
    /// have not been removed yet.
    live: Shards<VisitorId, Session>,
    /// The expiry of each session in `live`.
    lapses: Ranks<()>,
    networks: Networks,
    /// The number of sessions that give way to waiting visitors.
    ending: u32,
    ended: Shards<VisitorId, Ended>,
    /// The time at which each session in `ended` ended.
    ends: Ranks<()>,
    /// A time before which it is useless to look for ends that are due to be forgotten.
    next_forget: Timestamp,
    /// The time of the latest end that was forgotten before its proofs were void.
    watermark: Timestamp,
    /// The time for which a ticket can stay valid after the admission that it has led to. While
    /// expired sessions have yet to be removed, this is the longest such time under any rules in
    /// effect since they expired.
    void_after: Duration,
    /// The time of the latest operation.
    now: Timestamp,
}

/// A session, as its pass states it.
#[derive(Clone, Copy, Debug)]
struct Session {
    bucket: u32,
    accepted_at: Timestamp,
    last_check_in: Timestamp,
    expires_at: Timestamp,
    /// Whether the session is within the shares of its networks.
    is_counted: bool,
    /// Whether the session was not prolonged, because visitors wait.
    is_ending: bool,
}

impl Session {
    fn pass(self, id: VisitorId) -> Pass {
        Pass::new(id, self.bucket, self.accepted_at, self.last_check_in, self.expires_at)
    }
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
    /// Begins a visitor's session, or continues it under a new pass.
    ///
    /// The session counts for its networks if it `is_counted`, and gives way to waiting visitors if
    /// it `is_ending`. The caller has [withdrawn](Self::withdraw) an earlier session.
    pub(super) fn hold(&mut self, pass: Pass, is_counted: bool, is_ending: bool) {
        let Pass { bucket, accepted_at, last_check_in, expires_at, .. } = pass;
        let session =
            Session { bucket, accepted_at, last_check_in, expires_at, is_counted, is_ending };
        match self.live.insert(pass.id, session) {
            Some(old) => _ = self.lapses.remove(Rank::at(old.expires_at, pass.id)),
            None => self.networks.add(pass.id),
        }
        self.ending += u32::from(is_ending);
        if is_counted {
            self.networks.count(pass.id, true);
        }
        self.lapses.insert(Rank::at(pass.expires_at, pass.id), ());
        // The visitor is active again, so from now on this session determines whether its proofs
        // are valid.
        self.forget(pass.id);
    }

    /// Stops counting a visitor's session, if there is one, until it is [held](Self::hold) again.
    /// Returns the narrowest level at which the visitor's network already has its full share
    /// without this session, or `None` if the session is within the shares.
    pub(super) fn withdraw(&mut self, id: VisitorId, shares: Option<[u32; 3]>) -> Option<usize> {
        if let Some(session) = self.live.get_mut(&id) {
            let old = std::mem::replace(
                session,
                Session { is_counted: false, is_ending: false, ..*session },
            );
            self.uncount(id, old);
        }
        let counted = self.networks.counted(id)?;
        counted.iter().zip(shares?).position(|(counted, share)| *counted >= share)
    }

    /// Returns the largest number of sessions of one narrow network, including expired ones that have
    /// not been removed yet.
    pub(super) fn most_of_one_network(&self) -> u32 {
        self.networks.most_held()
    }

    /// Returns the number of sessions that give way to waiting visitors.
    pub(super) const fn ending(&self) -> u32 {
        self.ending
    }

    /// Ends a visitor's session, if there is one, and voids all of the visitor's proofs issued up
    /// to and including `now`.
    ///
    /// The end of the session is remembered until `forget_at` or until the session's pass expires,
    /// whichever is later.
    pub(super) fn end(&mut self, id: VisitorId, now: Timestamp, mut forget_at: Timestamp) {
        if let Some(pass) = self.live.remove(&id) {
            self.uncount(id, pass);
            self.networks.take(id);
            self.lapses.remove(Rank::at(pass.expires_at, id));
            forget_at = forget_at.max(pass.expires_at);
        }
        self.remember(id, Ended { at: now, has_left: true, forget_at });
    }

    /// Advances the time to `now`, removes up to [`Sizes::buried`] expired sessions, and forgets up
    /// to the same number of ends. The ticket that led to a
    /// session could be valid for `void_after` from the admission, so the end of an expired session
    /// is remembered for that time.
    pub(super) fn reap(&mut self, now: Timestamp, void_after: Duration) {
        self.void_after = if is_any_due(&self.lapses, self.now) {
            self.void_after.max(void_after)
        } else {
            void_after
        };
        self.now = self.now.max(now);
        let most = Sizes::current().buried;
        self.forget_due(most);
        for due in self.lapses.take_due(self.now, most) {
            self.lapse(due.id());
        }
    }

    /// Removes a visitor's session if it has expired.
    pub(super) fn settle(&mut self, id: VisitorId) {
        // Usually nothing is due, which can be determined without looking up the visitor.
        if is_any_due(&self.lapses, self.now)
            && let Some(pass) = self.live.get(&id)
            && pass.expires_at <= self.now
        {
            self.lapses.remove(Rank::at(pass.expires_at, id));
            self.lapse(id);
        }
    }

    /// Returns the pass of a visitor, if the visitor is active.
    pub(super) fn pass(&self, id: VisitorId) -> Option<Pass> {
        let session = self.live.get(&id).filter(|session| session.expires_at > self.now)?;
        Some(session.pass(id))
    }

    /// Returns the passes of all visitors that were active at the last operation.
    pub(super) fn passes(&self) -> impl Iterator<Item = Pass> {
        let sessions = self.live.iter().filter(|(_, session)| session.expires_at > self.now);
        sessions.map(|(id, session)| session.pass(*id))
    }

    /// Returns whether the ticket of a visitor first seen at `seen_at` is void because a session of
    /// that visitor has ended since. If the session ended exactly at `seen_at`, the ticket is also
    /// void.
    pub(super) fn is_ticket_void(&self, id: VisitorId, seen_at: Timestamp) -> bool {
        self.end_of(id).is_some_and(|ended| seen_at <= ended.at)
    }

    /// Returns whether a pass that was issued or renewed at `made_at` belongs to a session that its
    /// visitor has left.
    ///
    /// A session that has merely expired in this room does not void a pass. The pass itself
    /// contains its expiry, and this room may not know of a renewal.
    pub(super) fn is_pass_void(&self, id: VisitorId, made_at: Timestamp) -> bool {
        self.end_of(id).is_some_and(|ended| ended.has_left && made_at <= ended.at)
    }

    /// Returns whether an end that had to be forgotten may have voided a proof issued at `made_at`.
    /// If so, the proof counts only if the room holds its visitor's session or place.
    pub(super) fn may_be_forgotten(&self, id: VisitorId, made_at: Timestamp) -> bool {
        made_at <= self.watermark && self.end_of(id).is_none()
    }

    /// Returns the number of slots in use: one for each session that has not expired.
    pub(super) fn active(&self) -> u32 {
        let active = self.live.len() - self.lapses.count_due(self.now);
        u32::try_from(active).unwrap_or(u32::MAX)
    }

    /// Checks the invariants, in debug builds.
    pub(super) fn invariants(&self) {
        debug_assert_eq!(self.live.len(), self.lapses.len(), "each live session has one expiry");
        debug_assert_eq!(self.ended.len(), self.ends.len(), "each end has one time");
        debug_assert!(self.ended.len() <= Sizes::current().ended, "ended sessions are bounded");
        if cfg!(debug_assertions) && self.live.len() <= Networks::CHECKED {
            self.networks.invariants(self.live.iter().map(|(id, _)| *id));
            let ending = self.live.iter().filter(|(_, session)| session.is_ending);
            debug_assert_eq!(ending.count(), self.ending as usize, "each ending is counted");
        }
    }

    /// Stops counting a session.
    fn uncount(&mut self, id: VisitorId, session: Session) {
        self.ending -= u32::from(session.is_ending);
        if session.is_counted {
            self.networks.count(id, false);
        }
    }

    /// Removes an expired session whose expiry has already been removed from `lapses`.
    fn lapse(&mut self, id: VisitorId) {
        if let Some(pass) = self.live.remove(&id) {
            self.uncount(id, pass);
            self.networks.take(id);
            let forget_at = pass.accepted_at + self.void_after;
            // The session ended when its pass expired, not when this operation noticed the expiry.
            if forget_at > self.now {
                self.remember(id, Ended { at: pass.expires_at, has_left: false, forget_at });
            }
        }
    }

    /// Returns the end of a visitor's session, if it is remembered and not due to be forgotten.
    fn end_of(&self, id: VisitorId) -> Option<Ended> {
        self.ended.get(&id).copied().filter(|ended| ended.forget_at > self.now)
    }

    /// Remembers the end of a session. If too many ends are remembered, the earliest is forgotten.
    fn remember(&mut self, id: VisitorId, ended: Ended) {
        self.forget(id);
        self.next_forget = self.next_forget.min(ended.forget_at);
        self.ended.insert(id, ended);
        self.ends.insert(Rank::at(ended.at, id), ());
        if self.ended.len() > Sizes::current().ended
            && let Some(earliest) = self.ends.first().map(Rank::id)
            && let Some(end) = self.ended.get(&earliest)
        {
            self.watermark = self.watermark.max(end.at);
            self.forget(earliest);
        }
    }

    /// Looks at the `most` earliest ends, and forgets those that are due. A later end that is due
    /// is forgotten only after earlier ones, but no longer has an effect.
    fn forget_due(&mut self, most: usize) {
        if self.next_forget > self.now {
            return;
        }
        let earliest = self.ends.next_from(Rank::new(0, VisitorId::new(0)), most);
        self.next_forget = Timestamp::MAX;
        for id in earliest.into_iter().map(Rank::id) {
            match self.ended.get(&id).map(|end| end.forget_at) {
                Some(forget_at) if forget_at > self.now => {
                    self.next_forget = self.next_forget.min(forget_at);
                }
                Some(_) | None => {
                    self.forget(id);
                    self.next_forget = self.now;
                }
            }
        }
    }

    /// Forgets the end of a session, if one is remembered.
    fn forget(&mut self, id: VisitorId) {
        if let Some(old) = self.ended.remove(&id) {
            self.ends.remove(Rank::at(old.at, id));
        }
    }
}

/// Returns whether any rank in an order by time is due at `now`.
fn is_any_due(order: &Ranks<()>, now: Timestamp) -> bool {
    order.first().is_some_and(|first| first.is_due(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn a_session_that_awaits_removal_is_remembered_as_long_as_any_other() {
        let mut sessions = Sessions::default();
        let retained = Duration::from_secs(1_000);
        sessions.reap(at(10), retained);
        let passes = (0..50).map(|who| Pass::new(VisitorId::new(who), 0, at(10), at(10), at(40)));
        passes.for_each(|pass| sessions.hold(pass, true, false));
        sessions.reap(at(100), retained);
        assert!(sessions.active() == 0 && sessions.live.len() > 0);
        // Under these rules, tickets become void earlier.
        (0..50).for_each(|_| sessions.reap(at(200), Duration::from_secs(1)));
        assert_eq!((sessions.live.len(), sessions.ended.len()), (0, 50));
        assert!(sessions.is_ticket_void(VisitorId::new(49), at(9)));
        (0..50).for_each(|_| sessions.reap(at(1_010), Duration::from_secs(1)));
        assert_eq!(sessions.ended.len(), 0);
    }

    #[test]
    fn a_forgotten_end_voids_older_proofs_and_the_earliest_is_forgotten_first() {
        Sizes::use_these(Sizes { ended: 10, ..Sizes::SMALL });
        let mut sessions = Sessions::default();
        // The second end is due to be forgotten first, but it is not the earliest.
        for (who, forget_at) in (0..).zip([900, 50].into_iter().chain([800; 9])) {
            sessions.reap(at(20 + who), Duration::ZERO);
            sessions.end(VisitorId::new(who.into()), at(20 + who), at(forget_at));
        }
        assert_eq!((sessions.ended.len(), sessions.watermark), (10, at(20)));
        for (who, made_at, expected) in
            [(0, 19, true), (0, 20, true), (0, 21, false), (1, 19, false)]
        {
            let may_be = sessions.may_be_forgotten(VisitorId::new(who), at(made_at));
            assert_eq!(may_be, expected, "{who} at {made_at}");
        }
        assert!(sessions.is_ticket_void(VisitorId::new(1), at(21)));
        sessions.reap(at(50), Duration::ZERO);
        assert!(!sessions.is_ticket_void(VisitorId::new(1), at(21)));
        assert_eq!(sessions.ended.len(), 9);
        (0..5).for_each(|_| sessions.reap(at(800), Duration::ZERO));
        assert_eq!((sessions.ended.len(), sessions.watermark), (0, at(20)));
    }

    #[test]
    fn an_end_voids_no_proof_once_it_is_due_to_be_forgotten() {
        let mut sessions = Sessions::default();
        let ids: Vec<_> = (0..50).map(VisitorId::new).collect();
        ids.iter().for_each(|id| sessions.end(*id, at(10), at(100)));
        for (now, is_void) in [(99, true), (100, false)] {
            sessions.reap(at(now), Duration::ZERO);
            sessions.settle(ids[49]);
            assert_eq!(sessions.is_ticket_void(ids[49], at(9)), is_void);
            assert_eq!(sessions.is_pass_void(ids[49], at(9)), is_void);
        }
        assert!(sessions.ended.len() > 0, "the others wait for their removal");
    }
}
