//! One node at the door: who of the new visitors comes in.

use std::sync::Arc;

use waiting_room_core::{ConfigError, Timestamp};

use crate::{
    CounterReply, CounterRequest, Minute, Pool, SiteId, SlotPolicy, SlotRules, WorldSnapshot,
    budget::Budget,
};

/// Decides about the new visitors of one node.
///
/// A state machine without I/O. Where a policy needs a counter, [`arrive`](Self::arrive) says
/// which, and the reply is brought back by [`hear`](Self::hear), any time later and in any order.
///
/// Slots are fixed when the first visitor of a minute comes; a snapshot that is heard of later
/// counts from the next minute on.
///
/// ```
/// use std::sync::Arc;
/// use waiting_room_core::Timestamp;
/// use waiting_room_sites::{
///     SlotDecision, SiteId, SlotPolicy, SlotRules, TicketCounter, SiteAdmission, WorldSnapshot,
/// };
///
/// let now = Timestamp::from_secs(1_000);
/// let mut usher = SiteAdmission::new(SlotRules::new(1, SlotPolicy::Counters), SiteId::new(1))?;
/// usher.observe(Arc::new(WorldSnapshot::new(1, now)));
///
/// // Nobody has a history, so the one slot is Anywhere's.
/// let mut anywhere = TicketCounter::new();
/// let SlotDecision::Ask(ask) = usher.arrive(now) else { panic!("there is a slot") };
/// assert_eq!(usher.hear(&ask, anywhere.take(&ask, now), now), SlotDecision::Admit);
/// let SlotDecision::Ask(ask) = usher.arrive(now) else { panic!("the node does not know yet") };
/// assert_eq!(usher.hear(&ask, anywhere.take(&ask, now), now), SlotDecision::Queue);
/// // Now it does, and need not ask again in this minute.
/// assert_eq!(usher.arrive(now), SlotDecision::Queue);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SiteAdmission {
    rules: SlotRules,
    site: SiteId,
    snapshot: Option<Arc<WorldSnapshot>>,
    budget: Option<Budget>,
}

/// What becomes of a new visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "in, not in, or not known yet")]
pub enum SlotDecision {
    /// In.
    Admit,
    /// Not known before this counter has replied.
    Ask(CounterRequest),
    /// Into the waiting room.
    Queue,
}

impl SiteAdmission {
    /// A node of this site that knows nothing of the world yet.
    ///
    /// # Errors
    ///
    /// The first rule that makes no sense.
    pub fn new(rules: SlotRules, site: SiteId) -> Result<Self, ConfigError> {
        Ok(Self { rules: rules.validate()?, site, snapshot: None, budget: None })
    }

    /// The world, as the site has heard of it. An older version than the one known changes nothing.
    pub fn observe(&mut self, snapshot: Arc<WorldSnapshot>) {
        let is_newer =
            self.snapshot.as_ref().is_none_or(|known| known.version() < snapshot.version());
        if is_newer {
            self.snapshot = Some(snapshot);
        }
    }

    /// A new visitor comes, or one who waits and whose turn it is.
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

    /// What a counter replied to a question of this node.
    ///
    /// A ticket is good even if the minute is over by now: it was drawn in time, and counted. Who
    /// got none while the minute turned begins again with the new one.
    pub fn hear(
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

    /// The counter did not reply, or not in time: the next one may. Nobody is let in without a
    /// slot that was counted.
    pub fn miss(&mut self, asked: &CounterRequest, now: Timestamp) -> SlotDecision {
        self.next_after(asked, now)
    }

    /// Where to go on after a pool that had no slot.
    fn next_after(&mut self, asked: &CounterRequest, now: Timestamp) -> SlotDecision {
        match asked.pool {
            Pool::Anywhere => SlotDecision::Queue,
            Pool::Site => self.draw(&[Pool::Anywhere], now),
        }
    }

    /// Asks the first of these pools that may have a slot.
    fn draw(&mut self, pools: &[Pool], now: Timestamp) -> SlotDecision {
        let rules = self.rules;
        self.budget(now).ask(pools, &rules, now).map_or(SlotDecision::Queue, SlotDecision::Ask)
    }

    /// The budget of this minute. A clock that is set back a little changes nothing; a budget of a
    /// minute after the next one is of a clock that was wrong, and would shut the door until then.
    fn budget(&mut self, now: Timestamp) -> &mut Budget {
        let (rules, site, snapshot) = (&self.rules, self.site, self.snapshot.as_deref());
        let minute = Minute::of(now);
        let minutes = minute..=minute.next();
        let current = self.budget.take().filter(|budget| minutes.contains(&budget.minute));
        let current = current.unwrap_or_else(|| Budget::new(rules, site, snapshot, now));
        self.budget.insert(current)
    }
}
