//! Many sites in front of one limit, policy by policy.
//!
//! ```text
//!  Crowd ──► Door (a policy) ──asks──► counters, ledgers         Truth: the exact state
//!   │          ▲        │                                        ▲        │
//!   │          │ News   └─ admit, queue ─► Visitors ─► Wheel ────┘        └─► Report ─► figures
//!   │          │ (seconds late)            (pages, refreshes, lapses)
//!   └──────────┴── sites × nodes
//! ```
//!
//! The decisions are made by the code of production: a `SiteAdmission` at each node, and a
//! `TicketCounter` for each pool. Everything around it is simulated, and one place holds the exact
//! state: how many visitors are active, how many were admitted, and which visitors wait in the
//! line. Only the ideal policy can query this state; the other policies are judged by it.
//!
//! All policies of a scenario meet the same visitors. A run depends only on its seed.
//!
//! Each visitor takes 32 bytes, and a few more for its pending question, and each event takes some
//! hundred nanoseconds. So a day of a large site takes minutes.

mod clock;
mod crowd;
mod door;
mod figures;
mod line;
mod news;
mod notes;
mod recent;
mod report;
mod scenario;
mod truth;
mod visitor;
mod world;

pub(crate) use self::figures::run;
