//! The worlds of the figures.

use crate::sites::{
    report::Report,
    scenario::{Policy, Scenario},
    world::World,
};

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
        world.curve_factor = self.curve_factor;
        World::new(&world, self.policy, seed).expect("the limits can be kept").run()
    }
}

/// Two thousand slots at eight sites of different sizes.
fn eight_sites(new_users_per_minute: u32) -> Scenario {
    Scenario::new(2_000, new_users_per_minute, [12, 8, 6, 4, 3, 3, 2, 2])
}

/// A crowd that grows from zero to a third more than can be served.
const RAMP: &[(f64, f64)] = &[(0.0, 0.0), (45.0, 1.3), (60.0, 1.3)];

/// This crowd at eight sites, with this skew over the nodes of a site.
pub(super) fn ramp(node_skew: f64) -> Scenario {
    let mut world = eight_sites(2_000).load(RAMP);
    world.sites.node_skew = node_skew;
    world
}

/// A quiet room, and then a sudden crowd: one and a half times the visitors that may be admitted in a
/// minute.
pub(super) fn spike() -> Scenario {
    spike_at(20.0, 3_000.0)
}

/// The spike with this number of visitors per minute, five seconds before the turn of a minute.
pub(super) fn spike_before_a_turn(per_minute: f64) -> Scenario {
    spike_at(20.0 - 5.0 / 60.0, per_minute)
}

fn spike_at(minute: f64, crowd: f64) -> Scenario {
    let points = [(0.0, 28.6), (minute, 28.6), (minute, crowd), (30.0, crowd)];
    eight_sites(2_000).per_minute(points)
}

/// Before the fault the room is nearly full; later there are more visitors than it can serve.
fn filling() -> Scenario {
    eight_sites(2_000).load(&[(0.0, 0.8), (30.0, 0.8), (50.0, 1.2), (60.0, 1.2)])
}

/// The largest site fails suddenly, and its visitors go to the others.
pub(super) fn dead_site() -> Scenario {
    filling().dead(0, 20.0)
}

/// The largest site is cut off instead, until the room begins to be full.
pub(super) fn cut_site() -> Scenario {
    filling().cut(0, 20.0, 35.0)
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
    Scenario::new(20_000, 20_000, vec![1; count.into()]).load(&[(0.0, load), (16.0, load)])
}
