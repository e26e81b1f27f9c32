//! What is remembered of many keys, in memory that is bounded by construction.
//!
//! A table has a fixed number of places, in small groups; the hash of a key names the groups in
//! which it may stand. There is no sweeper, and no key is ever taken out. A key that finds its
//! groups full takes the place of the one that has used the least, and what that one had used is
//! remembered *of its network*: every key of the network that has no place starts with the most that
//! one without a place has used. For keys that are replenished this is nothing, so nothing is lost.
//! When more keys are in use than there are places, as in a flood, the newcomers of a network share
//! what its displaced keys have left: the table then counts too much, never too little, and no
//! offender is forgiven by being forgotten. Newcomers of other networks begin anew, unless theirs is
//! one of the same number: there is one for every eight places, and there are 65 536 at most.
//!
//! A key without a network is judged by a part of its own hash: newcomers of such keys share what
//! the displaced have left as if they were of many networks. (It is the rule of the *space-saving*
//! algorithm of Metwally, Agrawal and El Abbadi, ICDT 2005, applied to networks in place of places.)
//!
//! Two kinds of tables keep this law: [`AtomicTable`] without locks, for the algorithms whose state is
//! one number, and [`LockedTable`] with many small locks, for the others.

mod atomic;
mod locked;

pub(super) use self::{atomic::AtomicTable, locked::LockedTable};

/// The number of networks that a table with this number of places tells apart.
fn networks(places: usize) -> usize {
    (places / 8).clamp(LEAST_NETWORKS, 1 << u16::BITS)
}

/// Few enough for the smallest table, and enough that a flood from some networks leaves most others
/// alone.
const LEAST_NETWORKS: usize = 64;
