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
fn a_minute_that_was_not_over_is_not_its_own_history() {
    let made_at = clock(11, 44, 58);
    let early = Minute::of(clock(11, 43, 0));
    let late = Minute::of(clock(11, 44, 0));
    let snapshot = |made_at| {
        WorldSnapshot::new(1, made_at)
            .with_traffic(early, [(SAN_JOSE, 100)])
            .with_traffic(late, [(LONDON, 100)])
    };
    let now = Minute::of(clock(11, 45, 0));
    assert_eq!(snapshot(made_at).traffic_minute(now), Some(early));
    assert_eq!(snapshot(clock(11, 45, 0)).traffic_minute(now), Some(late));
    let slots = Slots::new(&limits(), &snapshot(made_at), now);
    assert_eq!((slots.site(SAN_JOSE), slots.site(LONDON), slots.anywhere()), (100, 0, 100));
}

#[test]
fn without_any_history_all_slots_are_anywheres() {
    let snapshot = WorldSnapshot::new(1, noted()).with_active(50);
    let slots = Slots::new(&limits(), &snapshot, Minute::of(noted()));
    assert_eq!((slots.anywhere(), slots.total()), (150, 150));
}

#[test]
fn a_site_without_a_history_lives_on_the_floor_when_the_minute_before_ran_over() {
    let snapshot = WorldSnapshot::new(1, noted())
        .with_traffic(Minute::of(clock(11, 44, 0)), [(SAN_JOSE, 300), (LONDON, 100)]);
    let slots = |floor| {
        let rules = limits().any_floor(floor);
        Slots::new(&rules, &snapshot, Minute::of(noted()))
    };
    // The shares of 200 slots are 0.75 and 0.25, and nothing for Anywhere.
    let faithful = slots(0.0);
    assert_eq!((faithful.site(SAN_JOSE), faithful.site(LONDON)), (150, 50));
    assert_eq!(faithful.anywhere(), 0);
    // The weights are 0.75, 0.25 and 0.25, which add up to 1.25.
    let floored = slots(0.25);
    assert_eq!((floored.site(SAN_JOSE), floored.site(LONDON)), (120, 40));
    assert_eq!((floored.anywhere(), floored.total()), (40, 200));
}

#[test]
fn a_full_room_has_no_slots() {
    let rules = limits();
    for active in [200, 201, u32::MAX] {
        let snapshot = WorldSnapshot::new(1, noted()).with_active(active);
        assert_eq!(Slots::new(&rules, &snapshot, Minute::of(noted())).total(), 0);
    }
}

#[test]
fn invalid_rules_are_named() {
    let error = |rules: SlotRules| rules.validate().unwrap_err().to_string();
    let good = limits();
    let curve = |curve_factor| NodeRules::new(good, SlotPolicy::Curve { curve_factor });
    let error_of_node = |rules: NodeRules| rules.validate().unwrap_err().to_string();
    assert_eq!(error(SlotRules::new(0)), "total_active_users is 0, expected at least 1");
    assert_eq!(
        error(SlotRules::new(10_000_001)),
        "total_active_users is 10000001, expected at most 10000000"
    );
    assert_eq!(
        error(good.new_users_per_minute(0)),
        "new_users_per_minute is 0, expected at least 1"
    );
    assert_eq!(error(good.any_floor(-0.1)), "any_floor is -0.1, expected a share from 0 to 1");
    assert_eq!(error(good.any_floor(f64::NAN)), "any_floor is NaN, expected a share from 0 to 1");
    assert_eq!(error_of_node(curve(8.5)), "curve_factor is 8.5, expected a number from 0 to 8");
    assert_eq!(
        error_of_node(curve(f64::INFINITY)),
        "curve_factor is inf, expected a number from 0 to 8"
    );
    assert_eq!(
        error(good.stale_after(Duration::from_millis(999))),
        "stale_after is 0.999 s, expected at least 1 s"
    );
    assert_eq!(
        error(good.stale_after(Duration::from_secs(601))),
        "stale_after is 601 s, expected at most 600 s"
    );
    assert!(SiteAdmission::new(curve(9.0), SAN_JOSE).is_err());
}
