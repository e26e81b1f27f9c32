//! What the article claims of its policies, run with several seeds, as tables, pictures and bars.
//!
//! The worlds are the scenario files of this crate, with other policies, delays and skews. The
//! pictures are computed by running them and by nothing else.

mod delays;
mod output;
mod study;
mod tables;
mod worlds;

#[cfg(test)]
mod tests;

pub(crate) use self::{
    output::{print, write},
    study::{Size, Study},
};
