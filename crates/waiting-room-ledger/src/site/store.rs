//! The store of a node: the verbs of its room, with slots that the global ledger has granted.

use std::{
    fmt,
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use redis::{RedisResult, aio::ConnectionLike};
use tokio::{
    task::AbortHandle,
    time::{Instant, timeout_at},
};
use waiting_room_core::{
    ConfigError, Pass, Reason, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        PassHome, Renewal, RoomNode, RoomSnapshot, WaitEstimate,
        event::{RoomPlan, Schedule},
    },
};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::{
    Dial, SiteId,
    escrow::EscrowRules,
    site::{
        agent::Agent,
        options::{SiteOptions, check_session, checked},
        state::SiteState,
    },
};

/// A [`Store`] of one site, whose room shares a limit on active visitors with the rooms of other
/// sites. If the [options](SiteOptions::new_users_per_minute) contain a limit on new visitors, the
/// rooms share that limit, too.
///
/// The room is on a Redis or Valkey server of the site, and any number of nodes share it. Its
/// scripts admit visitors to the slots that the global ledger has granted to the site, without a
/// call to the ledger. One of the nodes exchanges messages with the ledger in the background. If
/// the site has no slot for a new visitor, or for one at the front of the line, that visitor waits
/// for a slot from elsewhere, at most for the [bounded wait](EscrowRules::borrow_wait) of the
/// rules, before it is queued.
///
/// This is [`Policy::Escrow`](crate::Policy::Escrow), the default. Under
/// [`Policy::Counters`](crate::Policy::Counters), the site counts new visitors by the minute
/// instead, without a promise about the limit. A new visitor then waits for a slot of the counter
/// that all sites share, unless the counter has none left in this minute.
///
/// With the default, the sum of the active visitors of all sites does not exceed the limit of the
/// ledger, whatever the network does, under the [conditions](crate#the-promise) of the crate. The
/// limit on active visitors in the rules of the room is not enforced, but it should equal the limit
/// of the ledger: the intervals of waiting visitors, and the number who wait for slots from
/// elsewhere, depend on it. The limit on new visitors in these rules applies to this site alone,
/// unless the sites share such a limit; under `Policy::Counters`, it applies to the world. A room
/// with [`Passthrough`](waiting_room_core::room::QueueingMethod::Passthrough) limits no visitor.
///
/// A visitor who arrives with a pass from another site gets a slot of this site, ahead of the line,
/// and is a new visitor of this site. Its slot at the other site lapses by itself. For that, all
/// sites need the same keys for the tokens of visitors, and different numbers; the sites' clocks
/// must not differ by more than a few minutes. A waiting visitor keeps its order of arrival.
///
/// While the server of the room does not answer, the layer's failure policy applies:
/// [`Wait`](https://docs.rs/tower-waiting-room) is the policy that keeps the limit.
///
/// # Cancel safety
///
/// The methods are as cancel safe as those of [`RedisStore`]. A visitor whose future is dropped stops
/// waiting.
#[derive(Clone)]
pub struct SiteStore {
    room: RedisStore,
    state: Arc<SiteState>,
    site: SiteId,
    rules: EscrowRules,
    /// The agent ends with the last handle.
    _agent: Arc<AgentTask>,
}

/// The task of the agent, which ends when this is dropped.
struct AgentTask(AbortHandle);

