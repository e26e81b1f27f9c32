//! The memory of a node about sessions, beside what their passes state.
//!
//! A valid pass is accepted without a call of the store. Two facts cannot be read from the pass
//! itself, and this node keeps them:
//!
//! - **Ended sessions.** The application may end a session before its pass expires. A copy of the
//!   pass is then refused here.
//! - **Renewals.** The fifty parallel requests of a page may all show a pass that is due. One of
//!   them renews it, the others go on with the old pass, and later ones take the new pass.
//!
//! ```text
//!                stale                  renewed
//!  (unknown) ───────────► Renewing ───────────► Renewed ──► forgotten when the new pass expires
//!      ▲                   │     │ end             │ end
//!      └── dropped ────────┘     ▼                 ▼
//!                               Ended ─────────────────────► forgotten when all passes are void
//! ```
//!
//! A renewed pass that is due itself starts again at `Renewing`.
//!
//! The ends that still have to be reported to the store are kept here as well. They are delivered
//! by the next requests that call the store, a few at a time.
//!
//! Other nodes do not see this memory. An ended session is accepted there until its pass is due for
//! renewal, which the store then refuses.
//!
//! # Locks
//!
//! A `DashMap` deadlocks when a thread touches it again while it holds a guard of the same part. So
//! no method sweeps, or drops a [`Renewing`], while it holds an entry.

use std::{
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use dashmap::{DashMap, Entry};
use waiting_room_core::{Pass, Reason, Timestamp, VisitorId};

/// The visit to which a request belongs, found in its extensions once the room has admitted it.
///
/// ```
/// use tower_waiting_room::room::Visit;
///
/// async fn checkout(request: http::Request<String>) -> http::Response<String> {
///     if let Some(visit) = request.extensions().get::<Visit>() {
///         visit.end();
///     }
///     http::Response::new("Thank you.".to_owned())
/// }
/// # let _ = checkout;
/// ```
#[derive(Clone)]
pub struct Visit {
    pass: Pass,
    reason: Reason,
    sessions: Arc<Sessions>,
}

impl Visit {
    /// The handle for a request that was admitted with `pass` for `reason`.
    pub(crate) const fn new(pass: Pass, reason: Reason, sessions: Arc<Sessions>) -> Self {
        Self { pass, reason, sessions }
    }

    /// Whether this is a visit to the room that these sessions belong to.
    pub(crate) fn is_of(&self, sessions: &Arc<Sessions>) -> bool {
        Arc::ptr_eq(&self.sessions, sessions)
    }

    /// Ends the session, for example after a checkout. The slot is free once the head of the
    /// response is sent, and the response deletes the visitor's cookie.
    ///
    /// The pass is void on this node at once. If `end` is called after the head was sent, or if the
    /// client has disconnected, the cookie stays and the slot is freed later: when this node next
    /// asks the store about a visitor without a pass.
    pub fn end(&self) {
        self.sessions.end(&self.pass);
        self.sessions.owe(self.pass.id);
    }

    /// The time at which the visitor was admitted.
    #[must_use]
    pub const fn accepted_at(&self) -> Timestamp {
        self.pass.accepted_at
    }

    /// The time at which the pass expires, if no further request renews it.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.pass.expires_at
    }

    /// The reason for which this request was admitted.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit")
            .field("pass", &self.pass)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// The sessions that this node has ended, has renewed, or is renewing. See the [module docs](self).
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// At most one state for each visitor. Bounded by the passes that were shown here within the
    /// lifetime of a pass, since lapsed entries are swept.
    known: DashMap<VisitorId, Known, BuildHasherDefault<IdHasher>>,
    /// The number of entries since the last sweep. An estimate: it needs no exact order.
    added: AtomicUsize,
    /// Sessions that have ended and that the store still counts. At most [`Self::MAX_OWED`].
    owed: Mutex<Vec<VisitorId>>,
}

