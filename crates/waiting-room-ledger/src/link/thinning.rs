//! Heartbeats that say nothing new.

use std::time::Duration;

use waiting_room_core::Timestamp;
use waiting_room_sites::escrow::{Epoch, Heartbeat, Term, ToGlobal};

/// Leaves out heartbeats that repeat the last one, until an eighth of the lease is used.
///
/// A heartbeat has two purposes: it reports what has changed, and it renews the lease. If nothing
/// has changed, the lease alone decides. So a site without visitors sends eight messages in the time
/// of a lease instead of one each second, and a site with visitors sends as many as before.
///
/// One of these belongs to one stream, so the first heartbeat of each stream is sent.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    lease: Duration,
    last: Option<(Report, Timestamp)>,
}

/// What a heartbeat reports, without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    term: Term,
    epoch: Epoch,
    counts: [u64; 5],
}

impl Thinning {
    pub(super) const fn new(lease: Duration) -> Self {
        Self { lease, last: None }
    }

    /// Returns whether a message has to be sent, and records that it is.
    pub(super) fn passes(&mut self, message: &ToGlobal) -> bool {
        let ToGlobal::Heartbeat(heartbeat) = message else {
            // What follows a claim or a request to join is news.
            self.last = None;
            return true;
        };
        let report = Report::of(heartbeat);
        let is_repeated = self.last.is_some_and(|(last, sent_at)| {
            last == report && heartbeat.sent_at.since(sent_at) < self.lease / 8
        });
        // A visitor waits, or the lease is running out because an answer was lost.
        let is_urgent = heartbeat.want > 0
            || heartbeat.lease_end.since(heartbeat.sent_at) < self.lease - self.lease / 4;
        if is_repeated && !is_urgent {
            return false;
        }
        self.last = Some((report, heartbeat.sent_at));
        true
    }
}

impl Report {
    const fn of(heartbeat: &Heartbeat) -> Self {
        let &Heartbeat { term, epoch, granted, returned, used, want, demand, .. } = heartbeat;
        Self { term, epoch, counts: [granted, returned, used, want, demand] }
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::VisitorId;
    use waiting_room_sites::{
        SiteId,
        escrow::{EscrowRules, GlobalLedger, Incarnation, SiteAction, SiteLedger},
    };

    use super::*;

    const LEASE: Duration = Duration::from_secs(120);

    /// A site and its global ledger, with a filter between them.
    struct World {
        site: SiteLedger,
        global: GlobalLedger,
        thinning: Thinning,
        sent: usize,
    }

    impl World {
        fn new() -> Self {
            let (id, rules) = (SiteId::new(1), EscrowRules::new().lease(LEASE));
            let now = Timestamp::from_secs(1);
            Self {
                site: SiteLedger::new(id, Incarnation::new(1), rules, now).unwrap(),
                global: GlobalLedger::new(100, [id], Term::new(1), rules).unwrap(),
                thinning: Thinning::new(LEASE),
                sent: 0,
            }
        }

        fn carry_out(&mut self, mut actions: Vec<SiteAction>, now: Timestamp) {
            while let Some(action) = actions.pop() {
                let SiteAction::Send(message) = action else { continue };
                if !self.thinning.passes(&message) {
                    continue;
                }
                self.sent += 1;
                for answer in self.global.receive(&message, now) {
                    actions.extend(self.site.receive(&answer.message, now));
                }
            }
        }

        fn run(&mut self, seconds: std::ops::RangeInclusive<u64>) {
            for second in seconds {
                let now = Timestamp::from_secs(second);
                let actions = self.site.tick(now);
                self.carry_out(actions, now);
            }
        }
    }

    #[test]
    fn an_idle_site_sends_eight_heartbeats_in_a_lease_and_keeps_it() {
        let mut world = World::new();
        world.run(1..=1);
        world.sent = 0;
        for minute in 0..60 {
            let from = 2 + 60 * minute;
            world.run(from..=from + 59);
            let now = Timestamp::from_secs(from + 59);
            let left = world.site.lease_end().since(now);
            assert!(left >= LEASE - LEASE / 4, "{left:?} are left in minute {minute}");
        }
        assert!((235..=250).contains(&world.sent), "{} in an hour", world.sent);
    }

    #[test]
    fn what_has_changed_is_sent_with_the_next_heartbeat() {
        let mut world = World::new();
        world.run(1..=10);
        let before = world.sent;
        let now = Timestamp::from_secs(10);
        world.site.arrived();
        if let waiting_room_sites::escrow::Admission::Borrow { ask: Some(ask), .. } =
            world.site.admit(VisitorId::new(1), now)
        {
            world.carry_out(vec![SiteAction::Send(ask)], now);
        }
        assert_eq!(world.sent, before + 1, "a borrower asks at once");
        world.run(11..=11);
        assert_eq!(world.sent, before + 2, "the slot is in use");
    }
}
