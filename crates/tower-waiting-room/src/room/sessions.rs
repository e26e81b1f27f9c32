//! What this node knows of sessions beside their passes.
//!
//! A valid pass asks no store. Two things must be known all the same, and both are local: which
//! sessions were ended here, so that a copy of their pass is worth nothing, and which passes are
//! being renewed or just were, so that fifty parallel requests make one renewal.

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

/// The visit that a request belongs to, in its extensions once it was admitted.
///
/// ```
/// use tower_waiting_room::Visit;
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
    pub(crate) const fn new(pass: Pass, reason: Reason, sessions: Arc<Sessions>) -> Self {
        Self { pass, reason, sessions }
    }

    /// Whether it is a visit to the room with these sessions.
    pub(crate) fn is_of(&self, sessions: &Arc<Sessions>) -> bool {
        Arc::ptr_eq(&self.sessions, sessions)
    }

    /// Ends the session: the slot is free when the response head is sent, and the cookie is
    /// deleted with it. Called later, or by a request whose client has gone, the slot is free
    /// when somebody next asks this node for one; the cookie is worth nothing at once.
    pub fn end(&self) {
        self.sessions.end(&self.pass);
        self.sessions.owe(self.pass.id);
    }

    /// When the visitor was let in.
    #[must_use]
    pub const fn accepted_at(&self) -> Timestamp {
        self.pass.accepted_at
    }

    /// Until when the visitor is let in, if no further request comes.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.pass.expires_at
    }

    /// Why this request was admitted.
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

/// The sessions that this node has ended or is renewing.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: DashMap<VisitorId, Known, BuildHasherDefault<IdHasher>>,
    added: AtomicUsize,
    /// Sessions that ended and of which the store has not heard yet.
    owed: Mutex<Vec<VisitorId>>,
}

#[derive(Clone, Copy, Debug)]
enum Known {
    /// The session that was accepted then has ended; every pass of it is void by `forget_at`.
    Ended { accepted_at: Timestamp, forget_at: Timestamp },
    /// Renewed to this pass.
    Renewed(Pass),
    /// Being renewed; worth nothing any more when the pass has expired.
    Renewing { forget_at: Timestamp },
}

impl Known {
    fn has_ended(&self, pass: &Pass) -> bool {
        matches!(self, Self::Ended { accepted_at, .. } if pass.accepted_at <= *accepted_at)
    }

    fn forget_at(&self) -> Timestamp {
        match self {
            Self::Ended { forget_at, .. } | Self::Renewing { forget_at } => *forget_at,
            Self::Renewed(pass) => pass.expires_at,
        }
    }
}

/// What a request with a stale pass is to do.
#[derive(Debug)]
pub(crate) enum Stale {
    /// Go on with the old pass: somebody else is renewing it.
    GoOn,
    /// Renew it.
    Renew(Renewing),
    /// Take this one: somebody else has just renewed it.
    Take(Pass),
}

impl Sessions {
    /// All entries are looked through when so many were added, and at least half as many as there
    /// are: so a look costs a few entries for each that was added.
    const SWEEP_AFTER: usize = 1_024;
    /// So many ends are owed to the store; over it, a slot lapses by itself.
    const MAX_OWED: usize = 1_024;
    /// So many of them are told by one request, which waits for it.
    const TOLD_AT_ONCE: usize = 8;

    /// Whether the session of this pass was ended on this node.
    pub(crate) fn is_ended(&self, pass: &Pass) -> bool {
        self.known.get(&pass.id).is_some_and(|known| known.has_ended(pass))
    }

    /// Ends the session of this pass for this node.
    pub(crate) fn end(&self, pass: &Pass) {
        let ended = |forget_at| Known::Ended { accepted_at: pass.accepted_at, forget_at };
        self.known
            .entry(pass.id)
            .and_modify(|known| *known = ended(known.forget_at().max(pass.expires_at)))
            .or_insert(ended(pass.expires_at));
        self.added.fetch_add(1, Ordering::Relaxed);
    }

