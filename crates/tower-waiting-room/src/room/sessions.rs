//! A node's memory of sessions: the facts that are not in the sessions' passes. [`Visit`] is the
//! application's handle to one session.
//!
//! A valid pass is accepted without a call to the store. Two kinds of facts are not in the pass
//! itself, so the node remembers them:
//!
//! - **Ended sessions.** The application may end a session before its pass expires. A copy of the
//!   pass is then refused on this node.
//! - **Renewals.** Fifty parallel requests for one page may all present a pass that is due. One
//!   request renews the pass, the others continue with the old pass, and later requests get the new
//!   pass. If a visitor gets a pass in place of one from another site, the new pass is remembered
//!   in the same way.
//!
//! ```text
//!                stale                  renewed
//!  (unknown) ───────────► Renewing ───────────► Renewed ──► forgotten when the new pass expires
//!      ▲                   │     │ end             │ end
//!      └── dropped ────────┘     ▼                 ▼
//!                               Ended ─────────────────────► forgotten when all passes are void
//! ```
//!
//! When a renewed pass becomes due, the session returns to `Renewing`.
//!
//! The node also remembers which ends of sessions it still has to report to the store ([`Ends`]).
//!
//! Other nodes do not see this memory, so they accept the pass of an ended session until the pass
//! is due for renewal. The store then refuses the renewal.
//!
//! # What has to be forgotten
//!
//! The memory has a bound, beyond which the entry that would be forgotten next is forgotten early. If
//! this entry is an ended session, the node no longer trusts passes that expire by the same time:
//! the store is asked whether such a pass is still valid.
//!
//! # Locks
//!
//! A `DashMap` deadlocks if a thread accesses a shard while it holds a guard of the same shard.
//! Therefore, no method sweeps the map or drops a [`Renewing`] while holding an entry.

use std::{
    collections::BTreeSet,
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use dashmap::{DashMap, Entry};
use waiting_room_core::{Pass, Reason, Timestamp, VisitorId, time::Clock};

use super::ends::Ends;
use crate::{ambient::StageClock, telemetry::Telemetry};

/// The sessions that this node has ended, has renewed, or is renewing. See the [module docs](self).
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The state of the session of each visitor, with at most [`Self::MAX`] entries.
    known: DashMap<VisitorId, Known, BuildHasherDefault<IdHasher>>,
    /// For each entry, a time from which the entry might no longer have an effect.
    due: Mutex<BTreeSet<(Timestamp, VisitorId)>>,
    /// The latest expiry time, in nanoseconds, of the passes whose ended sessions had to be
    /// forgotten. Accesses are `Relaxed`, because the value is independent of all others.
    watermark: AtomicU64,
    /// The sessions that have ended but are still counted by the store.
    pub(super) ends: Arc<Ends>,
    /// The clock of the store.
    clock: StageClock,
    telemetry: Telemetry,
}

#[derive(Clone, Copy, Debug)]
enum Known {
    /// The session that was accepted at `accepted_at` has ended, and so have all earlier sessions.
    /// All passes of the session have expired by `forget_at`.
    Ended { accepted_at: Timestamp, forget_at: Timestamp },
    /// The session was renewed, and its newest pass is stored here.
    Renewed(Pass),
    /// A request is renewing the session. This state lapses at `forget_at`, when the old pass
    /// expires, so that a slow renewal does not keep other requests from trying.
    Renewing { forget_at: Timestamp },
}

impl Known {
    /// Returns whether `pass` belongs to a session that has ended. If the visitor was admitted
    /// again later, under the same id, the later session is not affected.
    fn has_ended(&self, pass: &Pass) -> bool {
        matches!(self, Self::Ended { accepted_at, .. } if pass.accepted_at <= *accepted_at)
    }

    /// Returns the time from which this entry no longer has an effect.
    fn forget_at(&self) -> Timestamp {
        match self {
            Self::Ended { forget_at, .. } | Self::Renewing { forget_at } => *forget_at,
            Self::Renewed(pass) => pass.expires_at,
        }
    }
}

/// How a request continues if its pass is due for renewal.
#[derive(Debug)]
pub(crate) enum Stale {
    /// The request keeps the old pass, because another request is renewing the pass or the session
    /// has ended.
    GoOn,
    /// The request renews the pass.
    Renew(Renewing),
    /// The request uses this pass, which another request has obtained through renewal.
    Take(Pass),
}

impl Sessions {
    /// The maximum number of entries, which take up to 25 MB. A client adds an entry with each pass
    /// that it ends or renews, and with each place that it gives up.
    const MAX: usize = if cfg!(test) { 1 << 10 } else { 1 << 18 };
    /// The number of entries that may be removed whenever one is added.
    const SWEPT_AT_ONCE: u32 = 4;
    /// The number of parts of `known`, each with a lock.
    const SHARDS: usize = 256;