impl Drop for AgentTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl SiteStore {
    /// Joins the room of a site, or opens it, in the same way as [`RedisStore::connect`], and begins
    /// to talk to the global ledger.
    ///
    /// The name of the room is also its name in the global ledger. All nodes of the site have to use
    /// this store with the same options.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`RedisStore::connect`], and an error if the rules of the ledgers
    /// are invalid, if there is no address of a ledger, or if a pass of the room would last for longer
    /// than the ledgers keep its slot.
    ///
    /// An unreachable ledger is not an error: the site admits no new visitor until it has
    /// connected.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the room may have been opened, and no agent runs.
    pub async fn connect<C, F, D>(
        open: impl Fn() -> F + Send + Sync + 'static,
        rules: RoomRules,
        options: RedisStoreOptions,
        site: SiteOptions<D>,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
        D: Dial,
    {
        let site = site.validate()?;
        let rules = checked(&site.rules, rules)?;
        let room = RedisStore::connect(open, rules, options.of_site()).await?;
        Self::start(room, site)
    }

    /// Joins the room of a site over an existing connection, in the same way as
    /// [`RedisStore::with_connection`], and begins to talk to the global ledger.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`connect`](Self::connect).
    pub async fn with_connection<C, D>(
        connection: C,
        rules: RoomRules,
        options: RedisStoreOptions,
        site: SiteOptions<D>,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        D: Dial,
    {
        let site = site.validate()?;
        let rules = checked(&site.rules, rules)?;
        let room = RedisStore::with_connection(connection, rules, options.of_site()).await?;
        Self::start(room, site)
    }

    /// Starts the agent. The events with which the room was opened must not have longer passes
    /// either.
    fn start<D: Dial>(room: RedisStore, site: SiteOptions<D>) -> Result<Self, StoreError> {
        check_session(&site.rules, longest_pass(&room))?;
        let unavailable = |error| StoreError::new(StoreErrorKind::Unavailable).with_source(error);
        let random = || getrandom::u64().map_err(unavailable);
        let name = room.rules().name.clone();
        site.check_rooms(&name)?;
        if let Some(warning) = site.rules_warning() {
            let site = site.site.number();
            tracing::warn!(room = name, site, warning, "the rules of the room are questionable");
        }
        let minute = site.minute.as_ref().map(|(_, rules)| rules);
        let bits = [random()?, random()?];
        let state = SiteState::new(&site.rules, minute, Arc::clone(&site.clock), bits);
        let state = Arc::new(state);
        let number = site.site;
        let rules = site.rules;
        let agent = Agent::new(Arc::clone(&state), room.clone(), &name, site);
        let agent = AgentTask(tokio::spawn(agent.run()).abort_handle());
        Ok(Self { room, state, site: number, rules, _agent: Arc::new(agent) })
    }

    /// Tells the room if its lease is over by the clock of this machine.
    ///
    /// If the room does not answer, the verb that follows gets no answer either.
    async fn judge(&self) {
        if !self.state.is_lease_over() {
            return;
        }
        let report = self.state.report();
        match self.room.report_of_site(&report).await {
            Ok(report) => self.state.update(&report),
            Err(_) => self.state.not_reported(&report),
        }
    }

    /// Holds a visitor for whom the site has no slot, and asks the room again whenever there may be
    /// a slot.
    async fn borrow<F>(
        &self,
        queued: Verdict,
        ask: impl Fn() -> F + Send,
    ) -> Result<Verdict, StoreError>
    where
        F: Future<Output = Result<Verdict, StoreError>> + Send,
    {
        let ticket = match &queued {
            Verdict::Wait { ticket, .. } => Some(ticket),
            Verdict::Admit { .. } | Verdict::Refuse { .. } => None,
        };
        let is_in_line = ticket.is_some_and(|ticket| ticket.placed);
        // The visitors ahead take the first slots.
        let ahead =
            ticket.and_then(|ticket| ticket.shown_position).unwrap_or(0).saturating_sub(FRONT);
        let Some(mut at_door) = self.state.wait(is_in_line, ahead) else { return Ok(queued) };
        let [.., (_, borrow_wait)] = self.rules.times();
        let until = Instant::now() + borrow_wait;
        let mut verdict = queued;
        let is_hopeful = || !self.state.is_dry(self.room.now());
        while self.lacks_slot(&verdict)
            && is_hopeful()
            && timeout_at(until, at_door.chance()).await.is_ok()
        {
            verdict = ask().await?;
        }
        Ok(verdict)
    }

    /// Returns whether the visitor might have been admitted if the site had been granted more
    /// slots.
    fn lacks_slot(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Wait { reason, ticket } => {
                let waits_for_slot = *reason == Reason::QueuedActiveLimit
                    || *reason == Reason::QueuedBehindOthers
                    || *reason == Reason::QueuedRate && self.state.shares_minute();
                waits_for_slot && self.is_at_front(ticket)
            }
            Verdict::Refuse { reason, .. } => *reason == Reason::RefusedReject,
            Verdict::Admit { .. } => false,
        }
    }

    /// Returns whether a slot from elsewhere may go to this visitor within the time for which a
    /// visitor waits at the door. If the sessions of a crowd end at once, such visitors make up a
    /// long part of the line.
    fn is_at_front(&self, ticket: &Ticket) -> bool {
        let [.., (_, borrow_wait)] = self.rules.times();
        let is_soon = |wait: WaitEstimate| wait.p25 <= borrow_wait;
        ticket.shown_position.is_none_or(|position| position <= front(&self.rules(), borrow_wait))
            || ticket.wait.is_some_and(is_soon)
    }
}

/// The number of visitors at the front of the line who may all get slots within this time. The line
/// of this site may be the oldest, and then gets the slots of all sites.
fn front(rules: &RoomRules, within: Duration) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let by_rate = (rules.timing().configured_rate() * within.as_secs_f64()) as u32;
    by_rate.max(FRONT)
}

