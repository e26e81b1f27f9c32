//! Tests of the draw: it yields known results, is a permutation, and is fair.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

use sha2::{Digest, Sha256};

use super::*;

const BEACON: &str = "drand quicknet round 28150000";

fn counting_seed() -> Seed {
    Seed::new(std::array::from_fn(|index| u8::try_from(index).unwrap()))
}

fn lottery() -> Lottery {
    Lottery::new("shop", "doors", counting_seed()).unwrap()
}

fn shuffle(entrants: u32) -> Shuffle {
    lottery().reveal(entrants, None).unwrap().verify(&lottery().commitment()).unwrap()
}

/// Returns the places of all entrants in order.
fn places(shuffle: &Shuffle) -> Vec<u32> {
    (1..=shuffle.entrants()).map(|entrant| shuffle.place_of(entrant).unwrap()).collect()
}

#[test]
fn the_permutation_is_that_of_ethereums_consensus_specification() {
    // The lists are those of the test `TestShuffleList_OK` of Prysm, another implementation.
    for (first, list) in [(1, [0, 7, 8, 6, 3, 9, 4, 5, 2, 1]), (2, [0, 5, 2, 1, 6, 8, 7, 3, 4, 9])]
    {
        let mut key = [0; 32];
        key[..3].copy_from_slice(&[first, 128, 12]);
        let shuffle = Shuffle::new(key, 10);
        let entrants = (1..=10).map(|place| shuffle.entrant_at(place).unwrap() - 1);
        assert_eq!(entrants.collect::<Vec<_>>(), list);
    }
}

#[test]
fn a_draw_without_a_beacon_has_known_results() {
    // These results are from the program in docs/design/027-a-verifiable-draw.md.
    assert_eq!(
        lottery().commitment().to_string(),
        "065c855bb9c204f434656d6c1e0c082137877b33025a4efcb4d3faaffe6fe346"
    );
    assert_eq!(places(&shuffle(12)), [7, 10, 2, 9, 12, 11, 5, 3, 6, 4, 8, 1]);
    let largest = shuffle(u32::MAX);
    for (entrant, place) in [(1, 230_992_366), (1 << 31, 4_213_338_853), (u32::MAX, 3_226_203_863)]
    {
        assert_eq!(largest.place_of(entrant), Some(place));
        assert_eq!(largest.entrant_at(place), Some(entrant));
    }
}

#[test]
fn the_places_of_many_entrants_equal_the_place_of_each() {
    for entrants in [0, 1, 255, 256, 257, 1_000, u32::MAX] {
        let shuffle = shuffle(entrants);
        let mut numbers: Vec<_> = (0..300).collect();
        numbers.extend([300, 299, entrants / 2, entrants - 1.min(entrants), entrants]);
        let each: Vec<_> = numbers.iter().map(|number| shuffle.place_of(*number)).collect();
        assert_eq!(shuffle.places_of(&numbers), each, "{entrants} entrants");
    }
}

#[test]
fn a_draw_with_a_beacon_has_known_results() {
    let lottery = lottery().beacon(BEACON).unwrap();
    let commitment = "b5fe9f53b7e22d85b9baf0b98061a4f70aaf1b64a3a10d5c4c4d3ca36a335991";
    assert_eq!(lottery.commitment().to_string(), commitment);
    let reveal = lottery.reveal(1_000_000, Some("9b07")).unwrap();
    assert_eq!(
        reveal.to_string(),
        "waiting-room lottery 1: draw\nroom: shop\nevent: doors\n\
         beacon: drand quicknet round 28150000\n\
         seed: 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n\
         value: 9b07\nentrants: 1000000\n"
    );
    let seed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    assert_eq!((reveal.room(), reveal.event(), reveal.seed()), ("shop", "doors", seed.into()));
    assert_eq!(
        (reveal.commitment().to_string(), reveal.entrants()),
        (commitment.into(), 1_000_000)
    );
    let shuffle = reveal.verify(&commitment.parse().unwrap()).unwrap();
    for (entrant, place) in
        [(1, 16_548), (2, 612_908), (500_000, 453_699), (999_999, 108_062), (1_000_000, 544_025)]
    {
        assert_eq!(shuffle.place_of(entrant), Some(place));
        assert_eq!(shuffle.entrant_at(place), Some(entrant));
    }
}

