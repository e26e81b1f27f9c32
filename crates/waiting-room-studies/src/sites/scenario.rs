//! What is simulated, once it is known to make sense.

mod error;
mod file;
mod happenings;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use self::error::ScenarioError;

/// One world and what comes to it. Times are in seconds, unless the name says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(super) name: String,
    pub(super) policies: Vec<Policy>,
    pub(super) seed: Option<u64>,
    pub(super) limits: Limits,
    pub(super) slots: SlotSettings,
    pub(super) sites: Sites,
    pub(super) visitors: Visitors,
    pub(super) network: Network,
    pub(super) traffic: Traffic,
    pub(super) moves: Vec<Move>,
    pub(super) faults: Vec<Fault>,
}

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Policy {
    Counters,
    Curve,
    Escrow,
    Even,
    Ideal,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counters => "counters",
            Self::Curve => "curve",
            Self::Escrow => "escrow",
            Self::Even => "even",
            Self::Ideal => "ideal",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) total_active_users: u32,
    pub(super) new_users_per_minute: u32,
    pub(super) session: u32,
}

/// What the policies of the article can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlotSettings {
    pub(super) any_floor: f64,
    pub(super) curve_factor: f64,
    pub(super) is_paced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sites {
    /// Nodes of each site.
    pub(super) nodes: Vec<u16>,
    /// The share of each site of the traffic.
    pub(super) weights: Vec<f64>,
    /// Zipf's exponent for the nodes of a site.
    pub(super) node_skew: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Visitors {
    /// The mean time from the first page to the last.
    pub(super) browsing: f64,
    /// The mean time between two pages.
    pub(super) think: f64,
    /// Who waits asks this often, and up to three tenths less often.
    pub(super) refresh: f64,
    /// The mean time after which somebody who waits gives up; `None` for never.
    pub(super) patience: Option<f64>,
    /// Share of the arrivals that are programs without cookies: each request is a new visitor.
    pub(super) bots: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    /// How old a snapshot is when a site hears of it.
    pub(super) news_delay: f64,
    /// How often one is made.
    pub(super) news_every: f64,
    /// Milliseconds there and back within a site, at least and at most.
    pub(super) site_rtt_ms: [u32; 2],
    /// Milliseconds there and back to the counter of Anywhere or to the global ledger.
    pub(super) wan_rtt_ms: [u32; 2],
}

/// How many come, as straight lines between points in time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Seconds from the start, and visitors in a minute.
    pub(super) points: Vec<(f64, f64)>,
}

/// From a time on, a share of the traffic goes to one site instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Move {
    pub(super) at: f64,
    pub(super) share: f64,
    pub(super) to: usize,
}

/// Something happens to a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) what: FaultKind,
    pub(super) site: usize,
    pub(super) from: f64,
    pub(super) until: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FaultKind {
    /// It cannot reach the other sites, nor they it. Its visitors go on.
    Cut,
    /// It is gone. Its visitors go to the others, with the passes they have.
    Dead,
}

impl Scenario {
    /// The name of the file, without its ending.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The seed that it asks for.
    pub(crate) const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// When the last point of the traffic is reached, in milliseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "49 days at most")]
    pub(super) fn length_ms(&self) -> u32 {
        (1_000.0 * self.traffic.ends()) as u32
    }
}

/// So many visitors in a minute are as many as the room can serve for long.
fn capacity_per_minute(limits: &Limits, visitors: &Visitors) -> f64 {
    let stay = f64::from(limits.session) + visitors.browsing;
    let turnover = 60.0 * f64::from(limits.total_active_users) / stay;
    turnover.min(f64::from(limits.new_users_per_minute))
}
