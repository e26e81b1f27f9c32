//! The claims of the article about its policies, measured with several seeds: as tables, charts and
//! bars.
//!
//! All charts are computed by running the worlds in [`worlds`].

mod delays;
mod pictures;
mod study;
mod tables;
mod timelines;
mod worlds;

#[cfg(test)]
mod tests;

pub(crate) use self::study::run;
