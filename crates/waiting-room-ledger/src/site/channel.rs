//! The channel of one shared limit: the link between an account in the room of the site and the global
//! ledger of the limit, while a node speaks for the site.

use std::{future::pending, time::Duration};

use tokio::time::Instant;
use waiting_room_core::Timestamp;
use waiting_room_redis::site::{AccountReport, SharedLimit, SiteReport, SiteTimes};

use crate::{
    Dial,
    escrow::{EscrowRules, Incarnation, JoinRefused, RulesDigest, ToGlobal, ToSite},
    link::LedgerLink,
    site::{
        messages::{times, to_global},
        options::SiteOptions,
    },
};

/// The channel of one limit.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) limit: SharedLimit,
    pub(super) times: SiteTimes,
    /// The name of the room in the global ledger, and the rules of its accounts.
    room: String,
    rules: EscrowRules,
    /// The link, while this node speaks for the site, and the incarnation that it belongs to.
    link: Option<(u64, LedgerLink)>,
    sent: Option<Sent>,
    warned: Option<JoinRefused>,
}

/// The last message to the global ledger.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// The time of the message by the clock of the room.
    sent_at: Timestamp,
    granted: u64,
    wanted: u64,
    is_answered: bool,
}

impl Sent {
    /// Returns whether the global ledger knows that visitors want slots, and had too few slots for
    /// them. The ledger then grants slots as soon as they are free. Further visitors at the door
    /// are reported at once, because they wait for only a moment; further visitors in line are not.
    fn is_served_later(&self, account: &AccountReport) -> bool {
        let granted = account.granted.saturating_sub(self.granted);
        let missing = self.wanted.saturating_sub(granted);
        missing > 0 && (!account.front.is_empty() || account.wanted <= missing)
    }
}

