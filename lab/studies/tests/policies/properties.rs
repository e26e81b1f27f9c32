//! Properties that hold for all numbers.

use proptest::{collection::vec, prelude::*};

use super::{counters::Counters, *};

proptest! {
    #[test]
    fn no_policy_but_the_curve_admits_more_in_a_minute_than_there_are_slots(
        world in worlds(),
        is_even: bool,
        is_paced: bool,
    ) {
        let policy = if is_even { SlotPolicy::Even } else { SlotPolicy::Counters };
        let pacing = if is_paced { Pacing::Linear } else { Pacing::None };
        let limits = limits().any_floor(world.floor);
        let rules = NodeRules::new(limits, policy).pacing(pacing);
        let admitted = world.admitted(rules);
        prop_assert!(admitted <= Slots::available(&limits, &world.snapshot()));
    }

    #[test]
    fn counters_use_every_requested_slot_at_all_sites(mut world in worlds()) {
        // 300 visitors per node are more than there can be slots.
        world.arrivals = (0..world.nodes.len()).flat_map(|node| vec![(node, 0); 300]).collect();
        let limits = limits().any_floor(world.floor);
        let rules = NodeRules::new(limits, SlotPolicy::Counters);
        let snapshot = world.snapshot();
        let with_nodes = |site: SiteId| world.nodes.contains(&site.number());
        let slots = Slots::new(&limits, &snapshot, Minute::of(noted()));
        let sites = (0..SITES).map(SiteId::new).filter(|site| with_nodes(*site));
        let usable: u32 = sites.map(|site| slots.site(site)).sum();
        prop_assert_eq!(world.admitted(rules), slots.anywhere() + usable);
    }
}

#[test]
fn the_curve_does_admit_more_than_there_are_slots() {
    let world = World {
        active: 20,
        traffic: vec![0; SITES.into()],
        nodes: vec![0, 1, 2, 3],
        arrivals: (0..4).flat_map(|node| vec![(node, 0); 300]).collect(),
        floor: 0.0,
    };
    // All 180 slots are Anywhere's, and each of the four nodes uses all of them.
    assert_eq!(world.admitted(rules(SlotPolicy::Curve { curve_factor: 1.0 })), 4 * 180);
}

const SITES: u16 = 5;

/// One minute of a world with a few sites: the snapshot that all sites have, and the arrivals.
#[derive(Clone, Debug)]
struct World {
    active: u32,
    /// The new visitors at each site in the minute before.
    traffic: Vec<u32>,
    /// The site of each node.
    nodes: Vec<u16>,
    /// The node and the second of each arrival.
    arrivals: Vec<(usize, u64)>,
    floor: f64,
}

fn worlds() -> impl Strategy<Value = World> {
    let nodes = vec(0..SITES, 1..12);
    let floor = prop_oneof![Just(0.0), Just(0.02), 0.0..1.0];
    (0..220_u32, vec(0..90_u32, usize::from(SITES)), nodes, floor).prop_flat_map(
        |(active, traffic, nodes, floor)| {
            vec((0..nodes.len(), 0..60_u64), 0..400).prop_map(move |arrivals| World {
                active,
                traffic: traffic.clone(),
                nodes: nodes.clone(),
                arrivals,
                floor,
            })
        },
    )
}

impl World {
    fn snapshot(&self) -> WorldSnapshot {
        let traffic = (0..SITES).map(SiteId::new).zip(self.traffic.iter().copied());
        WorldSnapshot::new(1, clock(11, 45, 0))
            .with_active(self.active)
            .with_nodes(self.nodes.iter().map(|site| (SiteId::new(*site), 1)))
            .with_traffic(Minute::of(clock(11, 44, 0)), traffic)
    }

    /// The number of visitors that are admitted in the minute.
    fn admitted(&self, rules: NodeRules) -> u32 {
        let sites: Vec<_> = self.nodes.iter().copied().map(SiteId::new).collect();
        let mut admissions: Vec<_> =
            sites.iter().map(|site| admission(rules, *site, self.snapshot())).collect();
        let mut counters = Counters::default();
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_by_key(|(_, second)| *second);
        let admitted = arrivals.iter().map(|&(node, second)| {
            counters.admitted(&mut admissions[node], sites[node], 1, clock(11, 45, second))
        });
        admitted.sum()
    }
}
