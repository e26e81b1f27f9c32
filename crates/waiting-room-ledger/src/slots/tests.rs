//! Tests of the slots of a minute, with the state that the article describes.

use proptest::{collection::vec, prelude::*};
use waiting_room_core::Timestamp;

use super::*;

const SAN_JOSE: SiteId = SiteId::new(1);
const LONDON: SiteId = SiteId::new(2);

/// A time of the day that the article describes: Monday, 11 September 2023.
fn clock(hours: u64, minutes: u64, seconds: u64) -> Timestamp {
    const MIDNIGHT: u64 = 1_694_390_400;
    Timestamp::from_secs(MIDNIGHT + 3_600 * hours + 60 * minutes + seconds)
}

/// The time at which the article's state was recorded.
fn noted() -> Timestamp {
    clock(11, 45, 54)
}

/// The limits of the article, in which Anywhere's share has no floor.
fn limits() -> SlotRules {
    SlotRules::new(200).new_users_per_minute(200).any_floor(0.0)
}

/// Weights, many of which are 0 or equal.
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
}

#[test]
fn slots_are_split_by_the_traffic_of_the_minute_before() {
    let now = Minute::of(noted());
    let snapshot =
        WorldSnapshot::new(1, noted()).with_traffic(now.previous(), [(SAN_JOSE, 20), (LONDON, 30)]);
    // Without active visitors, the slots equal the limit, so they show the shares.
    let slots = Slots::new(&limits(), &snapshot, now);
    assert_eq!((slots.site(SAN_JOSE), slots.site(LONDON), slots.anywhere()), (20, 30, 150));
    let slots = Slots::new(&limits(), &snapshot.with_active(50), now);
    assert_eq!((slots.site(SAN_JOSE), slots.site(LONDON), slots.anywhere()), (15, 22, 113));
    assert_eq!(slots.total(), 150);
}

#[test]
fn the_last_of_ten_slots_has_the_ticket_9() {
    let mut counter = TicketCounter::new();
    let minute = Minute::of(noted());
    let request =
        CounterRequest { pool: Pool::Site, minute, slots: 10, knows_world: true, open: 10 };
    let replies: Vec<_> = (0..12).map(|_| counter.take(&request, noted())).collect();
    assert_eq!(replies[9].before, 9);
    assert!(replies[9].admits(&request));
    assert_eq!(replies[10].before, 10);
    assert!(!replies[10].admits(&request) && replies[10].is_dry());
    assert!(!replies[11].admits(&request));
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
fn the_first_call_to_a_counter_fixes_the_slots_of_the_minute() {
    let mut counter = TicketCounter::new();
    let minute = Minute::of(noted());
    let request =
        |slots| CounterRequest { pool: Pool::Site, minute, slots, knows_world: true, open: slots };
    assert_eq!(counter.take(&request(2), noted()), CounterReply { before: 0, slots: 2 });
    assert!(counter.take(&request(9), noted()).admits(&request(9)));
    let full = CounterReply { before: 2, slots: 2 };
    assert_eq!(counter.take(&request(9), noted()), full);
    assert!(!full.admits(&request(9)) && full.is_dry());
    // A node that knows of fewer slots may not use more, but the pool is not dry for other nodes.
    let reply = CounterReply { before: 1, slots: 2 };
    assert!(!reply.admits(&request(1)) && !reply.is_dry());
}

#[test]
fn a_node_whose_clock_is_far_ahead_takes_no_minute_from_the_others() {
    let mut counter = TicketCounter::new();
    let minute = Minute::of(noted());
    let request =
        |minute| CounterRequest { pool: Pool::Site, minute, slots: 9, knows_world: true, open: 9 };
    counter.take(&request(minute), noted());
    let far = minute.next().next();
    assert!(counter.take(&request(far), noted()).is_dry());
    assert!(counter.take(&request(far.next()), noted()).is_dry());
    assert!(counter.take(&request(minute), noted()).admits(&request(minute)));
    // A clock that is a little ahead is tolerated.
    assert!(counter.take(&request(minute.next()), noted()).admits(&request(minute.next())));
}

#[test]
fn a_counter_whose_clock_was_far_ahead_counts_on_when_it_is_set_right() {
    let mut counter = TicketCounter::new();
    let minute = Minute::of(noted());
    let request =
        |minute| CounterRequest { pool: Pool::Site, minute, slots: 9, knows_world: true, open: 9 };
    counter.take(&request(minute), noted());
    counter.take(&request(Minute::of(clock(12, 45, 0))), clock(12, 45, 0));
    assert_eq!(counter.take(&request(minute), noted()).before, 1);
    counter.take(&request(Minute::of(clock(12, 45, 0))), clock(12, 45, 0));
    counter.take(&request(Minute::of(clock(12, 46, 0))), clock(12, 46, 0));
    assert!(counter.take(&request(minute), noted()).admits(&request(minute)));
}

#[test]
fn a_counter_keeps_the_minute_before_and_no_other() {
    let mut counter = TicketCounter::new();
    let minute = Minute::of(noted());
    let request =
        |minute| CounterRequest { pool: Pool::Site, minute, slots: 9, knows_world: true, open: 9 };
    counter.take(&request(minute), noted());
    counter.take(&request(minute.next()), noted());
    assert_eq!(counter.take(&request(minute), noted()).before, 1);
    assert!(counter.take(&request(minute.previous()), noted()).is_dry());
    counter.take(&request(minute.next().next()), clock(11, 46, 0));
    assert!(counter.take(&request(minute), noted()).is_dry());
    assert_eq!(counter.take(&request(minute.next()), noted()).before, 1);
}

#[test]
fn invalid_rules_are_named() {
    let error = |rules: SlotRules| rules.validate().unwrap_err().to_string();
    let good = limits();
    let second = std::time::Duration::from_secs(1);
    let millisecond = std::time::Duration::from_millis(1);
    for (rules, expected) in [
        (SlotRules::new(0), "total_active_users is 0, expected at least 1"),
        (SlotRules::new(10_000_001), "total_active_users is 10000001, expected at most 10000000"),
        (good.new_users_per_minute(0), "new_users_per_minute is 0, expected at least 1"),
        (good.any_floor(-0.1), "any_floor is -0.1, expected a share from 0 to 1"),
        (good.any_floor(f64::NAN), "any_floor is NaN, expected a share from 0 to 1"),
        (good.stale_after(second - millisecond), "stale_after is 0.999 s, expected at least 1 s"),
        (good.stale_after(601 * second), "stale_after is 601 s, expected at most 600 s"),
    ] {
        assert_eq!(error(rules), expected);
    }
}
