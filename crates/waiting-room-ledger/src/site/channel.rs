//! The channel of one shared limit: the link between an account in the room of the site and the global
//! ledger of the limit, while a node speaks for the site.

use std::future::pending;

use tokio::time::Instant;
use waiting_room_core::Timestamp;
use waiting_room_redis::site::{AccountReport, SharedLimit, SiteReport, SiteTimes};
use waiting_room_sites::escrow::{EscrowRules, Incarnation, Refusal, ToGlobal, ToSite};

use crate::{
    Dial, LedgerLink,
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
    warned: Option<Refusal>,
}

/// The last message to the global ledger.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// The time of the message by the clock of the room.
    sent_at: Timestamp,
    returned: u64,
    is_answered: bool,
}

impl Channel {
    pub(super) fn new(limit: SharedLimit, room: String, rules: EscrowRules) -> Self {
        let times = times(&rules);
        Self { limit, times, room, rules, link: None, sent: None, warned: None }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Opens the channel of a life of the site, unless it is open.
    pub(super) fn open<D: Dial>(&mut self, options: &SiteOptions<D>, incarnation: u64) {
        if self.link.as_ref().is_some_and(|(life, _)| *life == incarnation) {
            return;
        }
        let (site, life) = (options.site.number(), format!("{incarnation:016x}"));
        tracing::info!(room = self.room, site, life, "speaks for the site");
        let link = options.link(&self.room, &self.rules, Incarnation::new(incarnation));
        (self.link, self.sent) = (Some((incarnation, link)), None);
    }

    /// Closes the channel, because another node speaks for the site.
    pub(super) fn close(&mut self) {
        (self.link, self.sent) = (None, None);
    }

    /// The next message of the global ledger. `None` if the link has ended, and the next report has to
    /// open another one.
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
    pub(super) fn is_due(&self, said: &SiteReport, account: &AccountReport) -> bool {
        let Some(sent) = self.sent else { return true };
        let (heartbeat, elapsed) = (self.times.heartbeat, sent.at.elapsed());
        let wants_tickets = said.counted.is_some_and(|it| it.wanted > it.tickets);
        let is_hasty = account.wanted > 0 || account.is_recalled || wants_tickets;
        let gives_back = account.is_recalled && account.returned > sent.returned;
        elapsed >= heartbeat
            || gives_back
            || is_hasty && (sent.is_answered || elapsed >= heartbeat / EscrowRules::HASTE)
    }

    /// The message of a site that holds slots.
    pub(super) fn message<D: Dial>(
        &self,
        options: &SiteOptions<D>,
        at: Timestamp,
        account: &AccountReport,
    ) -> ToGlobal {
        to_global(options.site, self.rules.digest(), at, account)
    }

    /// Sends a message, which is lost if there is no stream.
    pub(super) fn send(&mut self, message: ToGlobal, sent_at: Timestamp, account: &AccountReport) {
        let Some((_, link)) = &self.link else { return };
        link.send(message);
        let (at, returned) = (Instant::now(), account.returned);
        self.sent = Some(Sent { at, sent_at, returned, is_answered: false });
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
            ToSite::Refused(refused) if self.warned != Some(refused.reason) => {
                let (site, reason) = (options.site.number(), &refused.reason);
                tracing::warn!(
                    room = self.room,
                    site,
                    policy = ?options.policy,
                    ?reason,
                    "the global ledger refuses the site"
                );
                self.warned = Some(*reason);
            }
            ToSite::Welcome(_) | ToSite::World(_) => self.warned = None,
            _ => {}
        }
    }
}