#[derive(Clone, Copy, Debug)]
enum Known {
    /// The session that was accepted at `accepted_at` has ended, and so have earlier ones. All of
    /// its passes have expired by `forget_at`.
    Ended { accepted_at: Timestamp, forget_at: Timestamp },
    /// The session was renewed, and this is its newest pass.
    Renewed(Pass),
    /// A request is renewing the session. Void at `forget_at`, when the old pass expires: a renewal
    /// that takes longer must not keep others from trying.
    Renewing { forget_at: Timestamp },
}

impl Known {
    /// Whether `pass` belongs to a session that has ended. A visitor may have been admitted again
    /// later, under the same id: that session is not affected.
    fn has_ended(&self, pass: &Pass) -> bool {
        matches!(self, Self::Ended { accepted_at, .. } if pass.accepted_at <= *accepted_at)
    }

    /// The time from which this entry has no effect any more.
    fn forget_at(&self) -> Timestamp {
        match self {
            Self::Ended { forget_at, .. } | Self::Renewing { forget_at } => *forget_at,
            Self::Renewed(pass) => pass.expires_at,
        }
    }
}

/// How a request with a pass that is due for renewal continues.
#[derive(Debug)]
pub(crate) enum Stale {
    /// With the old pass: another request is renewing it, or the session has ended.
    GoOn,
    /// By renewing the pass.
    Renew(Renewing),
    /// With this pass, to which another request has just renewed it.
    Take(Pass),
}

impl Sessions {
    /// A sweep visits all entries. It happens after this many were added, and at least half as many
    /// as there are. So it costs a constant number of visits for each added entry.
    const SWEEP_AFTER: usize = 1_024;
    /// The number of ends that are kept for the store. Further ones are dropped, and their slots
    /// are free when the sessions lapse.
    const MAX_OWED: usize = 1_024;
    /// The number of ends that one request delivers, since that request waits for each of them.
    const TOLD_AT_ONCE: usize = 8;

    /// Whether the session of this pass has ended, as far as this node knows.
    pub(crate) fn is_ended(&self, pass: &Pass) -> bool {
        self.known.get(&pass.id).is_some_and(|known| known.has_ended(pass))
    }