impl Channel {
    pub(super) fn new(limit: SharedLimit, room: String, rules: EscrowRules) -> Self {
        let times = times(&rules);
        Self { limit, times, room, rules, link: None, sent: None, warned: None }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Opens the channel for one of the site's lives, unless the channel is open already.
    pub(super) fn open<D: Dial>(&mut self, options: &SiteOptions<D>, incarnation: u64) {
        if self.link.as_ref().is_some_and(|(life, _)| *life == incarnation) {
            return;
        }
        let site = options.site.number();
        let life = format!("{incarnation:016x}");
        tracing::info!(room = self.room, site, life, "speaks for the site");
        let link = options.link(&self.room, &self.rules, Incarnation::new(incarnation));
        self.link = Some((incarnation, link));
        self.sent = None;
    }

    /// Closes the channel, because another node speaks for the site.
    pub(super) fn close(&mut self) {
        self.link = None;
        self.sent = None;
    }

    /// The next message of the global ledger. `None` if the link has ended, and the next report has
    /// to open another link.
    ///
    /// # Cancel safety
    ///
    /// No message is lost if the future is dropped.
    pub(super) async fn receive(&mut self) -> Option<ToSite> {
        let Some((_, open)) = &mut self.link else { return pending().await };
        let message = open.receive().await;
        if message.is_none() {
            self.link = None;
        }
        message
    }

    /// Returns whether a message has to be sent although the global ledger does not wait for one.
    pub(super) fn is_due(&self, report: &SiteReport, account: &AccountReport) -> bool {
        let Some(sent) = self.sent else { return true };
        let heartbeat = self.times.heartbeat;
        let elapsed = sent.at.elapsed();
        let wants_tickets = report.counted.is_some_and(|counted| counted.wanted > counted.tickets);
        let is_hasty = account.wanted > 0 || account.is_recalled || wants_tickets;
        let is_news = sent.is_answered && !sent.is_served_later(account);
        elapsed >= heartbeat || is_hasty && (is_news || elapsed >= self.haste())
    }

    /// The time until the next hasty message, if the last message asked for slots and the next is
    /// not due yet.
    pub(super) fn next_in(&self) -> Option<Duration> {
        let sent = self.sent.as_ref().filter(|sent| sent.wanted > 0)?;
        let left = self.haste().checked_sub(sent.at.elapsed())?;
        (!left.is_zero()).then_some(left)
    }

    /// The interval of messages while slots are wanted, here or elsewhere.
    fn haste(&self) -> Duration {
        self.times.heartbeat / EscrowRules::HASTE
    }

    /// The message of a site that holds slots.
    pub(super) fn message<D: Dial>(
        &self,
        options: &SiteOptions<D>,
        at: Timestamp,
        account: &AccountReport,
    ) -> ToGlobal {
        to_global(options.site, RulesDigest::of(&self.rules), at, account)
    }

    /// Sends a message, which is lost if there is no stream.
    pub(super) fn send(&mut self, message: ToGlobal, sent_at: Timestamp, account: &AccountReport) {
        let Some((_, link)) = &self.link else { return };
        link.send(message);
        let AccountReport { granted, wanted, .. } = *account;
        let at = Instant::now();
        self.sent = Some(Sent { at, sent_at, granted, wanted, is_answered: false });
    }

    /// Records that the last message was answered, and tells the operator of a refusal.
    pub(super) fn note<D: Dial>(&mut self, message: &ToSite, options: &SiteOptions<D>) {
        if let (ToSite::Grant(grant), Some(sent)) = (message, &mut self.sent) {
            sent.is_answered |= grant.heard >= sent.sent_at;
        }
        if let (ToSite::Tickets(_), Some(sent)) = (message, &mut self.sent) {
            sent.is_answered = true;
        }
        match message {
            ToSite::Refused(refused) => {
                let reason = JoinRefused::new(options.site, &self.rules, refused);
                if self.warned.replace(reason) != Some(reason) {
                    tracing::warn!(
                        room = self.room,
                        site = options.site.number(),
                        policy = ?options.policy,
                        %reason,
                        "the global ledger refuses the site"
                    );
                }
            }
            ToSite::Welcome(_) | ToSite::World(_) => self.warned = None,
            ToSite::Dead { .. }
            | ToSite::Grant(_)
            | ToSite::Report { .. }
            | ToSite::Stale { .. }
            | ToSite::Tickets(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{
        SharedKeys, SiteId,
        escrow::{Epoch, Refusal, Refused, Term},
        logged::Logged,
    };

    const RULES: EscrowRules = EscrowRules::new();

    fn account(granted: u64, wanted: u64) -> AccountReport {
        AccountReport {
            incarnation: 1,
            term: 1,
            epoch: (1, 1),
            has_account: true,
            granted,
            returned: 0,
            used: granted,
            wanted,
            demand: 0,
            lease_end: Timestamp::MAX,
            is_recalled: false,
            front: Vec::new(),
        }
    }

    /// The same account, but with a visitor in line.
    fn with_line(granted: u64, wanted: u64) -> AccountReport {
        AccountReport { front: vec![(Timestamp::ZERO, 1)], ..account(granted, wanted) }
    }

    /// A channel whose last message had this account, and was answered.
    fn answered(sent: &AccountReport) -> Channel {
        let mut channel = Channel::new(SharedLimit::ActiveVisitors, "shop".to_owned(), RULES);
        channel.sent = Some(Sent {
            at: Instant::now(),
            sent_at: Timestamp::ZERO,
            granted: sent.granted,
            wanted: sent.wanted,
            is_answered: true,
        });
        channel
    }

    /// Returns whether a site with this account sends another message at once after a message with
    /// the account `sent` was answered.
    fn is_due(sent: &AccountReport, slots: AccountReport) -> bool {
        let channel = answered(sent);
        let at = Timestamp::ZERO;
        let report = SiteReport { at, speaks: true, free: 0, slots, minute: None, counted: None };
        channel.is_due(&report, &report.slots)
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_with_a_line_asks_again_at_once_only_after_a_full_grant() {
        assert!(!is_due(&account(10, 0), with_line(10, 0)), "nothing is wanted");
        assert!(is_due(&account(10, 0), with_line(10, 1)));
        assert!(is_due(&account(10, 3), with_line(13, 1)));
        // The missing slots arrive as soon as they are free.
        assert!(!is_due(&account(10, 3), with_line(12, 2)));
        // Visitors at the door wait for only a moment, so further ones are reported at once.
        assert!(is_due(&account(10, 3), account(12, 2)));
        assert!(!is_due(&account(10, 3), account(12, 1)));
    }

    #[test]
    fn the_log_states_why_a_site_is_refused() {
        let (logged, _guard) = Logged::begin();
        let mut channel = Channel::new(SharedLimit::ActiveVisitors, "shop".to_owned(), RULES);
        let keys = SharedKeys::parse(&"a".repeat(64)).unwrap();
        let options = SiteOptions::new(SiteId::new(3), RULES, ["ledger:7400".to_owned()], keys);
        let mut receive = |reason| {
            let life = (Incarnation::new(7), Epoch::default());
            let refused = Refused::new(Term::new(1), life.0, life.1, reason);
            channel.note(&ToSite::Refused(refused), &options);
        };
        let rules = RULES.session(Duration::from_secs(60));
        for _ in 0..2 {
            receive(Refusal::Rules { rules, digest: RulesDigest::of(&rules) });
        }
        receive(Refusal::NotListed);
        let told = "WARN the global ledger refuses the site room=shop site=3 policy=Escrow reason=";
        assert_eq!(
            logged.with("refuses the site"),
            [
                format!("{told}session is 300s at the site and 60s in the global ledger"),
                format!("{told}site 3 is not on the list of the global ledger"),
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn while_slots_are_wanted_messages_follow_each_other_at_the_hasty_interval() {
        let hasty = RULES.times()[3].1 / EscrowRules::HASTE;
        assert_eq!(answered(&account(10, 0)).next_in(), None);
        let channel = answered(&account(10, 1));
        assert_eq!(channel.next_in(), Some(hasty));
        tokio::time::advance(hasty / 4).await;
        assert_eq!(channel.next_in(), Some(hasty * 3 / 4));
        tokio::time::advance(hasty).await;
        assert_eq!(channel.next_in(), None, "it is late already");
    }
}
