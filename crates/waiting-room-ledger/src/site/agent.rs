//! The agent of a node: it reports to the room, and speaks for the site if no other node does.
//!
//! ```text
//!  verbs ─ arrivals, visitors at the door ─► agent ◄──── report, hear ────► room on Redis
//!                                              │
//!                     one node of the site: LedgerLink ◄────► global ledger
//! ```
//!
//! The room remembers for five seconds which node speaks for the site. This only saves messages:
//! two nodes that speak at the same time repeat each other, which does no harm.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::{select, time::sleep};
use waiting_room_core::Store;
use waiting_room_redis::{
    RedisStore,
    site::{SharedLimit, SiteReport},
};

use crate::{
    Dial, Policy,
    escrow::{EscrowRules, RulesDigest, ToSite},
    site::{
        channel::Channel, counting::Counting, messages::for_room, options::SiteOptions,
        state::SiteState,
    },
};

/// The interval at which a node looks for slots while visitors wait at its door.
const LOOK: Duration = Duration::from_millis(100);

/// A node's task: sends its reports and, if the node speaks for the site, carries messages.
#[derive(Debug)]
pub(super) struct Agent<D> {
    state: Arc<SiteState>,
    room: RedisStore,
    name: String,
    options: SiteOptions<D>,
    /// The world as known to the agent, if the site counts.
    counting: Option<Counting>,
    slots: Channel,
    /// The channel of the limit on new visitors, if the sites share it.
    minute: Option<Channel>,
    is_failing: bool,
}

/// The reason for a report of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The global ledger of this limit waits for the report.
    Asked(SharedLimit),
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
        let counting = match options.policy {
            Policy::Counters => Some(Counting::new(options.site, RulesDigest::of(&options.rules))),
            Policy::Escrow => None,
        };
        let slots = Channel::new(SharedLimit::ActiveVisitors, name.to_owned(), options.rules);
        let minute = options
            .minute
            .clone()
            .map(|(room, rules)| Channel::new(SharedLimit::NewVisitors, room, rules));
        let name = name.to_owned();
        let is_failing = false;
        Self { state, room, name, options, counting, slots, minute, is_failing }
    }

    /// Reports and carries messages until the task is aborted.
    pub(super) async fn run(mut self) {
        self.report(Cause::Usual).await;
        loop {
            let pause = self.pause();
            let (limit, message) = select! {
                message = self.slots.receive() => (SharedLimit::ActiveVisitors, message),
                message = receive(&mut self.minute) => (SharedLimit::NewVisitors, message),
                () = self.state.knocked.notified() => (SharedLimit::ActiveVisitors, None),
                () = sleep(pause) => (SharedLimit::ActiveVisitors, None),
            };
            match message {
                Some(message) => self.receive(limit, &message).await,
                None => self.report(Cause::Usual).await,
            }
        }
    }

    /// The time until the next report.
    fn pause(&self) -> Duration {
        let heartbeats = self.channels().map(|channel| channel.times.heartbeat);
        let heartbeat = heartbeats.min().unwrap_or_default();
        let speaks = self.channels().any(Channel::is_open);
        let usual = if speaks { heartbeat / EscrowRules::HASTE } else { heartbeat };
        let usual = if self.state.has_visitors_at_door() { usual.min(LOOK) } else { usual };
        self.channels().filter_map(Channel::next_in).fold(usual, Duration::min)
    }

    /// Reports to the room, and then to the global ledger if this node speaks for the site.
    async fn report(&mut self, cause: Cause) {
        let report = self.state.report();
        let report = match self.room.report_of_site(&report).await {
            Ok(report) => report,
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
        self.state.update(&report);
        if report.speaks {
            self.plan(&report).await;
            self.speak(&report, cause);
        } else {
            self.slots.close();
            self.minute.iter_mut().for_each(Channel::close);
        }
    }

    /// At a site that counts, gives the room the slots of this minute and of the next. The room may
    /// need them even while there is no ledger.
    async fn plan(&mut self, report: &SiteReport) {
        let Some(counting) = &mut self.counting else { return };
        let Some((term, plan)) = counting.plan(report, &self.room.rules()) else { return };
        let limit = self.slots.limit;
        let times = &self.slots.times;
        // If the room does not answer, the next report repeats the plan.
        if let Ok((_, free)) = self.room.hear_for_site(limit, term, &plan, times).await {
            counting.was_planned(report);
            self.state.show_free(free);
        }
    }

    /// Sends what the room has reported, if a message is due.
    fn speak(&mut self, report: &SiteReport, cause: Cause) {
        let accounts = [Some(&report.slots), report.minute.as_ref()];
        for (channel, account) in [Some(&mut self.slots), self.minute.as_mut()]
            .into_iter()
            .zip(accounts)
            .filter_map(|(channel, account)| channel.zip(account))
        {
            channel.open(&self.options, account.incarnation);
            if cause != Cause::Asked(channel.limit) && !channel.is_due(report, account) {
                continue;
            }
            let message = match &self.counting {
                Some(counting) => {
                    report.counted.as_ref().map(|counted| counting.tally(report, counted))
                }
                None => Some(channel.message(&self.options, report.at, account)),
            };
            // The room of a site that counts might not have begun to count yet.
            if let Some(message) = message {
                channel.send(message, report.at, account);
            }
        }
    }

    /// Hands a message of the global ledger of a limit to the room.
    async fn receive(&mut self, limit: SharedLimit, message: &ToSite) {
        let channel = match limit {
            SharedLimit::ActiveVisitors => &mut self.slots,
            SharedLimit::NewVisitors => self.minute.as_mut().unwrap_or(&mut self.slots),
        };
        channel.note(message, &self.options);
        let times = channel.times;
        if let (ToSite::World(world), Some(counting)) = (message, &mut self.counting)
            && counting.receive(world)
        {
            // The room has to report before it gets a plan.
            self.report(Cause::Usual).await;
        }
        let Some((term, news)) = for_room(message) else { return };
        // If the room does not answer, the message is lost, and the next message repeats it.
        let heard = self.room.hear_for_site(limit, term, &news, &times).await;
        let Ok((is_due, free)) = heard else { return };
        self.state.show_free(free);
        // Slots for visitors who have come to the door since the last message are requested now.
        let asks = matches!(message, ToSite::Grant(grant)
            if grant.recall || self.state.has_visitors_at_door());
        if is_due {
            self.report(Cause::Asked(limit)).await;
        } else if asks {
            self.report(Cause::Usual).await;
        }
    }

    fn channels(&self) -> impl Iterator<Item = &Channel> {
        [&self.slots].into_iter().chain(&self.minute)
    }
}

/// The next message of a channel, if there is one.
///
/// # Cancel safety
///
/// No message is lost if the future is dropped.
async fn receive(channel: &mut Option<Channel>) -> Option<ToSite> {
    match channel {
        Some(channel) => channel.receive().await,
        None => pending().await,
    }
}
