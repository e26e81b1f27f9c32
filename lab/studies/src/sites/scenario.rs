//! The settings of a world.

/// One world and its traffic. Times are in seconds unless the name contains another unit.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) limits: Limits,
    /// The factor of the curve policy.
    pub(super) curve_factor: f64,
    pub(super) sites: Sites,
    pub(super) visitors: Visitors,
    pub(super) network: Network,
    /// Seconds from the start, and visitors per minute; interpolated linearly.
    pub(super) traffic: Vec<(f64, f64)>,
    pub(super) faults: Vec<Fault>,
}

/// The policy that decides about new visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Counters,
    Curve,
    Escrow,
    Even,
    /// One ledger that knows everything at once.
    Ideal,
    /// The same, which holds visitors at the door for as long as the escrow does.
    IdealHolds,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) total_active_users: u32,
    pub(super) new_users_per_minute: u32,
    pub(super) session: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Sites {
    /// The number of nodes of each site.
    pub(super) nodes: Vec<u16>,
    /// The share of each site in the traffic.
    pub(super) weights: Vec<f64>,
    /// The exponent of Zipf's law for the nodes of a site.
    pub(super) node_skew: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Visitors {
    /// The mean time from the first page to the last.
    pub(super) browsing: f64,
    /// The mean time between two pages.
    pub(super) think: f64,
    /// The interval at which waiting visitors check in, lengthened by up to three tenths.
    pub(super) refresh: f64,
    /// The mean time after which a waiting visitor gives up; `None` for never.
    pub(super) patience: Option<f64>,
    /// The share of the arrivals that are programs without cookies: each of their requests is a new
    /// visitor.
    pub(super) bots: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// The age of a snapshot when a site receives it.
    pub(super) news_delay: f64,
    /// The interval between snapshots.
    pub(super) news_every: f64,
    /// The round-trip time within a site in milliseconds, minimum and maximum.
    pub(super) site_rtt_ms: [u32; 2],
    /// The round-trip time to the counter of Anywhere or to the global ledger in milliseconds,
    /// minimum and maximum.
    pub(super) wan_rtt_ms: [u32; 2],
}

/// A fault of a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) what: FaultKind,
    pub(super) site: usize,
    pub(super) from: f64,
    /// Infinite for a dead site.
    pub(super) until: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// The site and the others cannot reach each other. Its visitors stay.
    Cut,
    /// The site is gone. Its visitors go to the others, with their passes.
    Dead,
}

impl Scenario {
    /// A world without visitors, with these limits and sites. A session lasts for five minutes after
    /// the last page, and the traffic of a site follows its number of nodes.
    pub(super) fn new(
        total_active_users: u32,
        new_users_per_minute: u32,
        nodes: impl Into<Vec<u16>>,
    ) -> Self {
        let nodes = nodes.into();
        let weights = nodes.iter().map(|nodes| f64::from(*nodes)).collect();
        Self {
            limits: Limits { total_active_users, new_users_per_minute, session: 300 },
            curve_factor: 1.0,
            sites: Sites { nodes, weights, node_skew: 0.0 },
            visitors: Visitors {
                browsing: 120.0,
                think: 30.0,
                refresh: 20.0,
                patience: None,
                bots: 0.0,
            },
            network: Network {
                news_delay: 6.0,
                news_every: 2.0,
                site_rtt_ms: [2, 10],
                wan_rtt_ms: [60, 70],
            },
            traffic: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The number of arrivals, by points in minutes. A load of 1 is what the room can serve in the
    /// long run. Limits and visitors are set before.
    pub(super) fn load(self, points: &[(f64, f64)]) -> Self {
        let capacity = self.capacity_per_minute();
        self.per_minute(points.iter().map(|(minute, load)| (*minute, load * capacity)))
    }

    /// The number of arrivals in a minute, by points in minutes.
    pub(super) fn per_minute(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.traffic =
            points.into_iter().map(|(minute, visitors)| (60.0 * minute, visitors)).collect();
        self
    }

    /// Cuts off a site between two minutes.
    pub(super) fn cut(mut self, site: usize, from: f64, until: f64) -> Self {
        let what = FaultKind::Cut;
        self.faults.push(Fault { what, site, from: 60.0 * from, until: 60.0 * until });
        self
    }

    /// Kills a site at a minute.
    pub(super) fn dead(mut self, site: usize, from: f64) -> Self {
        let what = FaultKind::Dead;
        self.faults.push(Fault { what, site, from: 60.0 * from, until: f64::INFINITY });
        self
    }

    /// The time in milliseconds from the issue of a pass to its end.
    pub(super) const fn pass_ms(&self) -> u32 {
        1_000 * self.limits.session
    }

    /// The number of visitors per minute that the room can serve in the long run.
    pub(super) fn capacity_per_minute(&self) -> f64 {
        let stay = f64::from(self.limits.session) + self.visitors.browsing;
        let turnover = 60.0 * f64::from(self.limits.total_active_users) / stay;
        turnover.min(f64::from(self.limits.new_users_per_minute))
    }

    /// The time of the last point of the traffic, in milliseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "49 days at most")]
    pub(super) fn length_ms(&self) -> u32 {
        self.traffic.last().map_or(0, |(ends, _)| (1_000.0 * ends) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_limit_determines_the_capacity_of_the_room() {
        // 200 users who stay for 420 s are 28.6 per minute.
        let last = |new_users_per_minute| {
            let world = Scenario::new(200, new_users_per_minute, [3, 6, 1]);
            world.load(&[(0.0, 0.5), (10.0, 1.0)]).traffic[1]
        };
        assert!((last(100).1 - 28.57).abs() < 0.01 && last(100).0 > 599.0);
        assert!((last(20).1 - 20.0).abs() < 1e-9);
    }
}
