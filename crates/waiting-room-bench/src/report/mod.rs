//! What is shown: tables, each with its command and its machine.

mod bar;
mod figure;
mod machine;
mod table;

pub(crate) use self::{
    bar::Bar,
    figure::{NONE, figure, range, spread},
    table::Report,
};
