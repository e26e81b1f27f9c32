//! A seeded crowd in front of a room, in virtual time, and the oracle that judges what it saw.
//!
//! ```text
//!   Trace ─► Arrivals ─► visitors ──requests──► room
//!   (a day)  (Poisson)      │ ▲                  │
//!                           │ └────answers───────┘
//!                           ▼
//!                        Oracle ─► Report
//! ```

mod desk;
mod person;
mod scenario;
mod visitors;
mod world;

pub(crate) use self::{
    desk::{Desk, Door, Reply, Token},
    scenario::{Scenario, ScheduledEvent},
    visitors::{Crowd, Habits},
    world::World,
};
