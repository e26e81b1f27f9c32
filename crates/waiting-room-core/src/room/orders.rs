//! The orders in which visitors are kept: by arrival, by lot, and by deadline.
//!
//! Each order is a [`Ranks`]: a sorted collection that can count the ranks before a given rank,
//! either all of them or only those of present visitors. A count is exact and reads only a small
//! part of the collection, no matter how much time has passed since the last operation and how many
//! visitors have gone away in the meantime.
//!
//! ```text
//!  summaries     ┌── last rank, count, valid until ──┐   one for each section, one for each chunk
//!  sections      [  chunks, times of presence  ][ … ]    up to 128 chunks
//!  chunks        [ o · o o ][ · · o ][ o o · ]           up to 64 ranks; o present, · away
//! ```
//!
//! A count is the sum of three parts: the summaries of the sections before the rank, the summaries
//! of the chunks before the rank in its section, and the ranks before it in its chunk. A summary is
//! valid until the first of its present visitors goes away. Then it is renewed. The summary of a
//! chunk is recomputed by reading the chunk, and the summary of a section is recomputed from
//! [`Times`](times::Times), which counts by binary search.

mod rank;
mod ranks;
mod summaries;
mod times;

pub(super) use self::{rank::Rank, ranks::Ranks};
