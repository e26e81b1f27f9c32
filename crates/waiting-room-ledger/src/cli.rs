//! The arguments of the program, and its commands.

mod arguments;
mod commands;

pub(crate) use self::{arguments::Arguments, commands::run};
