//! The record of a crowd: what each visitor sent and received, and the assertions on it.
//!
//! ```text
//!   answers of a visitor ─► streaks of waiting and being inside ─► assertions
//!      (visit.rs)              (streak.rs)                          (crowd.rs)
//!                                                                      ├─ early.rs: queued early
//!                                                                      └─ order.rs: overtaken
//! ```
//!
//! An assertion fails only if what the visitors saw proves that it is broken. A request was decided
//! at some time between its sending and its answer, so the assertions assume the time that is best
//! for the service.

mod crowd;
mod early;
mod order;
mod streak;
mod visit;

pub use self::{
    crowd::CrowdRecord,
    visit::{AnswerRecord, Ending, VisitRecord},
};
