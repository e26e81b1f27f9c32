//! What the cases are set in: a room, visitors with tokens, requests, and services around which
//! nothing, something or the layer is put.

mod counting_store;
mod drive;
mod forward;
mod process;
mod ready;
mod request;
mod visitors;

pub(crate) use self::{
    counting_store::CountingStore,
    drive::{drive, drive_router, hello, runtime},
    forward::{Deciding, Forwarding},
    process::{Process, end_with_starter, say},
    ready::Ready,
    request::Template,
    visitors::{config, cookie_of, key, token},
};
