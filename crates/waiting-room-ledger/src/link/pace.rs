//! The pace of a link: the heartbeats that it leaves out, and the pauses between its attempts to
//! connect.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::escrow::{Epoch, Heartbeat, Term, ToGlobal};

/// Pauses that grow, with jitter, so that sites do not return at the same instant.
///
/// For the first seconds after a loss, the pauses stay below [`SOON`](Self::SOON), because a
/// standby takes over within 3 s. After that, the pauses grow to [`LONGEST`](Self::LONGEST).
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    random: u64,
    since: Option<Timestamp>,
    attempts: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const SOON: Duration = Duration::from_millis(500);
    const HOPEFUL: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_secs(5);

    /// Creates pauses whose jitter follows from `seed`.
    pub(super) const fn new(seed: u64) -> Self {
        Self { random: seed, since: None, attempts: 0 }
    }

    /// Records that a stream was opened.
    pub(super) const fn reset(&mut self) {
        self.since = None;
        self.attempts = 0;
    }

    /// The pause after another attempt that has failed at `now`: between half of the nominal pause
    /// and all of it.
    pub(super) fn next(&mut self, now: Timestamp) -> Duration {
        let since = *self.since.get_or_insert(now);
        let most = if now.since(since) < Self::HOPEFUL { Self::SOON } else { Self::LONGEST };
        let nominal = Self::FIRST.saturating_mul(1 << self.attempts.min(16)).min(most);
        self.attempts = self.attempts.saturating_add(1);
        let half = nominal / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_nanos(self.random() % spread)
    }

    /// SplitMix64, which is enough for jitter.
    const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

/// Leaves out heartbeats that repeat the last one, until an eighth of the lease is used.
///
/// A heartbeat has two purposes: it reports what has changed, and it renews the lease. If nothing
/// has changed, the lease alone decides. So a site without visitors sends eight messages per lease
/// instead of one per second, and a site with visitors leaves out none.
///
/// Each stream has its own filter, so the first heartbeat of each stream is sent.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    lease: Duration,
    last: Option<(Report, Timestamp)>,
}

/// The content of a heartbeat without its times.
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
            // The heartbeat after a claim or a request to join is always sent.
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

    use crate::{
        SiteId,
        escrow::{EscrowRules, GlobalLedger, Incarnation},
        model::{SiteAction, SiteLedger},
    };

    use super::*;

    /// The times of the attempts that are made `within` this time after a loss.
    fn attempts(seed: u64, within: Duration) -> Vec<Duration> {
        let mut backoff = Backoff::new(seed);
        let mut now = Timestamp::from_secs(1000);
        let begin = now;
        let mut times = Vec::new();
        loop {
            now = now + backoff.next(now);
            if now.since(begin) > within {
                return times;
            }
            times.push(now.since(begin));
        }
    }

    #[test]
    fn for_ten_seconds_no_pause_is_longer_than_half_a_second() {
        for seed in 0..50 {
            let times = attempts(seed, Duration::from_secs(10));
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(longest <= Duration::from_millis(500), "seed {seed}: {longest:?}");
            assert!(times.len() < 50, "seed {seed}: {}", times.len());
        }
    }

    #[test]
    fn later_the_pauses_grow_to_five_seconds_and_no_further() {
        for seed in 0..50 {
            let times = attempts(seed, Duration::from_secs(600));
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(longest <= Duration::from_secs(5), "seed {seed}: {longest:?}");
            assert!(times.len() < 50 + 240, "seed {seed}: {}", times.len());
        }
    }

    #[test]
    fn sites_return_at_different_times_and_a_stream_begins_anew() {
        let within = Duration::from_secs(1);
        assert_ne!(attempts(1, within), attempts(2, within));
        let mut backoff = Backoff::new(1);
        let now = Timestamp::from_secs(5);
        for _ in 0..20 {
            backoff.next(now);
        }
        backoff.reset();
        assert!(backoff.next(now) <= Backoff::FIRST);
    }

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
            let id = SiteId::new(1);
            let rules = EscrowRules::new().lease(LEASE);
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
    fn changes_are_sent_with_the_next_heartbeat() {
        let mut world = World::new();
        world.run(1..=10);
        let before = world.sent;
        let now = Timestamp::from_secs(10);
        world.site.arrived();
        if let crate::model::Admission::Borrow { request: Some(request), .. } =
            world.site.admit(VisitorId::new(1), now)
        {
            world.carry_out(vec![SiteAction::Send(request)], now);
        }
        assert_eq!(world.sent, before + 1, "a borrower asks at once");
        world.run(11..=11);
        assert_eq!(world.sent, before + 2, "the slot is in use");
    }
}
