//! The drawn order: a keyed permutation in which each place is computed independently.
//!
//! The permutation is the swap-or-not shuffle (Hoang, Morris and Rogaway, CRYPTO 2012), exactly as
//! in `compute_shuffled_index` of Ethereum's consensus specification, with SHA-256 and 90 rounds.
//! In each round, the entrants form pairs. A bit that depends on the key, the round and the pair
//! decides whether the two entrants of that pair swap.
//!
//! ```text
//!  10 entrants with the indices 0 to 9, in a round whose pivot is 7: the indices of a pair add up
//!  to 7 modulo 10
//!
//!    pairs    0–7    1–6    2–5    3–4    8–9
//!    bits      1      0      0      1      1
//!            swap     ·      ·    swap   swap
//! ```
//!
//! A round is its own inverse, so the entrant at a place is found by the same rounds in reverse.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// The order in which the entrants of a draw are admitted.
///
/// Entrants and places are numbered from 1. Each lookup computes one place, in a fixed number of
/// steps for any number of entrants, so no list of entrants has to be shuffled or stored.
///
/// Only [`Reveal::verify`](super::Reveal::verify) creates a shuffle, so every shuffle agrees with
/// its commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffle {
    key: [u8; 32],
    entrants: u32,
    /// For each round, the sum of the two numbers of a pair, modulo the number of entrants.
    pivots: [u32; Self::ROUNDS],
}

impl Shuffle {
    /// The number of rounds, as in Ethereum's consensus specification.
    pub const ROUNDS: usize = 90;

    /// Creates the order that the key determines for this number of entrants.
    pub(super) fn new(key: [u8; 32], entrants: u32) -> Self {
        let pivot = |round| {
            let digest = Sha256::new_with_prefix(key).chain_update([number(round)]).finalize();
            let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(digest);
            let pivot = u64::from_le_bytes([a, b, c, d, e, f, g, h]) % u64::from(entrants.max(1));
            u32::try_from(pivot).unwrap_or(0)
        };
        Self { key, entrants, pivots: std::array::from_fn(pivot) }
    }

    /// Returns the number of entrants.
    #[must_use]
    pub const fn entrants(&self) -> u32 {
        self.entrants
    }

    /// Returns the place of an entrant, or `None` if there is no entrant with this number.
    #[must_use]
    pub fn place_of(&self, entrant: u32) -> Option<u32> {
        let index = self.index(entrant)?;
        let swapped = |index, round| self.swapped(index, round, |block| self.bits(round, block));
        Some((0..Self::ROUNDS).fold(index, swapped) + 1)
    }

    /// Returns the places of some entrants, each as [`place_of`](Self::place_of) does.
    ///
    /// Entrants share digests, because one digest contains the bits of 256 pairs. For up to 256
    /// entrants in the draw, the places of many thus cost little more than the place of one.
    #[must_use]
    pub fn places_of(&self, entrants: &[u32]) -> Vec<Option<u32>> {
        let mut indices: Vec<_> = entrants.iter().map(|entrant| self.index(*entrant)).collect();
        let mut known = HashMap::new();
        for round in 0..Self::ROUNDS {
            known.clear();
            for index in indices.iter_mut().flatten() {
                *index = self.swapped(*index, round, |block| {
                    *known.entry(block).or_insert_with(|| self.bits(round, block))
                });
            }
        }
        indices.iter().map(|index| index.map(|index| index + 1)).collect()
    }

    /// Returns the number of the entrant at a place, or `None` if there is no such place.
    #[must_use]
    pub fn entrant_at(&self, place: u32) -> Option<u32> {
        let index = self.index(place)?;
        let swapped = |index, round| self.swapped(index, round, |block| self.bits(round, block));
        Some((0..Self::ROUNDS).rev().fold(index, swapped) + 1)
    }

    /// Converts a number that counts from 1 to an index that counts from 0.
    fn index(&self, number: u32) -> Option<u32> {
        number.checked_sub(1).filter(|index| *index < self.entrants)
    }

    /// Returns the index after one round. `bits` supplies the bits of a block of pairs in that
    /// round.
    fn swapped(&self, index: u32, round: usize, bits: impl FnOnce(u32) -> Bits) -> u32 {
        let pivot = self.pivots[round];
        // This is `pivot - index` modulo the number of entrants, without overflow.
        let partner = if pivot >= index { pivot - index } else { self.entrants - (index - pivot) };
        // Both entrants of a pair read the same bit: the bit of the higher index.
        let bit = index.max(partner);
        let byte = bits(bit / 256)[(bit % 256 / 8) as usize];
        match byte >> (bit % 8) & 1 {
            0 => index,
            _ => partner,
        }
    }

    /// Returns the bits of a block of 256 pairs in one round.
    fn bits(&self, round: usize, block: u32) -> Bits {
        Sha256::new_with_prefix(self.key)
            .chain_update([number(round)])
            .chain_update(block.to_le_bytes())
            .finalize()
            .into()
    }
}

/// The bits that decide which pairs of a block swap.
type Bits = [u8; 32];

/// Returns the byte that represents a round.
fn number(round: usize) -> u8 {
    u8::try_from(round).unwrap_or(u8::MAX)
}
