//! The bars: the most that each kind of request may cost, beside its peer, in one table.

mod bench;
mod costs;
mod counted;
mod timed;

pub(crate) use self::{
    bench::{Rows, run},
    counted::TOGETHER,
};