    /// Ends the session of this pass on this node only. [`owe`](Self::owe) has the end reported to
    /// the store.
    pub(crate) fn end(&self, pass: &Pass) {
        let ended = |forget_at| Known::Ended { accepted_at: pass.accepted_at, forget_at };
        self.known
            .entry(pass.id)
            // An entry may be of a newer pass that expires later. The end must be remembered until
            // that one is void too.
            .and_modify(|known| *known = ended(known.forget_at().max(pass.expires_at)))
            .or_insert(ended(pass.expires_at));
        self.added.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the end of a session has to be reported to the store. A later request does so,
    /// even if the response of the present one is never sent.
    pub(crate) fn owe(&self, id: VisitorId) {
        let mut owed = self.owed();
        if owed.len() < Self::MAX_OWED && !owed.contains(&id) {
            owed.push(id);
        }
    }

    /// Takes the end of this session, for a caller that delivers it to the store. It is taken off
    /// the list, so that no other request delivers it as well.
    pub(crate) fn take_end(self: &Arc<Self>, id: VisitorId) -> Owed {
        self.owed().retain(|other| *other != id);
        Owed { ends: vec![id], sessions: Arc::clone(self) }
    }

    /// Takes the oldest ends that have not been reported to the store, up to
    /// [`Self::TOLD_AT_ONCE`], for a caller that delivers them.
    pub(crate) fn take_owed(self: &Arc<Self>) -> Owed {
        let mut owed = self.owed();
        let at_once = owed.len().min(Self::TOLD_AT_ONCE);
        let ends = owed.drain(..at_once).collect();
        // Released before `Owed` exists, whose drop takes this lock.
        drop(owed);
        Owed { ends, sessions: Arc::clone(self) }
    }

    /// Locks the list, also after a panic of another thread: each change of it is a single call.
    fn owed(&self) -> MutexGuard<'_, Vec<VisitorId>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides how a request with a pass that is due for renewal continues. At most one request at
    /// a time gets [`Stale::Renew`] for a session.
    ///
    /// `due` returns whether a pass is due. A renewed pass serves all requests that show the old
    /// one, until it is due itself.
    pub(crate) fn stale(
        self: &Arc<Self>,
        pass: &Pass,
        now: Timestamp,
        due: impl Fn(&Pass) -> bool,
    ) -> Stale {
        // Before the entry is locked, because a sweep locks all parts of the map.
        self.sweep(now);
        let entry = self.known.entry(pass.id);
        if let Entry::Occupied(entry) = &entry {
            match *entry.get() {
                known if known.has_ended(pass) => return Stale::GoOn,
                Known::Renewed(renewed) if !due(&renewed) => return Stale::Take(renewed),
                Known::Renewing { forget_at } if now < forget_at => return Stale::GoOn,
                Known::Ended { .. } | Known::Renewed(_) | Known::Renewing { .. } => {}
            }
        }
        // The decision and this change happen under one lock of the entry, so that of two parallel
        // requests exactly one renews.
        entry.insert(Known::Renewing { forget_at: pass.expires_at });
        self.added.fetch_add(1, Ordering::Relaxed);
        Stale::Renew(Renewing { id: pass.id, sessions: Arc::clone(self) })
    }

    /// Forgets entries without effect, if enough entries were added since the last sweep.
    pub(crate) fn sweep(&self, now: Timestamp) {
        let added = self.added.load(Ordering::Relaxed);
        if added >= Self::SWEEP_AFTER && added >= self.known.len() / 2 {
            self.added.store(0, Ordering::Relaxed);
            self.known.retain(|_, known| known.forget_at() > now);
        }
    }
}

/// Ends that are being delivered to the store.
///
/// # Cancel safety
///
/// Dropping it puts the ends that were not delivered back on the list. So an end is not lost when
/// the store fails or when the request that delivers it is dropped. It may be delivered twice,
/// which is harmless: `leave` is idempotent.
#[derive(Debug)]
pub(crate) struct Owed {
    ends: Vec<VisitorId>,
    sessions: Arc<Sessions>,
}

impl Owed {
    /// The next end to deliver; `None` once all are delivered.
    pub(crate) fn next(&self) -> Option<VisitorId> {
        self.ends.last().copied()
    }

    /// Records that the end that [`next`](Self::next) returned was delivered.
    pub(crate) fn is_told(&mut self) {
        self.ends.pop();
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.ends.drain(..).for_each(|id| self.sessions.owe(id));
    }
}

/// A session whose pass has not been sent to its visitor yet.
///
/// Dropping it before the pass is sent ends the session, at the next call of the store. Otherwise a
/// newcomer that reloads a slow page would take one more slot with each reload, because the aborted
/// responses never delivered a pass. Nothing else is remembered about the session, since no pass of
/// it exists outside of this node.
#[derive(Debug)]
pub(crate) struct Undelivered(Option<(VisitorId, Arc<Sessions>)>);

impl Undelivered {
    /// The session of a newcomer. Its id was drawn for this request, so no other request can have
    /// been admitted to the same session.
    pub(crate) const fn new(id: VisitorId, sessions: Arc<Sessions>) -> Self {
        Self(Some((id, sessions)))
    }

    /// Records that the pass is sent with a response: the session is the visitor's from now on.
    pub(crate) fn sent(mut self) {
        self.0 = None;
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if let Some((id, sessions)) = self.0.take() {
            sessions.owe(id);
        }
    }
}

/// The right to renew a session, held by one request at a time.
///
/// Dropping it without an outcome gives the right back, and the next request may try again.
#[derive(Debug)]
pub(crate) struct Renewing {
    id: VisitorId,
    sessions: Arc<Sessions>,
}

impl Renewing {
    /// Records the renewed pass for other requests of the visitor.
    pub(crate) fn renewed(self, pass: Pass) {
        // Unless the session has ended meanwhile: an end is final. The guard is dropped with this
        // statement, before `self`, whose drop locks the same entry.
        if let Some(mut known) = self.sessions.known.get_mut(&self.id)
            && matches!(*known, Known::Renewing { .. })
        {
            *known = Known::Renewed(pass);
        }
    }

