//! The orders in which visitors are kept: by arrival, by lot, and by deadline.
//!
//! Each order is a [`Ranks`]: a sorted collection that can count the ranks before a given rank, or
//! only those that are still present. However much time has passed since the last verb, and however
//! many visitors have gone away or lapsed meanwhile, a count is exact and reads a small part of the
//! collection.
//!
//! ```text
//!  summaries     ┌── last rank, count, valid until ──┐   one for each section, one for each chunk
//!  sections      [  chunks, times of presence  ][ … ]    up to 128 chunks
//!  chunks        [ o · o o ][ · · o ][ o o · ]           up to 64 ranks; o present, · away
//! ```
//!
//! A count adds up the summaries of the sections before the rank, then those of the chunks before
//! it in its section, then the ranks before it in its chunk. A summary is valid until the first of
//! its visitors goes away. Then the summary of a chunk is renewed by reading the chunk, and that of
//! a section from [`Times`], which counts by binary search.

mod rank;
mod ranks;
mod summaries;
mod times;

pub(super) use self::{rank::Rank, ranks::Ranks};