    /// Remembers that the store has to hear of an end, whether or not a response is ever sent.
    pub(crate) fn owe(&self, id: VisitorId) {
        let mut owed = self.owed();
        if owed.len() < Self::MAX_OWED && !owed.contains(&id) {
            owed.push(id);
        }
    }

    /// The end of this session, for somebody who tells the store.
    pub(crate) fn take_end(self: &Arc<Self>, id: VisitorId) -> Owed {
        self.owed().retain(|other| *other != id);
        Owed { ends: vec![id], sessions: Arc::clone(self) }
    }

    /// Some of those who ended without the store having heard of it, for somebody who tells it.
    pub(crate) fn take_owed(self: &Arc<Self>) -> Owed {
        let mut owed = self.owed();
        let at_once = owed.len().min(Self::TOLD_AT_ONCE);
        let ends = owed.drain(..at_once).collect();
        drop(owed);
        Owed { ends, sessions: Arc::clone(self) }
    }

    fn owed(&self) -> MutexGuard<'_, Vec<VisitorId>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides what a request with a pass that is due for renewal does.
    ///
    /// A renewed pass serves everybody until it is itself `due`.
    pub(crate) fn stale(
        self: &Arc<Self>,
        pass: &Pass,
        now: Timestamp,
        due: impl Fn(&Pass) -> bool,
    ) -> Stale {
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
        entry.insert(Known::Renewing { forget_at: pass.expires_at });
        self.added.fetch_add(1, Ordering::Relaxed);
        Stale::Renew(Renewing { id: pass.id, sessions: Arc::clone(self) })
    }

    /// Forgets what is over, if enough was added since it last did.
    pub(crate) fn sweep(&self, now: Timestamp) {
        let added = self.added.load(Ordering::Relaxed);
        if added >= Self::SWEEP_AFTER && added >= self.known.len() / 2 {
            self.added.store(0, Ordering::Relaxed);
            self.known.retain(|_, known| known.forget_at() > now);
        }
    }
}

/// Ends that the store is being told of. Dropped, those are owed again that it has not heard of.
#[derive(Debug)]
pub(crate) struct Owed {
    ends: Vec<VisitorId>,
    sessions: Arc<Sessions>,
}

impl Owed {
    /// Whom to tell of next.
    pub(crate) fn next(&self) -> Option<VisitorId> {
        self.ends.last().copied()
    }

    /// The store has heard of that one.
    pub(crate) fn is_told(&mut self) {
        self.ends.pop();
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.ends.drain(..).for_each(|id| self.sessions.owe(id));
    }
}

/// A session of which nobody has the pass yet. Dropped before the pass is sent, the store is told that
/// it is over: a client that is impatient with a slow page would take a slot at each reload. This node
/// remembers nothing of it, since there is no pass that could be shown.
#[derive(Debug)]
pub(crate) struct Undelivered(Option<(VisitorId, Arc<Sessions>)>);

impl Undelivered {
    /// The session of a newcomer, which cannot have been let in by another request.
    pub(crate) const fn new(id: VisitorId, sessions: Arc<Sessions>) -> Self {
        Self(Some((id, sessions)))
    }

    /// The pass leaves with a response.
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

/// One renewal under way. Dropped without an outcome, it leaves the next request to try again.
#[derive(Debug)]
pub(crate) struct Renewing {
    id: VisitorId,
    sessions: Arc<Sessions>,
}

impl Renewing {
    /// The store has renewed the pass.
    pub(crate) fn renewed(self, pass: Pass) {
        if let Some(mut known) = self.sessions.known.get_mut(&self.id)
            && matches!(*known, Known::Renewing { .. })
        {
            *known = Known::Renewed(pass);
        }
    }

    /// The store says that the session is over.
    pub(crate) fn ended(self, pass: &Pass) {
        self.sessions.end(pass);
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.sessions.known.remove_if(&self.id, |_, known| matches!(known, Known::Renewing { .. }));
    }
}

/// Takes the bits of an id as they are: they are random, sealed, and no client chooses them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

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