#[test]
fn seeds_that_do_not_match_the_commitment_are_refused_with_both_commitments() {
    let commitment = lottery().commitment();
    let other = Lottery::new("shop", "doors", Seed::new([9; 32])).unwrap();
    assert_refused(
        other.reveal(12, None).unwrap().verify(&commitment),
        Contradicts,
        &format!(
            "seed is one with the commitment {}, expected the seed with the commitment {commitment}",
            other.commitment()
        ),
    );
    // The commitment also binds the room, the event and the beacon.
    for other in [
        Lottery::new("shop2", "doors", counting_seed()).unwrap(),
        Lottery::new("shop", "door", counting_seed()).unwrap(),
    ] {
        assert!(other.reveal(12, None).unwrap().verify(&commitment).is_err());
    }
    let with_beacon = lottery().beacon(BEACON).unwrap();
    assert!(with_beacon.reveal(12, Some("1")).unwrap().verify(&commitment).is_err());
    assert!(lottery().reveal(12, None).unwrap().verify(&with_beacon.commitment()).is_err());
}

#[test]
fn a_value_is_given_exactly_if_there_is_a_beacon() {
    let with_beacon = lottery().beacon(BEACON).unwrap();
    assert_refused(
        with_beacon.reveal(12, None),
        Missing,
        &format!("value is absent, expected the value of beacon {BEACON:?}"),
    );
    assert_refused(
        lottery().reveal(12, Some("9b07")),
        Contradicts,
        "value is \"9b07\", expected absent, because the lottery has no beacon",
    );
    // No text can add a line to what is hashed.
    for wrong in ["", "a\nseed: b", "a\r", &"x".repeat(257)] {
        assert_eq!(lottery().beacon(wrong).unwrap_err().kind(), Malformed);
        assert_eq!(with_beacon.reveal(12, Some(wrong)).unwrap_err().kind(), Malformed);
        assert_eq!(Lottery::new(wrong, "doors", counting_seed()).unwrap_err().kind(), Malformed);
        assert_eq!(Lottery::new("shop", wrong, counting_seed()).unwrap_err().kind(), Malformed);
    }
}

#[test]
fn a_seed_stays_secret_until_it_is_revealed() {
    let digits = "5a".repeat(32);
    let seed: Seed = digits.parse().unwrap();
    assert!(seed == Seed::new([0x5a; 32]));
    let lottery = Lottery::new("shop", "doors", seed).unwrap();
    assert!(!format!("{lottery:?}").contains("5a5a"));
    let error = digits[1..].parse::<Seed>().unwrap_err();
    assert_eq!(error.to_string(), "seed is a text of 63 bytes, expected 64 hexadecimal digits");
    assert!(lottery.reveal(1, None).unwrap().to_string().contains(&digits));
}

#[test]
fn numbers_outside_the_draw_have_no_place() {
    let three = shuffle(3);
    for number in [0, 4, u32::MAX] {
        assert_eq!((three.place_of(number), three.entrant_at(number)), (None, None));
    }
    assert_eq!(shuffle(0).place_of(1), None);
    assert_eq!(shuffle(1).place_of(1), Some(1));
}

#[test]
fn a_beacon_or_one_more_entrant_changes_the_whole_order() {
    let lottery = lottery().beacon(BEACON).unwrap();
    let order = |entrants, value| {
        let reveal = lottery.reveal(entrants, Some(value)).unwrap();
        let shuffle = reveal.verify(&lottery.commitment()).unwrap();
        (1..=100).map(|entrant| shuffle.place_of(entrant).unwrap()).collect::<Vec<_>>()
    };
    let same = |one: &[u32], other: &[u32]| one.iter().zip(other).filter(|(a, b)| a == b).count();
    let first = order(1_000, "9b07");
    assert!(same(&first, &order(1_000, "9b08")) < 5);
    assert!(same(&first, &order(1_001, "9b07")) < 5);
}

