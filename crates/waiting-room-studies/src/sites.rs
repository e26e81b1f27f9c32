//! Many sites in front of one limit, and what each policy makes of it.
//!
//! ```text
//!  Crowd ──► Door (a policy) ──asks──► counters, ledgers         Truth: who is active, who waits
//!   │          ▲        │                                        ▲        │
//!   │          │ News   └─ admit, queue ─► Visitors ─► Wheel ────┘        └─► Report ─► figures
//!   │          │ (seconds late)            (pages, refreshes, lapses)
//!   └──────────┴── sites × nodes
//! ```
//!
//! What decides is the code of production: an `SiteAdmission` at each node and a `TicketCounter` for each
//! pool. Around it everything is simulated, and one place knows the truth: how many are active,
//! how many came in, and who stands in line. Nothing in the world can ask it but the ideal policy,
//! and what the others do is judged by it.
//!
//! All policies of a scenario meet the same visitors. A run depends on its seed alone.
//!
//! Each visitor takes 32 bytes and a few more for its question, and each event some hundred
//! nanoseconds, so that a day of a large site is a matter of minutes.

mod clock;
mod crowd;
mod door;
pub(crate) mod figures;
mod line;
mod news;
mod notes;
mod output;
mod recent;
mod report;
mod run;
mod scenario;
mod truth;
mod visitor;
mod world;

pub(crate) use self::{output::table, run::run, scenario::Scenario};
