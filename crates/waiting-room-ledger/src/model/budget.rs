//! The slots that one node may use in one minute, fixed at its first decision in that minute.

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    model::{NodeRules, SlotPolicy},
    slots::{CounterRequest, Minute, Pool, Slots, WorldSnapshot},
};

/// The slots of one minute as computed by one node, and what the node has learnt from counters
/// since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) minute: Minute,
    /// Whether the slots were computed from a recent snapshot.
    knows_world: bool,
    site: Share,
    anywhere: Share,
    /// The number of visitors that the node has admitted from its own part, under a policy without
    /// counters.
    admitted: u32,
}

/// The state of one pool, as known to the node.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// With counters, the slots of the whole pool; otherwise, the part of this node.
    slots: u32,
    /// Whether the counter has replied that no slot is left. If so, it is not asked again.
    is_dry: bool,
}

impl Budget {
    /// Computes the budget of the minute of `now`.
    pub(super) fn new(
        rules: &NodeRules,
        site: SiteId,
        snapshot: Option<&WorldSnapshot>,
        now: Timestamp,
    ) -> Self {
        let minute = Minute::of(now);
        let (slots, knows_world) = Slots::known(&rules.slots, snapshot, minute, now);
        let own = slots.site(site);
        let anywhere = slots.anywhere();
        let (own, anywhere) = match (rules.policy, snapshot) {
            (SlotPolicy::Counters, _) => (own, anywhere),
            // Without any snapshot the number of nodes is unknown, so no part can be computed. A
            // stale snapshot is good enough for the number, which rarely changes.
            (_, None) => (0, 0),
            (policy, Some(snapshot)) => {
                let utilization = utilization(rules, snapshot);
                let nodes = snapshot.site_nodes(site).max(1);
                (
                    policy.per_node(own, nodes, utilization),
                    policy.per_node(anywhere, snapshot.nodes().max(nodes), utilization),
                )
            }
        };
        let site = Share::of(own);
        let anywhere = Share::of(anywhere);
        Self { minute, knows_world, site, anywhere, admitted: 0 }
    }

    /// Takes a slot from the node's own part; returns whether there was one.
    pub(super) fn take(&mut self, rules: &NodeRules, now: Timestamp) -> bool {
        let slots = self.site.slots + self.anywhere.slots;
        let has_slot = self.admitted < rules.pacing.open(slots, self.minute, now);
        self.admitted += u32::from(has_slot);
        has_slot
    }

    /// Finds the first of these pools that may have a slot, and returns the request to its counter.
    pub(super) fn request(
        &self,
        pools: &[Pool],
        rules: &NodeRules,
        now: Timestamp,
    ) -> Option<CounterRequest> {
        pools.iter().find_map(|&pool| {
            let share = self.share(pool);
            let open = rules.pacing.open(share.slots, self.minute, now);
            let is_worth_it = !share.is_dry && open > 0;
            is_worth_it.then_some(CounterRequest {
                pool,
                minute: self.minute,
                slots: share.slots,
                knows_world: self.knows_world,
                open,
            })
        })
    }

    /// Records that the counter of this pool has no slot left in this minute.
    pub(super) fn has_run_dry(&mut self, pool: Pool) {
        match pool {
            Pool::Anywhere => self.anywhere.is_dry = true,
            Pool::Site => self.site.is_dry = true,
        }
    }

    const fn share(&self, pool: Pool) -> Share {
        match pool {
            Pool::Anywhere => self.anywhere,
            Pool::Site => self.site,
        }
    }
}

impl Share {
    const fn of(slots: u32) -> Self {
        Self { slots, is_dry: false }
    }
}

/// The share of the limit on active visitors that is in use; above 1 after the limit was lowered.
fn utilization(rules: &NodeRules, snapshot: &WorldSnapshot) -> f64 {
    f64::from(snapshot.active()) / f64::from(rules.slots.total_active_users)
}
