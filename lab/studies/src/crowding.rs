//! Newcomers after a flood: the share of new clients that are refused, by the number of keys that
//! an attacker has used up.
//!
//! A limit of three requests a day remembers 65 536 keys, which is the default. The attacker uses
//! up the quota of each of its keys: the /64 networks of one /32 of IPv6, or made-up values of a
//! header. Then new clients arrive, each from another network or with a new value, and their first
//! requests are counted.

use std::{iter, time::Duration};

use comfy_table::Table;
use waiting_room_core::{
    Limiter, Quota, Timestamp,
    rate::{Algorithm, Alignment, KeyHash, KeyHasher, Refusals},
};

use crate::report::markdown;

/// A table with one row for each size of the flood.
pub(crate) fn table() -> Table {
    let columns = CASES.iter().map(|(name, ..)| (*name).to_owned());
    let rows = FLOODS.iter().map(|&flood| {
        let cells = CASES.iter().map(|(_, algorithm, keys)| {
            format!("{:.1} %", 100.0 * refused(*algorithm, *keys, flood))
        });
        iter::once(flood.to_string()).chain(cells).collect()
    });
    markdown(iter::once("keys of the flood".to_owned()).chain(columns), rows, 0)
}

/// The share of newcomers that are refused after a flood with this number of keys.
fn refused(algorithm: Algorithm, keys: Keys, flood: u64) -> f64 {
    let limiter = Limiter::new(algorithm, &[Quota::per_day(3)], PLACES).expect("a valid limit");
    for number in 0..flood {
        let key = keys.of_the_flood(number);
        (0..3).for_each(|_| _ = limiter.charge(key, 0, 1, START));
    }
    let later = START + Duration::from_secs(60);
    let newcomers = (0..NEWCOMERS).map(|number| keys.of_a_newcomer(number));
    let refused = newcomers.filter(|&key| limiter.charge(key, 0, 1, later).is_err()).count();
    refused as f64 / NEWCOMERS as f64
}

/// The kind of key that identifies clients to the limit.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Addresses,
    Header,
}

impl Keys {
    /// A key of the flood: one of the networks of a single provider, or a made-up value.
    fn of_the_flood(self, number: u64) -> KeyHash {
        self.hash(0x2001_0db8, number)
    }

    /// The key of a newcomer: a network of another provider, or a new value.
    fn of_a_newcomer(self, number: u64) -> KeyHash {
        self.hash(0x2a00_0000 + number, u64::MAX)
    }

    fn hash(self, provider: u64, number: u64) -> KeyHash {
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let key = hasher.hash(&(provider, number));
        match self {
            Self::Addresses => key.of_network(hasher.hash(&provider)),
            Self::Header => key,
        }
    }
}

const CASES: [(&str, Algorithm, Keys); 4] = [
    ("GCRA, by address", Algorithm::Gcra, Keys::Addresses),
    ("log, by address", Algorithm::SlidingLog(Refusals::Ignore), Keys::Addresses),
    ("GCRA, by header", Algorithm::Gcra, Keys::Header),
    ("window, by header", Algorithm::FixedWindow(Alignment::FirstHit), Keys::Header),
];

const FLOODS: [u64; 6] = [0, 65_536, 98_304, 131_072, 196_608, 1_048_576];
/// The default of `RateLimit::max_keys`.
const PLACES: usize = 65_536;
const NEWCOMERS: u64 = 10_000;
const START: Timestamp = Timestamp::from_secs(60_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_from_one_provider_leaves_the_clients_of_others_alone() {
        for (name, algorithm, _) in CASES {
            let refused = refused(algorithm, Keys::Addresses, 196_608);
            assert!(refused < 0.01, "{name}: {refused}");
        }
    }
}
