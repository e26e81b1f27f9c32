//! The decisions of one node about new visitors.

use std::sync::Arc;

use waiting_room_core::{ConfigError, Timestamp};

use crate::{
    SiteId,
    model::{NodeRules, SlotPolicy, budget::Budget},
    slots::{CounterReply, CounterRequest, Minute, Pool, WorldSnapshot},
};

/// Decides about the new visitors of one node.
///
/// It is a state machine without I/O. If a policy needs a counter, [`arrive`](Self::arrive) returns
/// the request for it, and the caller passes the reply to [`on_reply`](Self::on_reply), at any later time
/// and in any order.
///
/// The slots of a minute are fixed when its first visitor arrives. A snapshot that is received
/// later takes effect in the next minute.
///
/// ```
/// use std::sync::Arc;
/// use waiting_room_core::Timestamp;
/// use waiting_room_ledger::{
///     SiteId,
///     model::{
///         NodeRules, SiteAdmission, SlotDecision, SlotPolicy, SlotRules, TicketCounter, WorldSnapshot,
///     },
/// };
///
/// let now = Timestamp::from_secs(1_000);
/// let rules = NodeRules::new(SlotRules::new(1), SlotPolicy::Counters);
/// let mut admission = SiteAdmission::new(rules, SiteId::new(1))?;
/// admission.observe(Arc::new(WorldSnapshot::new(1, now)));
///
/// // No site has a history, so the one slot is Anywhere's.
/// let mut anywhere = TicketCounter::new();
/// let SlotDecision::Request(request) = admission.arrive(now) else { panic!("there is a slot") };
/// assert_eq!(admission.on_reply(&request, anywhere.take(&request, now), now), SlotDecision::Admit);
/// let SlotDecision::Request(request) = admission.arrive(now) else { panic!("the node does not know yet") };
/// assert_eq!(admission.on_reply(&request, anywhere.take(&request, now), now), SlotDecision::Queue);
/// // Now the node knows that the pool is used up, and does not ask again in this minute.
/// assert_eq!(admission.arrive(now), SlotDecision::Queue);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SiteAdmission {
    rules: NodeRules,
    site: SiteId,
    snapshot: Option<Arc<WorldSnapshot>>,
    /// The slots of the current minute; `None` before its first decision.
    budget: Option<Budget>,
}

/// The decision about a new visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "admitted, queued, or not decided yet")]
pub enum SlotDecision {
    /// The visitor is admitted.
    Admit,
    /// The visitor has to wait in the room.
    Queue,
    /// The decision depends on the reply of a counter to this request.
    Request(CounterRequest),
}

impl SiteAdmission {
    /// Creates a node of this site that has no snapshot yet.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid.
    pub fn new(rules: NodeRules, site: SiteId) -> Result<Self, ConfigError> {
        Ok(Self { rules: rules.validate()?, site, snapshot: None, budget: None })
    }

    /// Passes a snapshot to the node. A version that is not newer than the known one is ignored.
    pub fn observe(&mut self, snapshot: Arc<WorldSnapshot>) {
        let is_newer =
            self.snapshot.as_ref().is_none_or(|known| known.version() < snapshot.version());
        if is_newer {
            self.snapshot = Some(snapshot);
        }
    }

    /// Decides about a new visitor, or about a waiting visitor whose turn it is.
    pub fn arrive(&mut self, now: Timestamp) -> SlotDecision {
        let rules = self.rules;
        match rules.policy {
            SlotPolicy::Counters => self.draw(&[Pool::Site, Pool::Anywhere], now),
            SlotPolicy::Curve { .. } | SlotPolicy::Even if self.budget(now).take(&rules, now) => {
                SlotDecision::Admit
            }
            SlotPolicy::Curve { .. } | SlotPolicy::Even => SlotDecision::Queue,
        }
    }

    /// Decides by the reply of a counter to a request of this node.
    ///
    /// A ticket is valid even if its minute has ended since: it was drawn in time, and counted. A
    /// visitor that had no ticket when its minute ended starts again in the new minute.
    pub fn on_reply(
        &mut self,
        asked: &CounterRequest,
        reply: CounterReply,
        now: Timestamp,
    ) -> SlotDecision {
        if reply.admits(asked) {
            return SlotDecision::Admit;
        }
        if asked.minute != self.budget(now).minute {
            return self.arrive(now);
        }
        if reply.is_dry() {
            self.budget(now).has_run_dry(asked.pool);
        }
        self.next_after(asked, now)
    }

    /// Decides after a counter has not replied in time, by asking the next counter if there is one.
    /// No visitor is admitted without a slot that was counted.
    pub fn on_timeout(&mut self, asked: &CounterRequest, now: Timestamp) -> SlotDecision {
        self.next_after(asked, now)
    }

    /// The decision after a pool had no slot.
    fn next_after(&mut self, asked: &CounterRequest, now: Timestamp) -> SlotDecision {
        match asked.pool {
            Pool::Anywhere => SlotDecision::Queue,
            Pool::Site => self.draw(&[Pool::Anywhere], now),
        }
    }

    /// Returns the request to the first of these pools that may have a slot.
    fn draw(&mut self, pools: &[Pool], now: Timestamp) -> SlotDecision {
        let rules = self.rules;
        self.budget(now)
            .request(pools, &rules, now)
            .map_or(SlotDecision::Queue, SlotDecision::Request)
    }

    /// The budget of this minute.
    ///
    /// A budget of the next minute is kept, so that a clock that is set back a little has no
    /// effect. A budget of a later minute is discarded: it was made while the clock was wrong, and
    /// would stay in force until that minute.
    fn budget(&mut self, now: Timestamp) -> &mut Budget {
        let rules = &self.rules;
        let site = self.site;
        let snapshot = self.snapshot.as_deref();
        let minute = Minute::of(now);
        let minutes = minute..=minute.next();
        let current = self.budget.take().filter(|budget| minutes.contains(&budget.minute));
        let current = current.unwrap_or_else(|| Budget::new(rules, site, snapshot, now));
        self.budget.insert(current)
    }
}