/// Returns the shuffles of `count` keys that are derived from a fresh seed, which is printed.
fn shuffles(count: u32, entrants: u32) -> impl Iterator<Item = Shuffle> {
    let seed = RandomState::new().hash_one("seed of this run");
    println!("the keys are SHA-256(seed, number), little-endian, with seed {seed:#x}");
    (0..count).map(move |number| {
        let text = Sha256::new_with_prefix(seed.to_le_bytes()).chain_update(number.to_le_bytes());
        Shuffle::new(text.finalize().into(), entrants)
    })
}

/// Asserts that a chi-squared statistic is at most the value that chance exceeds once in a billion
/// runs, by the approximation of Wilson and Hilferty.
#[track_caller]
fn assert_by_chance(statistic: f64, degrees: f64) {
    let part = 2.0 / (9.0 * degrees);
    let bound = degrees * (1.0 - part + 6.0 * part.sqrt()).powi(3);
    println!("chi-squared is {statistic:.1} with {degrees} degrees of freedom, at most {bound:.1}");
    assert!(statistic < bound);
}

#[test]
fn every_entrant_gets_every_place_equally_often() {
    const ENTRANTS: u32 = 7;
    let draws = 500;
    let mut counts = BTreeMap::new();
    for shuffle in shuffles(draws, ENTRANTS) {
        for (entrant, place) in places(&shuffle).into_iter().enumerate() {
            *counts.entry((entrant, place)).or_insert(0u32) += 1;
        }
    }
    let n = f64::from(ENTRANTS);
    let expected = f64::from(draws) / f64::from(ENTRANTS);
    let cells = (0..49).map(|cell| (cell / 7, u32::try_from(cell % 7).unwrap() + 1));
    let count = |cell| f64::from(counts.get(&cell).copied().unwrap_or(0));
    let sum: f64 = cells.map(|cell| (count(cell) - expected).powi(2) / expected).sum();
    // The rows and columns of each draw add up to one, which makes the sum larger by n / (n - 1).
    assert_by_chance(sum * (n - 1.0) / n, (n - 1.0).powi(2));
}

#[test]
fn every_order_of_four_entrants_is_equally_frequent() {
    let draws = 600;
    let mut counts = BTreeMap::new();
    for shuffle in shuffles(draws, 4) {
        *counts.entry(places(&shuffle)).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 24);
    let expected = f64::from(draws) / 24.0;
    let sum: f64 = counts.values().map(|count| (f64::from(*count) - expected).powi(2)).sum();
    assert_by_chance(sum / expected, 23.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn each_place_is_given_to_exactly_one_entrant(key in any::<[u8; 32]>(), entrants in 0..64u32) {
        let shuffle = Shuffle::new(key, entrants);
        let mut places = places(&shuffle);
        for (entrant, place) in (1..).zip(&places) {
            prop_assert_eq!(shuffle.entrant_at(*place), Some(entrant));
        }
        places.sort_unstable();
        prop_assert_eq!(places, (1..=entrants).collect::<Vec<_>>());
    }

    #[test]
    fn a_place_leads_back_to_its_entrant(
        key in any::<[u8; 32]>(),
        entrants in 1..=u32::MAX,
        entrant in any::<u32>(),
    ) {
        let shuffle = Shuffle::new(key, entrants);
        let entrant = entrant % entrants + 1;
        let place = shuffle.place_of(entrant).unwrap();
        prop_assert!((1..=entrants).contains(&place));
        prop_assert_eq!(shuffle.entrant_at(place), Some(entrant));
    }
}
