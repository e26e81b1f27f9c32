//! Properties that hold for all numbers.

use proptest::{collection::vec, prelude::*};

use super::{counters::Counters, *};

/// Weights of which many are 0, and many are equal.
fn weights() -> impl Strategy<Value = Vec<u64>> {
    let weight = prop_oneof![Just(0), 1..4_u64, 0..1_000_u64, any::<u32>().prop_map(u64::from)];
    vec(weight, 1..40)
}

proptest! {
    #[test]
    fn no_slot_is_lost_and_none_is_made(available: u32, weights in weights()) {
        let slots = apportion(available, &weights);
        let total: u64 = slots.iter().copied().map(u64::from).sum();
        let some = weights.iter().any(|weight| *weight > 0);
        prop_assert_eq!(total, if some { u64::from(available) } else { 0 });
    }

    #[test]
    fn every_share_is_exact_to_less_than_one(
        available: u32,
        weights in weights(),
    ) {
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        prop_assume!(total > 0);
        for (slots, weight) in apportion(available, &weights).into_iter().zip(&weights) {
            let exact = u128::from(available) * u128::from(*weight);
            let slots = u128::from(slots);
            prop_assert!(slots * total < exact + total && exact < (slots + 1) * total);
        }
    }

    #[test]
    fn the_order_in_which_sites_are_named_does_not_matter(
        (visitors, other) in vec((0..50_u16, 0..60_u32), 0..30)
            .prop_flat_map(|visitors| (Just(visitors.clone()), Just(visitors).prop_shuffle())),
        active in 0..250_u32,
    ) {
        let slots = |visitors: Vec<(u16, u32)>| {
            let visitors = visitors.into_iter().map(|(site, count)| (SiteId::new(site), count));
            let before = Minute::of(noted()).previous();
            let snapshot =
                WorldSnapshot::new(1, noted()).with_active(active).with_traffic(before, visitors);
            Slots::new(&limits(), &snapshot, Minute::of(noted()))
        };
        prop_assert_eq!(slots(visitors), slots(other));
    }

    #[test]
    fn a_larger_weight_never_gets_less(available: u32, weights in weights(), more in 1..1_000_u64) {
        let slots = apportion(available, &weights);
        let mut heavier = weights.clone();
        heavier[0] += more;
        prop_assert!(apportion(available, &heavier)[0] >= slots[0]);
        for ((one, weight), other) in weights.iter().enumerate().zip(1..) {
            prop_assert!(other == weights.len() || *weight <= weights[other] || slots[one] >= slots[other]);
        }
    }

    #[test]
    fn an_additional_slot_costs_no_site_more_than_one(available in 0..u32::MAX, weights in weights()) {
        let less = apportion(available, &weights);
        let more = apportion(available + 1, &weights);
        prop_assert!(less.iter().zip(&more).all(|(less, more)| *less <= more + 1));
    }

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

#[test]
fn an_additional_slot_may_cost_a_site_one() {
    assert_eq!(apportion(10, &[6, 6, 2]), [4, 4, 2]);
    assert_eq!(apportion(11, &[6, 6, 2]), [5, 5, 1]);
}

#[test]
fn among_equals_the_first_gets_the_remainder() {
    assert_eq!(apportion(2, &[1, 1, 1]), [1, 1, 0]);
    assert_eq!(apportion(5, &[0, 2, 2]), [0, 3, 2]);
    assert_eq!(apportion(7, &[0, 0]), [0, 0]);
    assert!(apportion(7, &[]).is_empty());
    let all = u64::from(u32::MAX);
    assert_eq!(apportion(u32::MAX, &[u64::MAX, u64::MAX]), [1 << 31, (1 << 31) - 1]);
    assert_eq!(apportion(u32::MAX, &[all]), [u32::MAX]);
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