/// The minimum number of visitors at the front of the line that wait at the door for a slot from
/// elsewhere.
const FRONT: u32 = 16;

/// The longest lifetime of a room's passes, under its own rules and those of its events.
fn longest_pass(room: &RedisStore) -> Duration {
    let own = room.rules().timing().longest_pass_lifetime();
    room.plan().map_or(own, |plan| own.max(plan.longest_pass_lifetime()))
}

impl Store for SiteStore {
    fn now(&self) -> Timestamp {
        self.room.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.room.remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.room.rules()
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.room.plan()
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        self.room.given_rules()
    }

    fn may_evict(&self) -> bool {
        self.room.may_evict()
    }

    fn present(&self) -> Option<u32> {
        self.room.present()
    }

    fn nodes(&self) -> Option<Vec<RoomNode>> {
        self.room.nodes()
    }

    fn home(&self) -> Option<PassHome> {
        let (term, count) = self.state.epoch();
        Some(PassHome::new(self.site.number(), term, count))
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.state.arrived();
        self.judge().await;
        let verdict = self.room.enter(id).await?;
        if !self.lacks_slot(&verdict) {
            return Ok(verdict);
        }
        self.borrow(verdict, || self.room.enter(id)).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        if ticket.resumes {
            // The visitor is not in line here: it comes from another site, or returns after a
            // session.
            self.state.arrived();
        }
        self.judge().await;
        let verdict = self.room.check_in(ticket).await?;
        if !self.lacks_slot(&verdict) {
            return Ok(verdict);
        }
        self.borrow(verdict, || self.room.check_in(ticket)).await
    }

    async fn stay(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.judge().await;
        self.room.stay(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.judge().await;
        self.room.renew(pass).await
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.room.leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.room.sweep().await
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.room.snapshot().await
    }

    /// Changes the rules of this site's room. The other sites have rooms of their own.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`RedisStore`], and an error if a pass would last for longer than
    /// the ledgers keep its slot.
    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        let refused = Arc::new(OnceLock::<ConfigError>::new());
        let rules = self.rules;
        let seen = Arc::clone(&refused);
        let change = move |old: RoomRules| {
            match checked(&rules, change(old.clone())) {
                Ok(new) => new,
                Err(error) => {
                    // The first error is as good as any other.
                    let _ = seen.set(error);
                    old
                }
            }
        };
        self.room.configure(change).await?;
        refused.get().map_or(Ok(()), |error| Err(error.clone().into()))
    }

    async fn schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        let plan = RoomPlan::new(RoomRules::clone(&self.rules()), schedule);
        check_session(&self.rules, plan.longest_pass_lifetime())?;
        self.room.schedule(plan.schedule).await
    }
}

impl fmt::Debug for SiteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteStore")
            .field("room", &self.room)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_out_of_bounds_are_refused_before_their_passes_are_timed() {
        let rules = RoomRules::new("shop", 1).session_duration(Duration::MAX);
        let expected = rules.clone().validate().unwrap_err();
        assert_eq!(checked(&EscrowRules::new(), rules).unwrap_err(), expected);
    }

    #[test]
    fn the_length_of_the_front_follows_the_speed_of_the_world() {
        let front = |slots| front(&RoomRules::new("shop", slots), Duration::from_millis(1_200));
        // A pass lasts for 337.5 s.
        assert_eq!([100, 200_000].map(front), [FRONT, 711]);
    }
}
