//! The agent of a node: it reports to the room, and speaks for the site if no other node does.
//!
//! ```text
//!  verbs ─ arrivals, visitors at the door ─► agent ◄──── report, hear ────► room on Redis
//!                                              │
//!                     one node of the site: LedgerLink ◄────► global ledger
//! ```
//!
//! The room remembers for five seconds which node speaks for the site. That saves messages only: two
//! nodes that speak for a moment repeat each other, which does no harm.

use std::{sync::Arc, time::Duration};

use tokio::{
    select,
    time::{Instant, sleep},
};
use waiting_room_core::{Store, Timestamp};
use waiting_room_redis::{
    RedisStore,
    site::{SiteReport, SiteTimes},
};
use waiting_room_sites::escrow::{EscrowRules, Incarnation, Refusal, ToGlobal, ToSite};

use crate::{
    Dial, LedgerLink, Policy,
    site::{
        counting::Counting,
        messages::{for_room, times, to_global},
        options::SiteOptions,
        state::SiteState,
    },
};

/// How often a node looks for slots while visitors wait at its door.
const LOOK: Duration = Duration::from_millis(100);

/// The task of a node that reports and, if it speaks for the site, carries messages.
#[derive(Debug)]
pub(super) struct Agent<D> {
    state: Arc<SiteState>,
    room: RedisStore,
    name: String,
    options: SiteOptions<D>,
    times: SiteTimes,
    /// What the agent of a site that counts knows of the world.
    counting: Option<Counting>,
    /// The link, while this node speaks for the site, and the incarnation that it belongs to.
    link: Option<(u64, LedgerLink)>,
    sent: Option<Sent>,
    warned: Option<Refusal>,
    is_failing: bool,
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

/// Why a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The global ledger waits for the report.
    Asked,
    /// Time has passed, or a visitor waits.
    Usual,
}

impl<D: Dial> Agent<D> {
    pub(super) fn new(
        state: Arc<SiteState>,
        room: RedisStore,
        name: &str,
        options: SiteOptions<D>,
    ) -> Self {
        let (times, digest) = (times(&options.rules), options.rules.digest());
        let counting = match options.policy {
            Policy::Counters => Some(Counting::new(options.site, digest)),
            Policy::Escrow => None,
        };
        Self {
            state,
            room,
            name: name.to_owned(),
            options,
            times,
            counting,
            link: None,
            sent: None,
            warned: None,
            is_failing: false,
        }
    }

    /// Reports and carries messages until the task is aborted.
    pub(super) async fn run(mut self) {
        self.report(Cause::Usual).await;
        loop {
            let pause = self.pause();
            let message = select! {
                message = next_message(&mut self.link) => message,
                () = self.state.knocked.notified() => None,
                () = sleep(pause) => None,
            };
            match message {
                Some(message) => self.hear(&message).await,
                None => self.report(Cause::Usual).await,
            }
        }
    }

    /// The time until the next report.
    fn pause(&self) -> Duration {
        let heartbeat = self.times.heartbeat;
        let usual = if self.link.is_some() { heartbeat / EscrowRules::HASTE } else { heartbeat };
        if self.state.has_visitors_at_door() { usual.min(LOOK) } else { usual }
    }

    /// Reports to the room, and then to the global ledger if this node speaks for the site.
    async fn report(&mut self, cause: Cause) {
        let report = self.state.report();
        let said = match self.room.report_of_site(&report).await {
            Ok(said) => said,
            Err(error) => {
                self.state.not_reported(&report);
                if !self.is_failing {
                    tracing::warn!(room = self.name, %error, "the room of the site does not answer");
                }
                self.is_failing = true;
                return;
            }
        };
        self.is_failing = false;
        self.state.learn(&said);
        if said.speaks {
            self.plan(&said).await;
            self.speak(&said, cause);
        } else {
            (self.link, self.sent) = (None, None);
        }
    }

    /// Gives the room of a site that counts the slots of this minute and the next. The room may need
    /// them also while there is no ledger.
    async fn plan(&mut self, said: &SiteReport) {
        let Some(counting) = &mut self.counting else { return };
        let Some((term, plan)) = counting.plan(said, &self.room.rules()) else { return };
        // If the room does not answer, the next report repeats the plan.
        if let Ok((_, unused)) = self.room.hear_for_site(term, &plan, &self.times).await {
            counting.was_planned(said);
            self.state.show_unused(unused);
        }
    }