    /// Creates the memory of a node that has not seen any session. `clock` is the clock of the
    /// store, and `telemetry` reports the ends of sessions.
    pub(crate) fn new(clock: StageClock, telemetry: Telemetry) -> Self {
        Self {
            // A shard grows while its lock is held, so no shard is large.
            known: DashMap::with_hasher_and_shard_amount(
                BuildHasherDefault::default(),
                Self::SHARDS,
            ),
            due: Mutex::default(),
            watermark: AtomicU64::new(0),
            ends: Arc::default(),
            clock,
            telemetry,
        }
    }

    /// Returns whether the session of this pass has ended, as far as this node knows.
    pub(crate) fn is_ended(&self, pass: &Pass) -> bool {
        self.known.get(&pass.id).is_some_and(|known| known.has_ended(pass))
    }

    /// Returns whether this node would know if the session of this pass had ended here. If not, the
    /// store has to confirm the pass.
    pub(crate) fn trusts(&self, pass: &Pass) -> bool {
        pass.expires_at.as_nanos() > self.watermark.load(Ordering::Relaxed)
            || self.known.contains_key(&pass.id)
    }

    /// Ends the session of this pass on this node, on behalf of the application, and reports how
    /// long the session lasted. Several requests of a visitor may end its session, but only the
    /// first end is reported. [`Ends`] delivers the end to the store.
    pub(crate) fn end_by_application(&self, pass: &Pass) {
        if !self.end(pass) {
            self.telemetry.session_ended(self.clock.now().since(pass.accepted_at));
        }
    }

    /// Ends all sessions of a visitor that were accepted by `now`, because the visitor has left
    /// with its ticket. All passes of these sessions will have expired by `until`.
    pub(crate) fn end_by_ticket(&self, id: VisitorId, now: Timestamp, until: Timestamp) {
        let ended = |forget_at| Known::Ended { accepted_at: now, forget_at };
        self.note(id, ended(until), now, |known| *known = ended(known.forget_at().max(until)));
    }

    /// Ends the session of this pass on this node only, and returns whether it was known to have
    /// ended before.
    fn end(&self, pass: &Pass) -> bool {
        let ended = |forget_at| Known::Ended { accepted_at: pass.accepted_at, forget_at };
        let mut had_ended = false;
        self.note(pass.id, ended(pass.expires_at), self.clock.now(), |known| {
            had_ended = known.has_ended(pass);
            // The entry may belong to a newer pass that expires later. The end must be remembered
            // until the newer pass has expired too.
            *known = ended(known.forget_at().max(pass.expires_at));
        });
        had_ended
    }

    /// Decides how a request continues if its pass is due for renewal. At most one request at a
    /// time gets [`Stale::Renew`] for a session.
    ///
    /// `due` returns whether a pass is due. All requests that present the old pass get the renewed
    /// pass until that pass is due too.
    pub(crate) fn stale(
        self: &Arc<Self>,
        pass: &Pass,
        now: Timestamp,
        due: impl Fn(&Pass) -> bool,
    ) -> Stale {
        let entry = self.known.entry(pass.id);
        if let Entry::Occupied(entry) = &entry {
            match *entry.get() {
                known if known.has_ended(pass) => return Stale::GoOn,
                Known::Renewed(renewed) if !due(&renewed) => return Stale::Take(renewed),
                Known::Renewing { forget_at } if now < forget_at => return Stale::GoOn,
                Known::Ended { .. } | Known::Renewed(_) | Known::Renewing { .. } => {}
            }
        }
        // The decision and this change happen while the entry is locked, so exactly one of two
        // parallel requests renews the pass.
        let is_new = matches!(entry, Entry::Vacant(_));
        drop(entry.insert(Known::Renewing { forget_at: pass.expires_at }));
        if is_new {
            self.make_room(pass.id, pass.expires_at, now);
        }
        Stale::Renew(Renewing { id: pass.id, sessions: Arc::clone(self) })
    }

    /// Returns the newest pass of a visitor that this node has seen, if the pass is valid and not
    /// due.
    pub(crate) fn renewed(
        &self,
        id: VisitorId,
        now: Timestamp,
        due: impl Fn(&Pass) -> bool,
    ) -> Option<Pass> {
        match *self.known.get(&id)? {
            Known::Renewed(pass) if now < pass.expires_at && !due(&pass) => Some(pass),
            Known::Ended { .. } | Known::Renewed(_) | Known::Renewing { .. } => None,
        }
    }

    /// Records the pass that this site has given to a visitor of another site, for the visitor's
    /// other requests.
    pub(crate) fn has_moved(&self, pass: Pass) {
        let newest = Known::Renewed(pass);
        self.note(pass.id, newest, self.clock.now(), |known| {
            // An end is final, so the pass is not recorded if its session has ended in the meantime.
            if !known.has_ended(&pass) {
                *known = newest;
            }
        });
    }

