//! What is remembered of many keys, in memory that is bounded by construction.
//!
//! A table has a fixed number of places, in small groups; the hash of a key names the groups in
//! which it may stand. There is no sweeper, and no key is ever taken out. A key that finds its
//! groups full takes the place of the one that has used the least, *and starts with what that one
//! had used*. For a key that is replenished this is nothing, so nothing is lost. When every key of
//! a group is in use, as in a flood of made-up keys, the newcomers share what there is: the table
//! then counts too much, never too little, and no offender is forgiven by being forgotten. (It is
//! the rule of the *space-saving* algorithm of Metwally, Agrawal and El Abbadi, ICDT 2005.)
//!
//! Two kinds of tables keep this law: [`Words`] without locks, for the algorithms whose state is
//! one number, and [`Shelves`] with many small locks, for the others.

mod shelves;
mod words;

pub(super) use self::{shelves::Shelves, words::Words};
