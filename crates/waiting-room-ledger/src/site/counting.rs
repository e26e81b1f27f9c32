//! The world as the agent of a site knows it under [`Policy::Counters`](crate::Policy::Counters):
//! the newest snapshot of the world, and the slots of each minute that follow from the snapshot.
//! Time is an argument, and nothing waits here.

use waiting_room_core::{RoomRules, Timestamp};
use waiting_room_redis::site::{Counted, GlobalNews, MinutePlan, SiteReport};

use crate::{
    SiteId,
    escrow::{Draw, Incarnation, RulesDigest, Tally, Term, ToGlobal, World},
    slots::{Minute, SlotRules, Slots, WorldSnapshot},
};

/// Splits the slots of a minute by the newest snapshot, with the rules that the simulation uses.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    site: SiteId,
    digest: RulesDigest,
    world: Option<(World, WorldSnapshot)>,
    /// The minute and the version of the snapshot for which the room has a plan.
    planned: Option<(Minute, u64)>,
}

impl Counting {
    pub(super) const fn new(site: SiteId, digest: RulesDigest) -> Self {
        Self { site, digest, world: None, planned: None }
    }

    /// Learns a snapshot. Returns `false` if a newer snapshot is known.
    pub(super) fn receive(&mut self, world: &World) -> bool {
        let is_newer = self.version() < world.version;
        if is_newer {
            self.world = Some((world.clone(), world.snapshot()));
        }
        is_newer
    }

    /// The term and the plan for a room that has reported; `None` if the room has this plan
    /// already. The plan has to be [sent](Self::was_planned) before it counts as known.
    ///
    /// The limit on new visitors is taken from the rules of the room, and holds for the world. The
    /// limit on active visitors is the ledger's limit or, until that limit is known, the limit in
    /// the rules.
    pub(super) fn plan(&self, report: &SiteReport, room: &RoomRules) -> Option<(u32, GlobalNews)> {
        let minute = Minute::of(report.at);
        if report.counted.is_some() && self.planned == Some((minute, self.version())) {
            return None;
        }
        let (limit, taken) =
            self.world().map_or((room.total_active_users, 0), |world| (world.limit, world.active));
        let free = limit.saturating_sub(taken);
        let active = report.counted.map_or(0, |counted| counted.active);
        let rules = SlotRules::new(limit);
        let rules = rules.new_users_per_minute(room.new_users_per_minute);
        let plan = |minute: Minute| self.slots_of(minute, &rules, report.at.max(minute.start()));
        let minutes = [plan(minute), plan(minute.next())];
        let term = self
            .world()
            .map_or(report.slots.term, |world| world.term.number().max(report.slots.term));
        Some((term, GlobalNews::Plan { ceiling: free.saturating_add(active), minutes }))
    }

    /// Records that the room has the plan for the time of this report.
    pub(super) fn was_planned(&mut self, report: &SiteReport) {
        self.planned = Some((Minute::of(report.at), self.version()));
    }

    /// The message of a site whose room has reported.
    pub(super) fn tally(&self, report: &SiteReport, counted: &Counted) -> ToGlobal {
        let minute = Minute::new(counted.minute);
        let slots = counted.anywhere;
        let knows_world = counted.knows_world;
        ToGlobal::Tally(Tally {
            site: self.site,
            incarnation: Incarnation::new(report.slots.incarnation),
            term: Term::new(report.slots.term),
            sent_at: report.at,
            rules: self.digest,
            knows: self.version(),
            active: counted.active,
            minute: minute.previous(),
            admitted: counted.admitted_before,
            draw: Draw { minute, total: counted.wanted, slots, knows_world },
        })
    }

    /// The slots of a minute, as far as the site knows at `now`.
    fn slots_of(&self, minute: Minute, rules: &SlotRules, now: Timestamp) -> MinutePlan {
        let snapshot = self.world.as_ref().map(|(_, snapshot)| snapshot);
        let (slots, knows_world) = Slots::known(rules, snapshot, minute, now);
        MinutePlan {
            minute: minute.number(),
            slots: slots.site(self.site),
            anywhere: slots.anywhere(),
            knows_world,
        }
    }

    fn version(&self) -> u64 {
        self.world().map_or(0, |world| world.version)
    }

    fn world(&self) -> Option<&World> {
        self.world.as_ref().map(|(world, _)| world)
    }
}