    /// Adds an entry, or changes the existing one.
    fn note(&self, id: VisitorId, new: Known, now: Timestamp, change: impl FnOnce(&mut Known)) {
        match self.known.entry(id) {
            Entry::Occupied(mut entry) => return change(entry.get_mut()),
            Entry::Vacant(entry) => drop(entry.insert(new)),
        }
        self.make_room(id, new.forget_at(), now);
    }

    /// Lists a new entry, and removes a few entries that no longer have an effect, or for which
    /// there is no room.
    fn make_room(&self, id: VisitorId, forget_at: Timestamp, now: Timestamp) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.insert((forget_at, id));
        for _ in 0..Self::SWEPT_AT_ONCE {
            let is_full = due.len() > Self::MAX;
            let Some(&(at, id)) = due.first().filter(|(at, _)| is_full || *at <= now) else {
                return;
            };
            due.remove(&(at, id));
            let is_over = |known: &Known| is_full || known.forget_at() <= now;
            match self.known.remove_if(&id, |_, known| is_over(known)) {
                Some((_, Known::Ended { forget_at, .. })) if forget_at > now => {
                    self.watermark.fetch_max(forget_at.as_nanos(), Ordering::Relaxed);
                }
                Some(_) => {}
                // A renewal has prolonged the entry.
                None => due.extend(self.known.get(&id).map(|known| (known.forget_at(), id))),
            }
        }
    }
}

/// The right to renew a session, held by one request at a time.
///
/// Dropping this value without an outcome releases the right, so that the next request may try
/// again.
#[derive(Debug)]
pub(crate) struct Renewing {
    id: VisitorId,
    sessions: Arc<Sessions>,
}

impl Renewing {
    /// Records the renewed pass for other requests of the visitor.
    pub(crate) fn renewed(self, pass: Pass) {
        // An end is final, so the pass is not recorded if the session has ended in the meantime.
        // The guard is dropped with this statement, before `self`, because dropping `self` locks
        // the same entry.
        if let Some(mut known) = self.sessions.known.get_mut(&self.id)
            && matches!(*known, Known::Renewing { .. })
        {
            *known = Known::Renewed(pass);
        }
    }

    /// Records that the store has ended the session, or that the session had lapsed.
    pub(crate) fn ended(self, pass: &Pass) {
        self.sessions.end(pass);
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        // After `renewed` or `ended`, the entry has another state and is not removed.
        self.sessions.known.remove_if(&self.id, |_, known| matches!(known, Known::Renewing { .. }));
    }
}

/// The visit to which a request belongs, found in the extensions of an admitted request.
///
/// With the `axum` feature, a handler takes the visit as an argument:
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::post};
/// use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, room::Visit};
///
/// async fn buy(visit: Option<Visit>) -> &'static str {
///     if let Some(visit) = visit {
///         visit.end();
///     }
///     "Thank you."
/// }
///
/// let config = WaitingRoomConfig::builder("shop").total_active_users(200).build()?;
/// let app: Router = Router::new().route("/buy", post(buy)).layer(WaitingRoomLayer::new(config));
/// # let _ = app;
/// # }
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
///
/// A request has no visit if it bypasses the room, or if it is forwarded without a pass, for
/// example while the room is suspended. A handler that takes a `Visit` rather than an `Option`
/// rejects such requests with status 403.
///
/// Behind any other server, the visit is in the extensions:
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
    /// Creates the handle for a request that was admitted with `pass` for `reason`.
    pub(crate) const fn new(pass: Pass, reason: Reason, sessions: Arc<Sessions>) -> Self {
        Self { pass, reason, sessions }
    }

    /// Returns whether this is a visit to the room that these sessions belong to.
    pub(crate) fn is_of(&self, sessions: &Arc<Sessions>) -> bool {
        Arc::ptr_eq(&self.sessions, sessions)
    }

    /// Ends the session, for example after a checkout. The slot is free by the time the client
    /// receives the response. The response also makes the client discard its token.
    ///
    /// The pass becomes invalid on this node at once. If `end` is called after the head of the
    /// response has been sent, or if the client has disconnected, the client keeps its token, and
    /// the slot is freed when this node next asks the store about visitors without a pass. Each such
    /// request frees up to eight slots.
    pub fn end(&self) {
        self.sessions.end_by_application(&self.pass);
        self.sessions.ends.owe(self.pass.id);
    }

    /// Returns the time at which the visitor was admitted.
    #[must_use]
    pub const fn accepted_at(&self) -> Timestamp {
        self.pass.accepted_at
    }

    /// Returns the time at which the pass expires, unless a later request renews it.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.pass.expires_at
    }

    /// Returns the reason why this request was admitted.
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

/// A hasher that uses the bits of an id unchanged. No client can choose colliding ids, because ids
/// are drawn at random and reach the map only from tokens that this service has sealed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Required by the trait, but not used for ids, which [`write_u128`](Hasher::write_u128)
    /// hashes.
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
mod tests;
