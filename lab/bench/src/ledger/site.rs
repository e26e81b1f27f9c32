//! A site of the measurement, and the visitors who arrive there.

use std::time::Duration;

use anyhow::Result;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use tokio::time::{Instant, sleep_until};
use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_ledger::{
    Incarnation, SiteId, TcpDial,
    model::{Admission, LedgerLink, LinkOptions, SiteAction, SiteLedger, ToSite},
};

use crate::ledger::process::{ROOM, RULES, keys};

/// The observations of a site in the measured time.
#[derive(Debug, Default)]
pub(super) struct Lived {
    /// The times of the answers.
    pub(super) took: Vec<Duration>,
    /// The delays of this process with the work of a site.
    pub(super) late: Vec<Duration>,
}

/// A site, and the visitors who arrive there.
pub(super) struct Site {
    ledger: SiteLedger,
    link: LedgerLink,
    random: Xoshiro256PlusPlus,
    start: Instant,
    arrivals: f64,
    visitors: u128,
    /// The time of the last report that was answered.
    heard: Timestamp,
}

impl Site {
    pub(super) fn new(number: u16, address: &str, arrivals: f64) -> Result<Self> {
        let life = (SiteId::new(number), Incarnation::new(number.into()));
        let ledger = SiteLedger::new(life.0, life.1, RULES, Timestamp::from_secs(1))?;
        let options = LinkOptions::new(ROOM, life, &RULES, [address.to_owned()], keys()?);
        Ok(Self {
            ledger,
            link: LedgerLink::connect(TcpDial::new(), options),
            random: Xoshiro256PlusPlus::seed_from_u64(number.into()),
            start: Instant::now(),
            arrivals,
            visitors: 0,
            heard: Timestamp::ZERO,
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1) + self.start.elapsed()
    }

    /// Lives until `end`, and returns what it has seen since `begin`. `None` if the site has no account
    /// then.
    pub(super) async fn live(mut self, begin: Instant, end: Instant) -> Option<Lived> {
        let mut lived = Lived::default();
        let mut arrival = Instant::now() + self.gap();
        while Instant::now() < end {
            let wake = self.ledger.next_wake().since(Timestamp::from_secs(1));
            let due = (self.start + wake).min(arrival).min(end);
            tokio::select! {
                message = self.link.receive() => {
                    let message = message?;
                    let now = self.now();
                    if let ToSite::Grant(grant) = &message
                        && grant.heard > self.heard
                    {
                        self.heard = grant.heard;
                        if Instant::now() >= begin {
                            lived.took.push(now.since(grant.heard));
                        }
                    }
                    let actions = self.ledger.receive(&message, now);
                    self.carry_out(actions);
                }
                () = sleep_until(due) => {
                    if due >= begin {
                        lived.late.push(due.elapsed());
                    }
                    // Visitors do not wait for the answers to others, so none is left out.
                    while arrival <= Instant::now() {
                        self.arrive();
                        arrival += self.gap();
                    }
                    let actions = self.ledger.tick(self.now());
                    self.carry_out(actions);
                }
            }
        }
        (self.ledger.epoch().count() > 0).then_some(lived)
    }

    /// The time between two arrivals, which is exponential.
    fn gap(&mut self) -> Duration {
        if self.arrivals == 0.0 {
            return Duration::from_secs(3_600);
        }
        let gap = -(1.0 - self.random.random::<f64>()).ln() / self.arrivals;
        Duration::from_secs_f64(gap)
    }

    fn arrive(&mut self) {
        self.visitors += 1;
        self.ledger.arrived();
        let admission = self.ledger.admit(VisitorId::new(self.visitors), self.now());
        if let Admission::Borrow { request: Some(request), .. } = admission {
            self.link.send(request);
        }
    }

    fn carry_out(&self, actions: Vec<SiteAction>) {
        for action in actions {
            if let SiteAction::Send(message) = action {
                self.link.send(message);
            }
        }
    }
}
