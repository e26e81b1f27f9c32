//! The state of a site as one node knows it, and the visitors that wait at the door of the node.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, watch};
use waiting_room_core::{Timestamp, time::Clock};
use waiting_room_redis::site::{AccountReport, Counted, NodeReport, SiteReport};

use crate::{escrow::EscrowRules, site::judge::Judge, slots::Minute};

/// The time for which a node speaks for its site without reporting again.
const SPEAKS_FOR: Duration = Duration::from_secs(5);
/// The time for which a report of the visitors at the door of a node is valid.
const DOOR_FOR: Duration = Duration::from_secs(1);

/// The state of a node that its verbs and its agent share. The atomics are independent of each
/// other, so all accesses are relaxed.
#[derive(Debug)]
pub(super) struct SiteState {
    /// The random name of the node, and the incarnation that begins if the site has none.
    node: u64,
    incarnation: AtomicU64,
    clock: Arc<dyn Clock>,
    judge: Mutex<Judge>,
    /// The time for which a place in the minute is held, if the sites share the limit on new visitors.
    minute: Option<Duration>,
    /// The time at which the next running lease ends, as last reported, in nanoseconds by the clock
    /// of the room; 0 if no lease is running.
    lease_end: AtomicU64,
    /// The epoch of the account, its term in the upper half; 0 without an account.
    epoch: AtomicU64,
    /// The end of the minute in which Anywhere's counter has no ticket left, in nanoseconds by the
    /// clock of the room; 0 if it may have some.
    dry_until: AtomicU64,
    /// The new visitors since the last report.
    arrivals: AtomicU64,
    /// The number of visitors at the door, and how many of these have no place in line yet.
    at_door: AtomicU32,
    newcomers_at_door: AtomicU32,
    /// The number of visitors who may enter. Every report counts as a change.
    free: watch::Sender<u64>,
    /// Wakes the agent, because a visitor waits at the door.
    pub(super) knocked: Notify,
}

/// A visitor at the door, who waits until this value is dropped.
#[derive(Debug)]
pub(super) struct AtDoor<'a> {
    state: &'a SiteState,
    is_in_line: bool,
    /// The slots that others take before this visitor may enter.
    ahead: u64,
    free: watch::Receiver<u64>,
}

impl SiteState {
    /// Creates the state of a node with the rules of its accounts: the account of slots and, if the
    /// sites share the limit on new visitors, the account of the minute.
    pub(super) fn new(
        slots: &EscrowRules,
        minute: Option<&EscrowRules>,
        clock: Arc<dyn Clock>,
        random: [u64; 2],
    ) -> Self {
        let lease_of = |rules: &EscrowRules| rules.times()[1].1;
        let lease = minute.map_or(Duration::ZERO, lease_of).max(lease_of(slots));
        Self {
            node: random[0],
            incarnation: AtomicU64::new(random[1]),
            clock,
            judge: Mutex::new(Judge::new(lease)),
            minute: minute.map(|rules| rules.times()[0].1),
            lease_end: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            dry_until: AtomicU64::new(0),
            arrivals: AtomicU64::new(0),
            at_door: AtomicU32::new(0),
            newcomers_at_door: AtomicU32::new(0),
            free: watch::Sender::new(0),
            knocked: Notify::new(),
        }
    }

    /// Counts a new visitor.
    pub(super) fn arrived(&self) {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }

    /// The report of the node to the room. Its arrivals are not counted again, unless the report
    /// [fails](Self::not_reported).
    pub(super) fn report(&self) -> NodeReport {
        NodeReport {
            node: self.node,
            incarnation: self.incarnation.load(Ordering::Relaxed),
            arrivals: self.arrivals.swap(0, Ordering::Relaxed),
            at_door: self.newcomers_at_door.load(Ordering::Relaxed),
            door_for: DOOR_FOR,
            judged: self.judged(),
            speaks_for: SPEAKS_FOR,
            minute: self.minute,
        }
    }

    pub(super) fn not_reported(&self, report: &NodeReport) {
        self.arrivals.fetch_add(report.arrivals, Ordering::Relaxed);
    }

    /// Learns from a report, and wakes the visitors at the door if there are slots.
    pub(super) fn update(&self, report: &SiteReport) {
        let received = self.clock.now();
        let mut judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        judge.observe(report.at, received);
        let judged = judge.at(received);
        drop(judge);
        let accounts = || [&report.slots].into_iter().chain(&report.minute);
        let is_leased = |account: &AccountReport| {
            account.has_account && account.lease_end > judged.max(report.at)
        };
        let lease_ends = accounts()
            .filter(|account| is_leased(account))
            .map(|account| account.lease_end.as_nanos());
        self.lease_end.store(lease_ends.min().unwrap_or(0), Ordering::Relaxed);
        let (term, count) = if report.slots.has_account { report.slots.epoch } else { (0, 0) };
        self.epoch.store(u64::from(term) << 32 | u64::from(count), Ordering::Relaxed);
        let proposed = self.incarnation.load(Ordering::Relaxed);
        if accounts().any(|account| account.incarnation == proposed) {
            // The incarnation is in use, so the next life of the site needs another one.
            self.incarnation.store(another(proposed), Ordering::Relaxed);
        }
        let dry_until = report.counted.as_ref().map_or(0, |counted| dry_until(counted).as_nanos());
        self.dry_until.store(dry_until, Ordering::Relaxed);
        let may_enter = report.counted.is_some() || accounts().all(is_leased);
        self.show_free(if may_enter { report.free } else { 0 });
    }

