//! Seeded crowds in front of a waiting room, and the oracle that judges what they saw.
//!
//! There are two independent ways to check whether a room keeps its promises. A third one, the suite
//! that every store must pass, is in `waiting-room-test`.
//!
//! | tool | compares | with |
//! |---|---|---|
//! | [`World`] | a room under a day of visitors, in virtual time | its promises, by the oracle |
//! | [`Oracle`] | any waiting room, even across a real network | its promises, from outside |
//!
//! ```text
//!   Trace ─► Arrivals ─► visitors ──requests──► room
//!   (a day)  (Poisson)      │ ▲                  │
//!                           │ └────answers───────┘
//!                           ▼
//!                        Oracle ─► Report
//! ```
//!
//! All randomness comes from a seed, and every seed is printed, so each finding can be reproduced.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use waiting_room_sim::{Scenario, Trace, World};
//!
//! // Ten quiet minutes, then ten in which three times as many visitors arrive as are admitted.
//! let counts = [30; 10].into_iter().chain([180; 10]);
//! let trace: Trace = counts.collect();
//!
//! let scenario = Scenario::new(7).limits(60, 60, Duration::from_secs(60));
//! let report = World::new(&scenario, &trace)?.run();
//! assert!(report.violations().is_empty());
//! assert_eq!(report.max_active, 60);
//! # Ok::<(), waiting_room_core::ConfigError>(())
//! ```
//!
//! # What it does not do
//!
//! It opens no socket, and reads a clock only for fresh seeds. The simulated layer does not speak
//! HTTP; `waiting-room-crowd` runs the same oracle against the real one.
//!
//! # Features
//!
//! `day`, off by default: `Day` reads the traffic of a real day from a CSV file.

mod arrivals;
#[cfg(feature = "day")]
mod day;
mod desk;
mod oracle;
mod person;
pub mod plan;
mod scenario;
mod seeds;
mod visitors;
mod world;

#[cfg(feature = "day")]
pub use self::day::{Day, DayError};
pub use self::{
    arrivals::{Arrivals, Trace},
    oracle::{
        Alarm, AlarmKind, EventPromise, EventReport, Limits, Oracle, Report, Seen, ShownPosition,
        VisitorNo,
    },
    scenario::{Scenario, ScheduledEvent},
    seeds::{SEED_VARIABLE, fresh_seeds, seeds},
    visitors::Habits,
    world::World,
};
