use std::{collections::BTreeMap, num::NonZeroU16};

use proptest::prelude::*;

use super::*;
use crate::room::Network;

fn at(secs: u32) -> Timestamp {
    Timestamp::from_secs(secs.into())
}

const NONE: Option<Draw> = None;

/// Gives a visitor a place, and returns the visitor.
fn stand(line: &mut Line, who: u128, arrived: u32, present: u32, kept: u32) -> VisitorId {
    let id = VisitorId::new(who);
    line.stand(id, NONE, at(arrived), at(present), at(kept));
    line.invariants();
    id
}

#[test]
fn an_away_visitor_delays_no_others_and_keeps_its_place() {
    let mut line = Line::default();
    stand(&mut line, 1, 10, 40, 300);
    let second = stand(&mut line, 2, 11, 60, 300);
    line.reap(at(39));
    assert_eq!(line.ahead_of(second, NONE, at(11)), 1);
    line.reap(at(40));
    assert_eq!((line.ahead_of(second, NONE, at(11)), line.len()), (0, 2));
    stand(&mut line, 1, 10, 80, 340);
    assert_eq!(line.ahead_of(second, NONE, at(11)), 1);
}

#[test]
fn places_that_lapse_or_are_given_up_are_abandoned_and_no_others() {
    let mut line = Line::default();
    let [first, second, third] = [1, 2, 3].map(|who| stand(&mut line, who, 10, 40, 300));
    line.remove(first);
    assert_eq!(line.abandoned(), 0);
    line.abandon(second);
    line.abandon(second);
    assert_eq!(line.abandoned(), 1);
    line.reap(at(300));
    line.settle(third);
    assert_eq!((line.abandoned(), line.len()), (2, 0));
}

#[test]
fn a_place_is_gone_when_its_time_is_over() {
    let mut line = Line::default();
    stand(&mut line, 1, 10, 40, 300);
    line.reap(at(299));
    assert!(line.arrival(VisitorId::new(1)).is_some());
    line.reap(at(300));
    assert!(line.arrival(VisitorId::new(1)).is_none());
    assert_eq!((line.len(), line.present()), (0, 0));
    line.invariants();
}

#[test]
fn a_long_pause_goes_through_both_deadlines_at_once() {
    let mut line = Line::default();
    stand(&mut line, 1, 10, 40, 300);
    line.reap(at(1_000));
    assert_eq!(line.len(), 0);
}

#[test]
fn lots_replace_the_order_of_arrival_and_are_forgotten_again() {
    let mut line = Line::default();
    let ids: Vec<_> = (0..100).map(|who| stand(&mut line, who, 10, 400, 500)).collect();
    let draw = Some(Draw(7));
    for id in &ids {
        let drawn = ids.iter().filter(|other| *other < id);
        let ahead = drawn.filter(|other| other.draw(7) < id.draw(7)).count();
        assert_eq!(line.ahead_of(*id, draw, at(10)) as usize, ahead);
        line.stand(*id, draw, at(10), at(400), at(500));
        line.invariants();
    }
    line.forget_lots();
    assert_eq!(line.ahead_of(ids[70], NONE, at(10)), 70);
    assert_eq!(line.ahead_of(ids[70], draw, at(10)), 0);
    // The visitor's earlier lot is no longer there, although it was derived from the same draw.
    line.stand(ids[70], draw, at(10), at(400), at(500));
    assert_eq!((line.lots.len(), line.ahead_of(ids[70], draw, at(10))), (1, 0));
    (0..100).for_each(|_| line.reap(at(20)));
    assert!(line.retired.is_empty());
}

#[test]
fn a_new_lot_is_not_behind_the_lot_that_it_replaces() {
    let mut line = Line::default();
    let id = VisitorId::new(1);
    let (low, high) = if id.draw(1) < id.draw(2) { (1, 2) } else { (2, 1) };
    line.stand(id, Some(Draw(low)), at(10), at(400), at(500));
    assert_eq!(line.ahead_of(id, Some(Draw(high)), at(10)), 0);
    line.stand(id, Some(Draw(high)), at(10), at(400), at(500));
    assert_eq!((line.lots.len(), line.present()), (1, 1));
}

#[test]
fn a_place_that_lapses_earlier_than_before_is_removed_in_time() {
    let mut line = Line::default();
    stand(&mut line, 1, 10, 40, 300);
    stand(&mut line, 1, 10, 40, 100);
    line.reap(at(100));
    assert_eq!(line.len(), 0);
}

fn network(number: u32) -> Option<Network> {
    let wide = NonZeroU16::new(u16::try_from(number).unwrap())?;
    Some(Network::new(wide, 0, 0))
}

proptest! {
    /// All counts of present visitors, and all arrivals, agree with a list that is searched
    /// from end to end, no matter how far the time jumps and how many places lapse at once.
    #[test]
    fn a_line_agrees_with_a_list(
        steps in prop::collection::vec((0u8..8, 0u32..60, 0u32..60, 1u32..90), 1..600),
    ) {
        let mut line = Line::default();
        let mut naive = BTreeMap::new();
        let mut now = 1_000;
        let mut is_random = false;
        for (verb, who, arrived, interval) in steps {
            let id = VisitorId::new(who.into()).of_network(network(arrived % 3));
            // Each operation of a room begins in this way.
            line.reap(at(now));
            line.settle(id);
            match verb {
                0 => now += if interval < 10 { 50 * interval } else { interval / 8 },
                1 => prop_assert_eq!(line.remove(id), naive.remove(&id).is_some()),
                2 => {
                    line.forget_lots();
                    is_random = !is_random;
                }
                _ => {
                    let present = now + interval / 2;
                    let kept = now + interval;
                    let draw = is_random.then_some(Draw(now / 60));
                    line.stand(id, draw, at(arrived), at(present), at(kept));
                    naive.insert(id, (arrived, present, kept));
                }
            }
            line.reap(at(now));
            line.settle(id);
            line.invariants();
            naive.retain(|_, (_, _, kept)| *kept > now);
            let arrived_at = line.arrival(id).map(|arrival| arrival.arrived);
            prop_assert_eq!(arrived_at, naive.get(&id).map(|place| at(place.0)));
            let present: Vec<_> = naive.iter().filter(|(_, place)| place.1 > now).collect();
            prop_assert_eq!(line.present() as usize, present.len());
            let ahead = present.iter().filter(|(other, place)| {
                **other != id && (place.0, **other) < (arrived, id)
            });
            prop_assert_eq!(line.ahead_of(id, NONE, at(arrived)) as usize, ahead.count());
            prop_assert!(line.len() as usize >= naive.len());
            let of_network = naive.keys().filter(|other| other.network() == id.network());
            let narrow = line.of_network(id).map_or(usize::MAX, |held| held[0] as usize);
            prop_assert!(narrow >= of_network.count());
        }
        // Repeated operations remove all places that have lapsed.
        (0..60).for_each(|_| line.reap(at(now)));
        prop_assert_eq!(line.len() as usize, naive.len());
        let first = naive.iter().map(|(id, place)| (place.0, *id)).min();
        prop_assert_eq!(line.first_arrival(), first.map(|(arrived, _)| at(arrived)));
    }
}
