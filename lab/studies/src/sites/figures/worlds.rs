//! The worlds of the figures.

use std::path::Path;

use crate::sites::{
    report::Report,
    scenario::{FaultKind, Policy, Scenario},
    world::World,
};

/// The extent of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The size in the documentation.
    Full,
    /// Only what the bars need.
    Quick,
}

/// A policy, and its name in tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    policy: Policy,
    curve_factor: f64,
}

impl Contender {
    /// All policies under comparison: those of the article in its order, and then ours.
    pub(super) const ALL: [Self; 7] = [
        Self::EVEN,
        Self::CURVE,
        Self { name: "Curve, factor 0.25", policy: Policy::Curve, curve_factor: 0.25 },
        Self::COUNTERS,
        Self::ESCROW,
        Self::IDEAL,
        Self::IDEAL_HOLDS,
    ];
    pub(super) const COUNTERS: Self = Self::new("Counters", Policy::Counters);
    pub(super) const CURVE: Self = Self::new("Curve, factor 1", Policy::Curve);
    pub(super) const ESCROW: Self = Self::new("Escrow", Policy::Escrow);
    pub(super) const EVEN: Self = Self::new("Even", Policy::Even);
    pub(super) const IDEAL: Self = Self::new("ideal ledger, at once", Policy::Ideal);
    /// The reference: it holds visitors at the door for as long as the escrow.
    pub(super) const IDEAL_HOLDS: Self = Self::new("ideal ledger", Policy::IdealHolds);

    const fn new(name: &'static str, policy: Policy) -> Self {
        Self { name, policy, curve_factor: 1.0 }
    }

    /// The bound on active visitors as a multiple of the limit. `unseen` is the number of visitors
    /// that snapshots may lack, as a multiple of the limit.
    pub(super) fn bound(&self, unseen: f64) -> f64 {
        match self.policy {
            Policy::Counters | Policy::Even => 1.0 + unseen,
            Policy::Curve => f64::NAN,
            Policy::Escrow | Policy::Ideal | Policy::IdealHolds => 1.0,
        }
    }

    /// Runs a world under this policy.
    pub(super) fn run(&self, world: &Scenario, seed: u64) -> Report {
        let mut world = world.clone();
        world.slots.curve_factor = self.curve_factor;
        let world =
            World::new(&world, self.policy, seed).expect("the worlds are checked by a test");
        world.run(seed, |_| ())
    }
}

/// A crowd that grows from zero to a third more than can be served, with this skew over the nodes
/// of a site.
pub(super) fn ramp(node_skew: f64) -> Scenario {
    let mut world = world("ramp", include_str!("../../../scenarios/ramp.toml"));
    world.sites.node_skew = node_skew;
    world
}

/// A crowd that jumps from a tenth of the limit to one and a half times the visitors that may be
/// admitted.
pub(super) fn spike() -> Scenario {
    world("spike", include_str!("../../../scenarios/spike.toml"))
}

/// The spike with this number of visitors per minute, five seconds before the turn of a minute.
pub(super) fn spike_before_a_turn(per_minute: f64) -> Scenario {
    let mut world = spike();
    let [_, quiet, begin, end] = &mut world.traffic.points[..] else {
        unreachable!("the spike has four points");
    };
    quiet.0 -= 5.0;
    begin.0 -= 5.0;
    begin.1 = per_minute;
    end.1 = per_minute;
    world
}

/// Nine tenths of the traffic move to the smallest site.
pub(super) fn movement() -> Scenario {
    world("move", include_str!("../../../scenarios/move.toml"))
}

/// The largest site fails.
pub(super) fn dead_site() -> Scenario {
    world("dead-site", include_str!("../../../scenarios/dead-site.toml"))
}

/// The largest site is cut off instead, until the room begins to be full.
pub(super) fn cut_site() -> Scenario {
    let mut world = dead_site();
    for fault in &mut world.faults {
        fault.what = FaultKind::Cut;
        fault.until = fault.from + 15.0 * 60.0;
    }
    world
}

/// Two days with limits of 200 active users and 200 new users per minute.
pub(super) fn two_days() -> Scenario {
    world("two-days", include_str!("../../../scenarios/two-days.toml"))
}

/// The world with snapshots that are this number of seconds old.
pub(super) fn with_delay(mut world: Scenario, delay: f64) -> Scenario {
    world.network.news_delay = delay;
    world
}

/// The world with this maximum round-trip time between the sites and the global ledger, in
/// milliseconds. The minimum is a seventh less.
pub(super) fn with_round_trip(mut world: Scenario, most: u32) -> Scenario {
    world.network.wan_rtt_ms = [6 * most / 7, most];
    world
}

/// Twenty thousand slots, and this number of sites with this load, as a multiple of what can be
/// served.
pub(super) fn of_sites(count: u16, load: f64) -> Scenario {
    let mut world = ramp(0.0);
    world.limits.total_active_users = 20_000;
    world.limits.new_users_per_minute = 20_000;
    world.sites.nodes = vec![1; count.into()];
    world.sites.weights = vec![1.0; count.into()];
    let per_minute = load * world.capacity_per_minute();
    world.traffic.points = vec![(0.0, per_minute), (60.0 * 16.0, per_minute)];
    world
}

/// The world in a scenario file of this crate.
pub(super) fn world(name: &str, file: &str) -> Scenario {
    let world = Scenario::parse(name.to_owned(), file, Path::new(""));
    world.expect("the worlds are checked by a test")
}
