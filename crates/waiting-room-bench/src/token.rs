//! What it takes to find, decode and open a token, and to seal one.

mod bench;
mod ciphers;
mod requests;

pub(crate) use self::{bench::run, ciphers::CIPHERS, requests::TOKENS};
