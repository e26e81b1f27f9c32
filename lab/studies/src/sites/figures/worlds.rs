//! The worlds of the figures.

use crate::sites::{
    report::Report,
    scenario::{Policy, Scenario},
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

/// Traffic of three fifths of what can be served. At minute 20, nine tenths of it move to the smallest
/// site at once.
pub(super) fn movement() -> Scenario {
    eight_sites(2_000).load(&[(0.0, 0.6), (40.0, 0.6)]).moves_to(7, 0.9, 20.0)
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

/// Two days like those of the article: 200 active users and 200 new ones per minute, quiet nights, and
/// on the second day one crowd before noon and another in the afternoon.
pub(super) fn two_days() -> Scenario {
    let mut world = Scenario::new(200, 200, [3, 6, 1]);
    world.visitors.patience = Some(1_200.0);
    world.load(&[
        (0.0, 0.20),
        (300.0, 0.10),
        (480.0, 0.35),
        (720.0, 0.70),
        (840.0, 0.60),
        (1080.0, 0.65),
        (1320.0, 0.35),
        (1740.0, 0.10),
        (1920.0, 0.40),
        (2100.0, 0.70),
        (2136.0, 0.75),
        // A quarter to twelve on the second day.
        (2142.0, 1.25),
        (2162.0, 1.25),
        (2170.0, 0.65),
        (2290.0, 0.65),
        (2331.0, 0.75),
        // Three in the afternoon.
        (2337.0, 1.25),
        (2357.0, 1.25),
        (2365.0, 0.70),
        (2520.0, 0.60),
        (2760.0, 0.35),
        (2880.0, 0.20),
    ])
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

/// Sessions that are much shorter than a minute: a visitor leaves after a few seconds. At the end, half
/// of the slots would be in use. A policy that divides the free slots of a minute admits no more visitors
/// in a minute than there are slots, although each slot could be used six times.
pub(super) fn short_sessions() -> Scenario {
    let mut world = Scenario::new(1_000, 10_000, eight_sites(0).sites.nodes);
    world.limits.session = 5;
    world.visitors.browsing = 5.0;
    world.visitors.think = 2.0;
    world.load(&[(0.0, 0.0), (10.0, 0.5), (20.0, 0.5)])
}

/// Traffic of nine tenths of what can be served. Every four minutes, nearly all of it moves on to another
/// of five sites.
pub(super) fn wandering_traffic() -> Scenario {
    let world = Scenario::new(2_000, 350, [4; 5]).load(&[(0.0, 0.9), (44.0, 0.9)]);
    let to = [0, 1, 2, 3, 4].into_iter().cycle();
    let minutes = (4..=40_u32).step_by(4).map(f64::from);
    to.zip(minutes).fold(world, |world, (site, minute)| world.moves_to(site, 0.95, minute))
}

/// A limit of 37 visitors in front of ninety nodes at thirty sites. An equal share of the slots of a site
/// is less than one slot for each node.
pub(super) fn more_nodes_than_slots() -> Scenario {
    Scenario::new(37, 37, [3; 30]).load(&[(0.0, 0.0), (45.0, 1.3), (120.0, 1.3)])
}

/// A room for 50 000 visitors that admits only 60 new ones in a minute, so that this limit decides.
pub(super) fn few_new_visitors() -> Scenario {
    Scenario::new(50_000, 60, [6, 4, 3, 2, 1]).load(RAMP)
}

/// Thirty sites, and round trips between 20 and 900 ms, each another time.
pub(super) fn jitter() -> Scenario {
    let mut world = Scenario::new(2_000, 2_000, [2; 30]).load(RAMP);
    world.network.wan_rtt_ms = [20, 900];
    world
}

/// A quiet room, and then a crowd of ten times as many visitors at thirty sites of different sizes, for
/// three minutes. The limit on new visitors admits them in a quarter of an hour.
pub(super) fn crowd_at_many_sites() -> Scenario {
    let crowd =
        [(0.0, 800.0), (10.0, 800.0), (10.0, 8e3), (13.0, 8e3), (13.0, 800.0), (40.0, 800.0)];
    Scenario::new(10_000, 2_000, [3; 30]).site_skew(0.8).per_minute(crowd)
}

/// The largest site is cut off for 18 minutes, which is longer than a lease and a session. It is
/// reconnected when the room is full.
pub(super) fn cut_for_long() -> Scenario {
    let load = [(0.0, 0.8), (20.0, 0.8), (30.0, 1.2), (50.0, 1.2)];
    eight_sites(500).load(&load).cut(0, 12.0, 30.0)
}

/// Two of three sites are cut off again and again, each time for a few seconds longer than a lease.
pub(super) fn flapping_sites() -> Scenario {
    let world = Scenario::new(2_000, 400, [4; 3]).load(&[(0.0, 0.95), (45.0, 0.95)]);
    let minutes = (10..=37_u32).step_by(3).map(f64::from);
    let cuts = [1, 2].into_iter().cycle().zip(minutes);
    cuts.fold(world, |world, (site, minute)| world.cut(site, minute, minute + 2.1))
}

/// Three hundred sites in a world with faults. Round trips vary between 20 and 900 ms. The largest site
/// dies, the second is cut off for longer than a lease and a session, and the third is cut off again and
/// again.
pub(super) fn three_hundred_sites() -> Scenario {
    let mut world = Scenario::new(40_000, 40_000, [10; 300]).site_skew(0.8);
    world.sites.node_skew = 0.3;
    world.visitors.think = 15.0;
    world.visitors.patience = Some(600.0);
    world.network.wan_rtt_ms = [20, 900];
    let load = [(0.0, 0.0), (30.0, 0.9), (60.0, 1.1), (90.0, 0.8), (110.0, 1.2), (130.0, 0.4)];
    let world = world.load(&load).dead(0, 40.0).cut(1, 50.0, 75.0);
    let minutes = (60..=84_u32).step_by(6).map(f64::from);
    minutes.fold(world, |world, minute| world.cut(2, minute, minute + 2.1))
}