    /// Records that the store has ended the session, or that it had lapsed.
    pub(crate) fn ended(self, pass: &Pass) {
        self.sessions.end(pass);
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        // After `renewed` or `ended`, the entry has another state and stays.
        self.sessions.known.remove_if(&self.id, |_, known| matches!(known, Known::Renewing { .. }));
    }
}

/// A hasher that takes the bits of an id as they are. No client can choose colliding ids: ids are
/// drawn at random, and reach the map only out of tokens that this service has sealed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Required by the trait; an id is hashed by [`write_u128`](Hasher::write_u128).
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of the random bits are enough")]
    fn write_u128(&mut self, bits: u128) {
        self.0 = bits as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn pass(who: u128, issued: Timestamp) -> Pass {
        Pass::new(VisitorId::new(who), 0, NOW, issued, issued + Duration::from_secs(90))
    }

    fn is_due(pass: &Pass) -> bool {
        pass.last_check_in == NOW
    }

    #[test]
    fn one_of_many_stale_requests_renews_and_the_others_take_what_it_got() {
        let sessions = Arc::new(Sessions::default());
        let old = pass(1, NOW);
        let Stale::Renew(renewing) = sessions.stale(&old, NOW, is_due) else { panic!("first") };
        assert!(matches!(sessions.stale(&old, NOW, is_due), Stale::GoOn));
        let new = pass(1, NOW + Duration::from_secs(10));
        renewing.renewed(new);
        assert!(matches!(sessions.stale(&old, NOW, is_due), Stale::Take(taken) if taken == new));
    }

    #[test]
    fn a_renewal_that_was_dropped_is_tried_again() {
        let sessions = Arc::new(Sessions::default());
        drop(sessions.stale(&pass(1, NOW), NOW, is_due));
        assert!(matches!(sessions.stale(&pass(1, NOW), NOW, is_due), Stale::Renew(_)));
    }

    #[test]
    fn a_session_that_ends_during_its_renewal_stays_ended() {
        let sessions = Arc::new(Sessions::default());
        let old = pass(1, NOW);
        let Stale::Renew(renewing) = sessions.stale(&old, NOW, is_due) else { panic!("first") };
        sessions.end(&old);
        renewing.renewed(pass(1, NOW + Duration::from_secs(10)));
        assert!(sessions.is_ended(&old));
    }

    #[test]
    fn a_pass_that_was_never_sent_is_told_of_and_takes_no_memory() {
        let sessions = Arc::new(Sessions::default());
        Undelivered::new(VisitorId::new(1), Arc::clone(&sessions)).sent();
        assert_eq!(sessions.take_owed().next(), None);
        for who in 0..10_000 {
            drop(Undelivered::new(VisitorId::new(who), Arc::clone(&sessions)));
        }
        assert_eq!((sessions.known.len(), sessions.owed().len()), (0, Sessions::MAX_OWED));
    }

    #[test]
    fn a_later_session_of_the_same_visitor_is_not_ended() {
        let sessions = Sessions::default();
        let old = pass(1, NOW);
        sessions.end(&old);
        let mut later = old;
        later.accepted_at = NOW + Duration::from_secs(1);
        assert!(sessions.is_ended(&old) && !sessions.is_ended(&later));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let sessions = Arc::new(Sessions::default());
        for who in 0..10_000 {
            let old = pass(who, NOW + Duration::from_secs(u64::try_from(who).unwrap()));
            if let Stale::Renew(renewing) = sessions.stale(&old, old.last_check_in, |_| true) {
                renewing.renewed(old);
            }
        }
        assert!(sessions.known.len() <= 2 * Sessions::SWEEP_AFTER, "{}", sessions.known.len());
    }
}