    /// Sends what the room has reported, if it is time.
    fn speak(&mut self, said: &SiteReport, cause: Cause) {
        if self.link.as_ref().is_none_or(|(incarnation, _)| *incarnation != said.incarnation) {
            let site = self.options.site.number();
            let life = format!("{:016x}", said.incarnation);
            tracing::info!(room = self.name, site, life, "speaks for the site");
            let link = self.options.link(&self.name, Incarnation::new(said.incarnation));
            (self.link, self.sent) = (Some((said.incarnation, link)), None);
        }
        if cause == Cause::Usual && !self.is_due(said) {
            return;
        }
        let Some((_, link)) = &self.link else { return };
        let Some(message) = self.message(said) else { return };
        link.send(message);
        let (at, sent_at, returned) = (Instant::now(), said.at, said.returned);
        self.sent = Some(Sent { at, sent_at, returned, is_answered: false });
    }

    /// The message of the site; `None` before the room of a site that counts has begun to.
    fn message(&self, said: &SiteReport) -> Option<ToGlobal> {
        match &self.counting {
            Some(counting) => said.counted.as_ref().map(|counted| counting.tally(said, counted)),
            None => Some(to_global(self.options.site, self.options.rules.digest(), said)),
        }
    }

    /// Returns whether a message has to be sent although the global ledger does not wait for one.
    fn is_due(&self, said: &SiteReport) -> bool {
        let Some(sent) = self.sent else { return true };
        let (heartbeat, elapsed) = (self.times.heartbeat, sent.at.elapsed());
        let wants_tickets = said.counted.is_some_and(|it| it.wanted > it.tickets);
        let is_hasty = said.wanted > 0 || said.is_recalled || wants_tickets;
        let gives_back = said.is_recalled && said.returned > sent.returned;
        elapsed >= heartbeat
            || gives_back
            || is_hasty && (sent.is_answered || elapsed >= heartbeat / EscrowRules::HASTE)
    }

    /// Hands a message of the global ledger to the room.
    async fn hear(&mut self, message: &ToSite) {
        self.note(message);
        if let (ToSite::World(world), Some(counting)) = (message, &mut self.counting)
            && counting.hear(world)
        {
            // The room has to report before it gets a plan.
            self.report(Cause::Usual).await;
        }
        let Some((term, news)) = for_room(message) else { return };
        let (room, times) = (&self.room, &self.times);
        // If the room does not answer, the message is lost, and repeated by the next one.
        let Ok((is_due, unused)) = room.hear_for_site(term, &news, times).await else { return };
        self.state.show_unused(unused);
        let is_recalled = matches!(message, ToSite::Grant(grant) if grant.recall);
        if is_due {
            self.report(Cause::Asked).await;
        } else if is_recalled {
            self.report(Cause::Usual).await;
        }
    }

    /// Records that the last message was answered, and tells the operator of a refusal.
    fn note(&mut self, message: &ToSite) {
        if let (ToSite::Grant(grant), Some(sent)) = (message, &mut self.sent) {
            sent.is_answered |= grant.heard >= sent.sent_at;
        }
        if let (ToSite::Tickets(_), Some(sent)) = (message, &mut self.sent) {
            sent.is_answered = true;
        }
        match message {
            ToSite::Refused(refused) if self.warned != Some(refused.reason) => {
                let (site, reason) = (self.options.site.number(), &refused.reason);
                tracing::warn!(
                    room = self.name,
                    site,
                    policy = ?self.options.policy,
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

/// The next message of the global ledger, if there is a link.
///
/// # Cancel safety
///
/// No message is lost if the future is dropped.
async fn next_message(link: &mut Option<(u64, LedgerLink)>) -> Option<ToSite> {
    match link {
        Some((_, open)) => {
            let message = open.receive().await;
            if message.is_none() {
                // The next report opens another one.
                *link = None;
            }
            message
        }
        None => std::future::pending().await,
    }
}
