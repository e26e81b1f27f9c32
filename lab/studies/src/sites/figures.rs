//! The claims of the article about its policies, measured with several seeds: as tables, charts and
//! bars.
//!
//! The worlds are the scenario files of this crate, with other policies, delays and skews. All
//! charts are computed by running them.

mod breaks;
mod delays;
mod output;
mod pictures;
mod study;
mod tables;
mod timelines;
mod worlds;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    output::{print, write},
    study::Study,
    worlds::Size,
};
