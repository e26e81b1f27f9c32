//! The states of many keys, in memory that is bounded by construction.
//!
//! A table has a fixed number of places in small groups. The hash of a key determines the groups in
//! which it may be placed. There is no background task, so replenished keys stay until a new key
//! arrives. A new key whose groups are full takes the place of the least used key in these groups,
//! which is the key that will be replenished first. The usage of the displaced key is remembered
//! *for its network*: every key of that network that has no place starts as if it had used as much
//! as the most used of the displaced keys.
//!
//! ```text
//! key ─► a place in its groups? ─ yes ─► its own state
//!               │ no
//!               ▼
//!        the state shared by displaced keys of its network ─► its own state, once it is charged
//!               ▲                                                │
//!               └───────── the use of the displaced key ◄────────┘
//! ```
//!
//! If the displaced key had been replenished, its usage is zero and nothing is lost. If more keys
//! are in use than there are places, as in a flood, the new keys of a network share the remaining
//! quota of the network's displaced keys. The table then counts too much, never too little, so an
//! offender gains nothing by losing its place. New keys of other networks start without any usage,
//! unless their network is mapped to the same entry. A table distinguishes one network for every
//! eight places, but at least 64 and at most 65 536 networks.
//!
//! A key without a network is grouped by a part of its own hash, as if such keys were randomly
//! distributed over many networks. (This is the rule of the *space-saving* algorithm by Metwally,
//! Agrawal and El Abbadi, ICDT 2005, applied to networks instead of single counters.)
//!
//! Two tables follow this rule: [`AtomicTable`] takes no lock for a key that has a place, and
//! serves the algorithms whose state is one number. [`LockedTable`] has many small locks, and
//! serves the other algorithms.

mod atomic;
mod locked;

pub(super) use self::{atomic::AtomicTable, locked::LockedTable};

/// Returns how many networks a table with this number of places distinguishes.
fn networks(places: usize) -> usize {
    (places / 8).clamp(LEAST_NETWORKS, 1 << u16::BITS)
}

/// Returns the fraction of a table's groups that a sample visits.
fn share_of(groups: usize, all: usize) -> f64 {
    // Both numbers are below 2^32, since a table has at most 2^27 keys.
    let count = |groups: usize| f64::from(u32::try_from(groups).unwrap_or(u32::MAX));
    count(groups) / count(all)
}

/// The smallest number of networks that a table distinguishes.
///
/// The number is small enough for the smallest table, and large enough that a flood from a few
/// networks leaves most other networks unaffected.
const LEAST_NETWORKS: usize = 64;
