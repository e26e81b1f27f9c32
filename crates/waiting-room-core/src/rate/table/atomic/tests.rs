use std::{collections::HashMap, convert::Infallible, thread};

use proptest::prelude::*;

use super::{super::super::KeyHasher, *};

const HASHER: fn() -> KeyHasher = || KeyHasher::new([3, 1, 4, 1]);

fn add(words: &AtomicTable, key: KeyHash, more: u64) -> u64 {
    let Ok(sum) = words.update(
        key,
        |_| true,
        |word| {
            *word += more;
            Ok::<_, Infallible>(*word)
        },
    );
    sum
}

#[test]
fn every_key_up_to_the_capacity_has_a_state_of_its_own() {
    let words = AtomicTable::new(100_000);
    let hasher = HASHER();
    let keys: Vec<_> = (0..100_000).map(|key: u64| hasher.hash(&key)).collect();
    keys.iter().for_each(|&key| _ = add(&words, key, 7));
    let shared = keys.iter().filter(|&&key| words.get(key) != 7).count();
    assert!(shared < 300, "{shared} of 100000 share a place or have none");
}

#[test]
fn a_key_takes_no_more_than_37_bytes_with_its_share_of_the_networks() {
    assert_eq!(AtomicTable::BYTES_PER_KEY, 37);
    for keys in [65_536, 1_000_000] {
        let AtomicTable { groups, given_up, .. } = AtomicTable::new(keys);
        assert!(size_of_val(&*groups) + size_of_val(&*given_up) <= 37 * keys);
    }
}

proptest! {
    /// For any sequence of keys, the number of a key is never less than what the key has used.
    #[test]
    fn a_table_that_is_too_small_counts_too_much_and_never_too_little(
        steps in prop::collection::vec((0u64..200, 1u64..5), 1..2_000),
    ) {
        let words = AtomicTable::new(20);
        let hasher = HASHER();
        let mut used = HashMap::new();
        for (key, more) in steps {
            let of_key = used.entry(key).or_insert(0);
            *of_key += more;
            prop_assert!(add(&words, hasher.hash(&key), more) >= *of_key);
        }
    }
}

#[test]
fn a_key_that_is_refused_at_once_gets_no_place() {
    let words = AtomicTable::new(10);
    let key = HASHER().hash("ann");
    assert_eq!(words.update(key, |_| true, |_| Err::<(), _>("no")), Err("no"));
    assert_eq!(words.len(), 0);
}

#[test]
fn threads_that_meet_at_one_key_or_at_its_creation_lose_no_charge() {
    const TIMES: u64 = 20_000;
    let words = AtomicTable::new(1_000);
    let hasher = HASHER();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for time in 0..TIMES {
                    add(&words, hasher.hash("shared"), 1);
                    add(&words, hasher.hash(&(time % 500)), 1);
                }
            });
        }
    });
    assert_eq!(words.get(hasher.hash("shared")), 4 * TIMES);
    (0..500).for_each(|key: u64| assert_eq!(words.get(hasher.hash(&key)), 4 * TIMES / 500));
}

/// Two threads charge a key, while a third thread keeps displacing it. The place may therefore be
/// handed over and back while one of the threads charges the key.
#[test]
fn no_charge_is_lost_if_the_place_is_displaced_and_restored() {
    const CHARGES: u64 = 200_000;
    let words = AtomicTable::new(1);
    let hasher = HASHER();
    let ann = hasher.hash("ann");
    thread::scope(|scope| {
        let charge = || (0..CHARGES).for_each(|_| _ = add(&words, ann, 1));
        let charging = [scope.spawn(charge), scope.spawn(charge)];
        let mut number = 0_u64;
        while !charging.iter().all(|thread| thread.is_finished()) {
            number += 1;
            add(&words, hasher.hash(&number), 10);
        }
    });
    assert!(words.get(ann) >= 2 * CHARGES, "{} of {}", words.get(ann), 2 * CHARGES);
}

/// One thread charges a key that is always the least used, while another thread keeps
/// displacing it.
#[test]
fn a_charge_during_a_displacement_is_not_lost() {
    let words = AtomicTable::new(1);
    let hasher = HASHER();
    let ann = hasher.hash("ann");
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            for _ in 0..200_000 {
                let before = add(&words, ann, 1);
                assert!(add(&words, ann, 1) > before);
            }
        });
        let mut number = 0_u64;
        while !counting.is_finished() {
            number += 1;
            add(&words, hasher.hash(&number), 10);
        }
    });
}
