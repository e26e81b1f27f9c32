//! Rooms with up to a million visitors: their longest operations, and a steady state.

mod crowd;
mod pauses;
mod steady;

pub(crate) use self::crowd::{OPENING, admit, full, line_up, wide};

use crate::effort::Effort;

/// Measures, and prints the tables.
pub(crate) fn run(effort: Effort) {
    println!("{}", pauses::run(effort));
    println!("{}", steady::check_ins(effort));
    println!("{}", steady::threads(effort));
}
