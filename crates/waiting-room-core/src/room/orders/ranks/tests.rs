use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{VisitorId, room::work::steps_of};

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn rank(order: u64) -> Rank {
    Rank::new(order, VisitorId::new(u128::from(order % 3)))
}

proptest! {
    /// Ranks go away as time passes, in small steps and in jumps that take many at once, while
    /// others are inserted, moved and removed. The collection grows and shrinks in turns.
    #[test]
    fn ranks_agree_with_a_sorted_map(
        steps in prop::collection::vec((0u8..10, 0u64..900, 0u64..400), 1..1_200),
        jump in 1u64..300,
        orders in prop::sample::select(&[30u64, 200, 900]),
    ) {
        let mut ranks = Ranks::default();
        let mut naive = BTreeMap::new();
        let mut now = 0;
        for (index, (verb, order, until)) in steps.into_iter().enumerate() {
            let rank = rank(order % orders);
            let until = at(now + until);
            let is_shrinking = index / 300 % 2 == 1;
            match verb {
                1..=3 if is_shrinking => prop_assert_eq!(ranks.remove(rank), naive.remove(&rank)),
                0 => now += if order < 20 { jump } else { order / 300 },
                1..=4 if !naive.contains_key(&rank) => {
                    ranks.insert(rank, until);
                    naive.insert(rank, until);
                }
                5..=7 => prop_assert_eq!(ranks.remove(rank), naive.remove(&rank)),
                _ => {
                    prop_assert_eq!(ranks.replace(rank, until), naive.contains_key(&rank));
                    naive.entry(rank).and_modify(|entry| *entry = until);
                }
            }
            ranks.advance(at(now));
            let is_present = |(_, until): &(&Rank, &Timestamp)| **until > at(now);
            let before = naive.range(..rank).filter(is_present).count();
            prop_assert_eq!(ranks.before(rank) as usize, before);
            prop_assert_eq!(ranks.count() as usize, naive.iter().filter(is_present).count());
            prop_assert_eq!(ranks.is_present(rank), naive.get(&rank).is_some_and(|t| *t > at(now)));
            let next: Vec<_> = naive.range(rank..).take(3).map(|(next, _)| *next).collect();
            prop_assert_eq!(ranks.next_from(rank, 3), next);
        }
        prop_assert_eq!(ranks.len(), naive.len());
        prop_assert!(ranks.iter().eq(naive.keys().copied()));
    }

    #[test]
    fn deadlines_are_taken_in_order_and_counted_until_then(
        steps in prop::collection::vec((0u8..8, 0u64..900, 0u64..400), 1..1_000),
    ) {
        let mut ranks = Ranks::default();
        let mut naive = BTreeMap::new();
        let mut now = 0;
        for (verb, who, after) in steps {
            let rank = Rank::at(at(now + after), VisitorId::new(who.into()));
            match verb {
                0 => now += after / 2,
                1 => {
                    let taken = ranks.take_due(at(now), 5);
                    let first: Vec<_> = naive.keys().copied().take(taken.len()).collect();
                    prop_assert_eq!(&taken, &first);
                    first.iter().for_each(|rank| _ = naive.remove(rank));
                    let is_next_due = naive.keys().next().is_some_and(|next| next.is_due(at(now)));
                    prop_assert!(taken.len() == 5 || !is_next_due);
                }
                2 => prop_assert_eq!(ranks.remove(rank), naive.remove(&rank)),
                _ if !naive.contains_key(&rank) => {
                    ranks.insert(rank, ());
                    naive.insert(rank, ());
                }
                _ => {}
            }
            let due = naive.keys().filter(|rank| rank.is_due(at(now))).count();
            prop_assert_eq!(ranks.count_due(at(now)), due);
            prop_assert_eq!(ranks.first(), naive.keys().next().copied());
            prop_assert_eq!(ranks.len(), naive.len());
        }
    }
}

#[test]
fn parts_split_and_disappear() {
    let mut ranks = Ranks::default();
    (0..10_000).for_each(|order| ranks.insert(rank(order), at(10 + order % 2)));
    let sizes = Sizes::current();
    // Ranks that are added in order fill chunks and sections.
    assert!(ranks.sections.len() <= 10_000 / (sizes.chunk * sizes.section) + 1);
    ranks.advance(at(10));
    assert_eq!(ranks.before(rank(5_000)), 2_500);
    assert_eq!(
        (ranks.before(Rank::new(u64::MAX, VisitorId::new(0))), ranks.count()),
        (5_000, 5_000)
    );
    (0..10_000).for_each(|order| _ = ranks.remove(rank(order)));
    assert!(ranks.sections.is_empty() && ranks.summaries.len() == 0);
}

#[test]
fn a_part_is_joined_if_it_is_a_quarter_full_and_both_are_half_full() {
    for (index, lens, lower) in [
        (0, [2, 2, 8], Some(0)),
        (0, [1, 4, 1], None),
        (0, [3, 1, 1], None),
        (1, [3, 1, 4], Some(0)),
        (1, [3, 1, 3], Some(1)),
        (1, [4, 1, 4], None),
        (2, [1, 1, 1], Some(1)),
        (2, [1, 4, 1], None),
    ] {
        assert_eq!(joined(index, 8, &lens, |len| *len), lower, "{index} of {lens:?}");
    }
}

#[test]
fn a_shrinking_collection_frees_its_parts() {
    let mut ranks = Ranks::default();
    (0..10_000).for_each(|order| ranks.insert(rank(order), ()));
    (0..10_000).filter(|order| order % 50 != 0).for_each(|order| _ = ranks.remove(rank(order)));
    assert_eq!((ranks.len(), ranks.before(rank(5_000))), (200, 100));
    let sizes = Sizes::current();
    let sections: Vec<_> = ranks.sections.iter().map(|section| section.chunks.len()).collect();
    let chunks: Vec<_> =
        ranks.sections.iter().flat_map(|section| section.chunks.iter().map(Vec::len)).collect();
    assert!(sections.iter().all(|len| *len <= sizes.section), "{sections:?}");
    assert!(chunks.iter().all(|len| *len <= sizes.chunk), "{chunks:?}");
    assert!(chunks.len() <= 100 && sections.len() <= 50, "{chunks:?} in {sections:?}");
}

#[test]
fn no_change_and_no_count_reads_more_than_two_sections() {
    Sizes::use_usual();
    let mut ranks = Ranks::default();
    let most = 3 * Sizes::current().chunk * Sizes::current().section;
    let order = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for number in 0..100_000 {
        let steps = steps_of(|| ranks.insert(rank(order(number)), at(number))).1;
        assert!(steps <= most, "{steps} steps to insert");
    }
    for number in 0..100_000 {
        let steps = steps_of(|| ranks.advance(at(number))).1;
        assert!(steps <= most, "{steps} steps to advance");
        let steps = steps_of(|| ranks.remove(rank(order(number)))).1;
        assert!(steps <= most, "{steps} steps to remove");
    }
}
