//! The shop: what the waiting room stands in front of.
//!
//! It knows nothing of the room but two things. `checkout.rs` ends the visitor's session, so that
//! the slot goes to the next in line at once; and `app.rs` says in which order the layers stand.

mod api;
mod app;
mod cart;
mod catalogue;
mod checkout;
mod pages;

pub use self::app::{app, app_that_works};
