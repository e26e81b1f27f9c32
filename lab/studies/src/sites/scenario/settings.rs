//! The settings of a world, after they have been checked.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One world and its traffic. Times are in seconds unless the name contains another unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(in crate::sites) name: String,
    pub(in crate::sites) policies: Vec<Policy>,
    pub(in crate::sites) seed: Option<u64>,
    pub(in crate::sites) limits: Limits,
    pub(in crate::sites) slots: SlotSettings,
    pub(in crate::sites) sites: Sites,
    pub(in crate::sites) visitors: Visitors,
    pub(in crate::sites) network: Network,
    pub(in crate::sites) traffic: Traffic,
    /// A crowd of the `shop` example instead of traffic and visitors.
    pub(in crate::sites) crowd: Option<ShopCrowd>,
    pub(in crate::sites) moves: Vec<Move>,
    pub(in crate::sites) faults: Vec<Fault>,
}

/// The policy that decides about new visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Policy {
    Counters,
    Curve,
    Escrow,
    Even,
    /// One ledger that knows everything at once.
    Ideal,
    /// The same, which holds visitors at the door for as long as the escrow does.
    #[serde(rename = "ideal-holds")]
    IdealHolds,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counters => "counters",
            Self::Curve => "curve",
            Self::Escrow => "escrow",
            Self::Even => "even",
            Self::Ideal => "ideal",
            Self::IdealHolds => "ideal-holds",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct Limits {
    pub(in crate::sites) total_active_users: u32,
    pub(in crate::sites) new_users_per_minute: u32,
    pub(in crate::sites) session: u32,
}

/// The options of the policies of the article.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct SlotSettings {
    pub(in crate::sites) any_floor: f64,
    pub(in crate::sites) curve_factor: f64,
    pub(in crate::sites) is_paced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::sites) struct Sites {
    /// The number of nodes of each site.
    pub(in crate::sites) nodes: Vec<u16>,
    /// The share of each site in the traffic.
    pub(in crate::sites) weights: Vec<f64>,
    /// The exponent of Zipf's law for the nodes of a site.
    pub(in crate::sites) node_skew: f64,
    /// Whether rooms do as those of real sites: they ask for slots and draw tickets for all who wait in
    /// line, and not only for visitors at the door, know when each place in the minute is free again, and
    /// let a few more visitors ask than there will be slots.
    pub(in crate::sites) real_rooms: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct Visitors {
    /// The mean time from the first page to the last.
    pub(in crate::sites) browsing: f64,
    /// The mean time between two pages.
    pub(in crate::sites) think: f64,
    /// The interval at which waiting visitors check in, lengthened by up to three tenths.
    pub(in crate::sites) refresh: f64,
    /// The mean time after which a waiting visitor gives up; `None` for never.
    pub(in crate::sites) patience: Option<f64>,
    /// The share of the arrivals that are programs without cookies: each of their requests is a new
    /// visitor.
    pub(in crate::sites) bots: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct Network {
    /// The age of a snapshot when a site receives it.
    pub(in crate::sites) news_delay: f64,
    /// The interval between snapshots.
    pub(in crate::sites) news_every: f64,
    /// The round-trip time within a site in milliseconds, minimum and maximum.
    pub(in crate::sites) site_rtt_ms: [u32; 2],
    /// The round-trip time to the counter of Anywhere or to the global ledger in milliseconds,
    /// minimum and maximum.
    pub(in crate::sites) wan_rtt_ms: [u32; 2],
}

/// The number of arrivals, interpolated linearly between points in time.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::sites) struct Traffic {
    /// Seconds from the start, and visitors per minute.
    pub(in crate::sites) points: Vec<(f64, f64)>,
}

/// A crowd like that of the `shop` example: its arrivals and its behaviour follow from the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct ShopCrowd {
    pub(in crate::sites) visitors: u32,
    /// The time over which they arrive.
    pub(in crate::sites) over: f64,
    /// The time from the last arrival to the end of the run.
    pub(in crate::sites) drain: f64,
}

/// From a time on, a share of the traffic goes to one site instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct Move {
    pub(in crate::sites) at: f64,
    pub(in crate::sites) share: f64,
    pub(in crate::sites) to: usize,
}

/// A fault of a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sites) struct Fault {
    pub(in crate::sites) what: FaultKind,
    pub(in crate::sites) site: usize,
    pub(in crate::sites) from: f64,
    pub(in crate::sites) until: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::sites) enum FaultKind {
    /// The site and the others cannot reach each other. Its visitors stay.
    Cut,
    /// The site is gone. Its visitors go to the others, with their passes.
    Dead,
}

impl Scenario {
    /// The maximum number of sites.
    pub(crate) const MAX_SITES: usize = 1_000;
    /// The maximum number of nodes of a site.
    pub(super) const MAX_NODES: u16 = 1_000;
    /// The maximum round-trip time, in milliseconds.
    pub(super) const MAX_RTT_MS: u32 = 120_000;
    /// The maximum length of a scenario in minutes: thirty days.
    pub(super) const MAX_MINUTES: u32 = 30 * 24 * 60;
    /// The maximum session, in seconds. The ledgers refuse a longer one, because they keep a slot
    /// slightly longer than its session.
    pub(super) const MAX_SESSION: u32 = 24 * 60 * 60 - 1;

    /// The name of the file, without its extension.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The seed in the file.
    pub(crate) const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The time in milliseconds from the issue of a pass to its end. A pass that is younger than an
    /// eighth of a session is not extended, so in a crowd of the `shop` example, whose sessions are
    /// short, a pass lasts for an eighth longer, as in production.
    pub(in crate::sites) fn pass_ms(&self) -> u32 {
        1_000 * self.limits.session + self.renew_after_ms()
    }

    /// The age in milliseconds from which on a pass is extended.
    pub(in crate::sites) fn renew_after_ms(&self) -> u32 {
        self.crowd.map_or(0, |_| 1_000 * self.limits.session / 8)
    }

    /// The number of visitors per minute that the room can serve in the long run.
    pub(in crate::sites) fn capacity_per_minute(&self) -> f64 {
        capacity_per_minute(&self.limits, &self.visitors)
    }

    /// The time of the last point of the traffic, in milliseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "49 days at most")]
    pub(in crate::sites) fn length_ms(&self) -> u32 {
        (1_000.0 * self.traffic.ends()) as u32
    }
}

/// The number of visitors per minute that the room can serve in the long run.
pub(super) fn capacity_per_minute(limits: &Limits, visitors: &Visitors) -> f64 {
    let stay = f64::from(limits.session) + visitors.browsing;
    let turnover = 60.0 * f64::from(limits.total_active_users) / stay;
    turnover.min(f64::from(limits.new_users_per_minute))
}
