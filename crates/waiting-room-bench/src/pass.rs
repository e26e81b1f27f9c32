//! What the layer costs for a visitor with a valid pass.

mod behind_axum;
mod bench;
mod cookie_jar;
mod without_axum;

pub(crate) use self::{behind_axum::BEHIND_AXUM, bench::run, without_axum::WITHOUT_AXUM};