    /// The term and the count of the account's epoch, as last reported; zeros without an account.
    pub(super) fn epoch(&self) -> (u32, u32) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "each half is a number of 32 bits")]
        ((epoch >> 32) as u32, epoch as u32)
    }

    /// At a site that counts, returns whether no slot can come from elsewhere in this minute.
    pub(super) fn is_dry(&self, now: Timestamp) -> bool {
        now.as_nanos() < self.dry_until.load(Ordering::Relaxed)
    }

    pub(super) fn show_free(&self, free: u64) {
        self.free.send_replace(free);
    }

    /// Returns whether the sites share the limit on new visitors.
    pub(super) const fn shares_minute(&self) -> bool {
        self.minute.is_some()
    }

    /// Returns whether a lease that was running at the last report is over by the clock of this
    /// machine. The room then has to be told.
    pub(super) fn is_lease_over(&self) -> bool {
        let lease_end = self.lease_end.load(Ordering::Relaxed);
        lease_end > 0 && lease_end <= self.judged().as_nanos()
    }

    /// The earliest time that the room must show.
    fn judged(&self) -> Timestamp {
        let now = self.clock.now();
        self.judge.lock().unwrap_or_else(PoisonError::into_inner).at(now)
    }

    /// Returns whether a visitor waits.
    pub(super) fn has_visitors_at_door(&self) -> bool {
        self.at_door.load(Ordering::Relaxed) > 0
    }

    /// Lets a visitor wait for a slot from elsewhere, after `ahead` others have got one; `None` if
    /// too many wait already. Visitors who are in line are counted by the room itself.
    pub(super) fn wait(&self, is_in_line: bool, ahead: u32) -> Option<AtDoor<'_>> {
        let most = u32::try_from(EscrowRules::MAX_BORROWERS).unwrap_or(u32::MAX);
        let waits = |count| (count < most).then_some(count + 1);
        self.at_door.fetch_update(Ordering::Relaxed, Ordering::Relaxed, waits).ok()?;
        let mut free = self.free.subscribe();
        free.mark_unchanged();
        if !is_in_line {
            self.newcomers_at_door.fetch_add(1, Ordering::Relaxed);
        }
        self.knocked.notify_one();
        Some(AtDoor { state: self, is_in_line, ahead: ahead.into(), free })
    }
}

impl AtDoor<'_> {
    /// Completes when reports from now on show that this visitor may enter, or that the site can
    /// get no slot in this minute. A slot that stays free counts again with each report, so
    /// visitors ahead who do not show up only delay this visitor.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub(super) async fn chance(&mut self) {
        while self.free.changed().await.is_ok() {
            let is_dry = self.state.dry_until.load(Ordering::Relaxed) > 0;
            let free = *self.free.borrow_and_update();
            if is_dry || free > self.ahead {
                return;
            }
            self.ahead -= free;
        }
        // Without an agent there is no chance.
        std::future::pending().await
    }
}

impl Drop for AtDoor<'_> {
    fn drop(&mut self) {
        self.state.at_door.fetch_sub(1, Ordering::Relaxed);
        if !self.is_in_line {
            self.state.newcomers_at_door.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The end of the minute if Anywhere's counter has no ticket left in it, and the start of time
/// otherwise.
fn dry_until(counted: &Counted) -> Timestamp {
    let has_none = counted.knows_world && counted.anywhere == 0;
    if has_none || counted.is_dry { Minute::new(counted.minute).end() } else { Timestamp::ZERO }
}

/// Derives other random-looking bits with SplitMix64.
const fn another(bits: u64) -> u64 {
    let mut bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future as _,
        task::{Context, Poll, Waker},
    };

    use waiting_room_core::time::ManualClock;

    use super::*;

    #[test]
    fn a_visitor_at_the_door_leaves_the_first_slots_to_visitors_ahead() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000)));
        let state = SiteState::new(&EscrowRules::new(), None, clock, [1, 2]);
        let [mut first, mut fourth] = [0, 3].map(|ahead| state.wait(true, ahead).unwrap());
        let has_chance = |door: &mut AtDoor<'_>| {
            let chance = std::pin::pin!(door.chance());
            chance.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
        };
        assert!(!has_chance(&mut first), "no slot is free");
        state.show_free(2);
        assert!(has_chance(&mut first));
        assert!(!has_chance(&mut fourth), "the first two slots go to others");
        state.show_free(1);
        assert!(!has_chance(&mut fourth), "and the third");
        state.show_free(1);
        assert!(has_chance(&mut fourth));
    }
}
