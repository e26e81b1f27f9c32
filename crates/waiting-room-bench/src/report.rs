//! What is shown: tables, each with its command and its machine.

mod bar;
mod figure;
mod machine;
mod requests;
mod table;

pub(crate) use self::{
    bar::Bar,
    figure::{NONE, cell, figure, range, spread},
    requests::{REQUESTS, requests},
    table::Report,
};
