//! The record of a crowd: what each visitor sent and received, and the assertions on it.
//!
//! ```text
//!   answers of a visitor ─► streaks of waiting and being inside ─► assertions
//!      (visit.rs)              (streak.rs)                          (crowd.rs)
//!                                                                      └─ fairness.rs
//! ```
//!
//! An assertion fails only if the answers that the visitors saw prove a violation. A request was
//! decided at some time between its sending and its answer, and the assertions assume the time that
//! is best for the service.

mod crowd;
mod fairness;
mod streak;
mod visit;

pub use self::{
    crowd::CrowdRecord,
    visit::{AnswerRecord, Ending, VisitRecord},
};
