//! The decisions of a site that knows little or nothing about the world.

use std::time::Duration;

use super::{counters::Counters, *};

/// Rules with a limit of 200, and a floor of a tenth.
fn with_floor(policy: SlotPolicy) -> NodeRules {
    NodeRules::new(limits().any_floor(0.1), policy)
}

fn admitted(admission: &mut SiteAdmission, now: Timestamp) -> u32 {
    Counters::default().admitted(admission, SAN_JOSE, 300, now)
}

#[test]
fn without_a_snapshot_only_the_floor_is_left() {
    let of = |rules| admitted(&mut SiteAdmission::new(rules, SAN_JOSE).unwrap(), noted());
    assert_eq!(of(with_floor(SlotPolicy::Counters)), 20);
    assert_eq!(of(rules(SlotPolicy::Counters)), 0);
    // The number of nodes that share the floor is unknown.
    assert_eq!(of(with_floor(SlotPolicy::Even)), 0);
    assert_eq!(of(with_floor(SlotPolicy::Curve { curve_factor: 1.0 })), 0);
}

#[test]
fn a_stale_snapshot_only_tells_the_number_of_nodes() {
    let later = noted() + Duration::from_secs(181);
    let of = |policy| admitted(&mut admission(with_floor(policy), SAN_JOSE, state(3)), later);
    assert_eq!(of(SlotPolicy::Counters), 20);
    assert_eq!(of(SlotPolicy::Even), 2);
}

#[test]
fn a_node_without_news_does_not_fix_the_slots_of_the_others() {
    let rules = NodeRules::new(limits().any_floor(0.02), SlotPolicy::Counters);
    let mut counters = Counters::default();
    let mut new = SiteAdmission::new(rules, DELHI).unwrap();
    assert_eq!(counters.admitted(&mut new, DELHI, 1, noted()), 1);
    let mut informed = admission(rules, SAN_JOSE, state(3));
    // One of the 128 slots has been drawn.
    assert_eq!(counters.admitted(&mut informed, SAN_JOSE, 300, noted()), 127);
    // The floor is four, and more slots than that have been drawn.
    assert_eq!(counters.admitted(&mut new, DELHI, 9, noted()), 0);
}

#[test]
fn the_first_node_with_news_fixes_the_slots() {
    let rules = NodeRules::new(limits().any_floor(0.5), SlotPolicy::Counters);
    let world = |version, active| WorldSnapshot::new(version, noted()).with_active(active);
    let mut counters = Counters::default();
    let mut first = admission(rules, SAN_JOSE, world(1, 190));
    assert_eq!(counters.admitted(&mut first, SAN_JOSE, 1, noted()), 1);
    // By its snapshot there are 150 slots, but those of this minute are fixed.
    let mut second = admission(rules, LONDON, world(2, 50));
    assert_eq!(counters.admitted(&mut second, LONDON, 300, noted()), 9);
    // Its floor is half of the limit, but the ten slots of this minute have been drawn.
    let mut new = SiteAdmission::new(rules, DELHI).unwrap();
    assert_eq!(counters.admitted(&mut new, DELHI, 300, noted()), 0);
}

#[test]
fn a_snapshot_is_believed_until_it_is_stale() {
    let rules = NodeRules::new(limits().stale_after(Duration::from_secs(30)), SlotPolicy::Counters);
    let of = |seconds| {
        let now = noted() + Duration::from_secs(seconds);
        admitted(&mut admission(rules, SAN_JOSE, state(3)), now)
    };
    assert_eq!((of(30), of(31)), (128, 0));
}

#[test]
fn an_invalid_curve_factor_is_named() {
    let curve = |curve_factor| NodeRules::new(limits(), SlotPolicy::Curve { curve_factor });
    let error = |rules: NodeRules| rules.validate().unwrap_err().to_string();
    assert_eq!(error(curve(8.5)), "curve_factor is 8.5, expected a number from 0 to 8");
    assert_eq!(error(curve(f64::INFINITY)), "curve_factor is inf, expected a number from 0 to 8");
    assert!(SiteAdmission::new(curve(9.0), SAN_JOSE).is_err());
}
