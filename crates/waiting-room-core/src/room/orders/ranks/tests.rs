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
    /// others are inserted, moved and removed.
    #[test]
    fn ranks_agree_with_a_sorted_map(
        steps in prop::collection::vec((0u8..10, 0u64..900, 0u64..400), 1..2_000),
        jump in 1u64..300,
    ) {
        let mut ranks = Ranks::default();
        let mut naive = BTreeMap::new();
        let mut now = 0;
        for (verb, order, until) in steps {
            let rank = rank(order);
            let until = at(now + until);
            match verb {
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
        }
        prop_assert_eq!(ranks.len(), naive.len());
        prop_assert!(ranks.iter().eq(naive.keys().copied()));
    }

    #[test]
    fn deadlines_are_taken_in_order_and_counted_until_then(
        steps in prop::collection::vec((0u8..8, 0u64..900, 0u64..400), 1..2_000),
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
fn a_shrinking_collection_frees_its_parts() {
    let mut ranks = Ranks::default();
    (0..10_000).for_each(|order| ranks.insert(rank(order), ()));
    (0..10_000).filter(|order| order % 50 != 0).for_each(|order| _ = ranks.remove(rank(order)));
    assert_eq!((ranks.len(), ranks.before(rank(5_000))), (200, 100));
    let chunks: usize = ranks.sections.iter().map(|section| section.chunks.len()).sum();
    assert!(chunks <= 200, "{chunks} chunks for 200 ranks");
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
