//! The gates that are compared.

use std::time::Duration;

use axum::Router;
use clap::ValueEnum;
use tower_waiting_room::{Concurrency, gate::Discipline};

use super::{super::routers, work::Work};

/// A gate in front of the service. Each one admits as many requests as the service can do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    Bulkhead,
    BulkheadWaits,
    Haproxy,
    HaproxyPatient,
    Nothing,
    Ours,
    OursFifo,
    OursLong,
    Tower,
    TowerSheds,
    TowerTimesOut,
}

impl Contender {
    /// In the order of the tables.
    pub(super) const ALL: [Self; 11] = [
        Self::Nothing,
        Self::Tower,
        Self::TowerSheds,
        Self::TowerTimesOut,
        Self::Bulkhead,
        Self::BulkheadWaits,
        Self::HaproxyPatient,
        Self::Haproxy,
        Self::Ours,
        Self::OursLong,
        Self::OursFifo,
    ];

    /// The name of its row.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bulkhead => "tower-resilience bulkhead",
            Self::BulkheadWaits => "the same, max_wait_duration 100 ms",
            Self::Haproxy => "HAProxy, maxconn, timeout queue 100 ms",
            Self::HaproxyPatient => "HAProxy, maxconn, timeout queue 5 s",
            Self::Nothing => "no gate",
            Self::Ours => "ours",
            Self::OursFifo => "ours, Fifo for 5 s, a queue of 16 000",
            Self::OursLong => "ours, a queue of 16 000",
            Self::Tower => "tower's GlobalConcurrencyLimit",
            Self::TowerSheds => "the same, LoadShed",
            Self::TowerTimesOut => "the same, Timeout 200 ms",
        }
    }

    /// The timeout of HAProxy's queue, if this is HAProxy.
    pub(super) const fn haproxy_queue(self) -> Option<Duration> {
        if matches!(self, Self::Haproxy) {
            Some(SHORT)
        } else if matches!(self, Self::HaproxyPatient) {
            Some(LONG)
        } else {
            None
        }
    }

    /// Returns the service behind this gate. For HAProxy, which is a process of its own, that is
    /// the bare service.
    pub(super) fn app(self, work: Work) -> Router {
        let app = work.app();
        let limit = work.at_once();
        let gate = Concurrency::limit(limit);
        match self {
            Self::Bulkhead => routers::bulkhead(app, limit, |options| options),
            Self::BulkheadWaits => {
                routers::bulkhead(app, limit, |options| options.max_wait_duration(SHORT))
            }
            Self::Haproxy | Self::HaproxyPatient | Self::Nothing => app,
            Self::Ours => routers::ours(app, gate),
            Self::OursFifo => {
                let fifo = gate.queue(ENDLESS).max_wait(LONG).discipline(Discipline::Fifo);
                routers::ours(app, fifo)
            }
            Self::OursLong => routers::ours(app, gate.queue(ENDLESS)),
            Self::Tower => routers::tower(app, limit),
            Self::TowerSheds => routers::shedding(app, limit),
            Self::TowerTimesOut => routers::timing_out(app, limit, Duration::from_millis(200)),
        }
    }
}

/// The target of our controlled delay.
const SHORT: Duration = Duration::from_millis(100);

/// The default of our `max_wait`.
const LONG: Duration = Duration::from_secs(5);

/// More requests than ever wait.
const ENDLESS: u32 = 16_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_has_one_row() {
        let mut names = Contender::ALL.map(Contender::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Contender::value_variants().len());
    }
}
