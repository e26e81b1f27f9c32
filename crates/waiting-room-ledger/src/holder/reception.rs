//! The streams of the sites at a holder: their messages, and the answers to them.

use std::{
    collections::{BTreeMap, HashSet},
    mem::{Discriminant, discriminant},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use waiting_room_core::{
    Timestamp,
    time::{Clock, SystemClock},
};

use crate::{
    SiteId,
    escrow::{EscrowRules, Incarnation, Refusal, ToSite},
    holder::{
        Delivery, Event, OpenRefused, OrderError, StreamId,
        desk::Desk,
        gauges::{self, Gauges},
        presence::{News, Presence},
    },
    keeper::KeepError,
};

/// The maximum number of events that wait for a holder. Beyond that, the streams wait.
const INBOX: usize = 4096;

/// An order whose result waits for the keeper.
pub(super) type Waiting = (oneshot::Sender<Result<String, OrderError>>, Result<String, OrderError>);

/// The part of a holder that does not depend on its keeper.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) room: String,
    pub(super) reported: Reported,
    /// The rules that the operator was warned about in any term of this process.
    doubtful: Option<EscrowRules>,
    start: Instant,
    /// The calendar, which determines the minutes of sites that count.
    calendar: Arc<dyn Clock>,
    inbox: mpsc::Receiver<Event>,
    /// Keeps the inbox open: a holder without handles continues.
    _own_inbox: mpsc::Sender<Event>,
    streams: BTreeMap<SiteId, Stream>,
    presence: Presence,
    gauges: Gauges,
}

/// The stream of a site.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    incarnation: Incarnation,
    outlet: mpsc::Sender<Delivery>,
}

/// The warnings that were logged already, so that each is logged once.
#[derive(Debug, Default)]
pub(super) struct Reported {
    trouble: Option<String>,
    /// The sites with slots that were not kept.
    surplus: HashSet<SiteId>,
    /// One entry for each site and kind of refusal.
    refusals: HashSet<(SiteId, Discriminant<Refusal>)>,
}

impl Reception {
    /// Creates the reception of a room, and the sender of its events.
    pub(super) fn new(room: String) -> (Self, mpsc::Sender<Event>) {
        let (sender, inbox) = mpsc::channel(INBOX);
        let reception = Self {
            gauges: Gauges::new(&room),
            room,
            reported: Reported::default(),
            doubtful: None,
            start: Instant::now(),
            calendar: Arc::new(SystemClock::new()),
            inbox,
            _own_inbox: sender.clone(),
            streams: BTreeMap::new(),
            presence: Presence::new(Instant::now()),
        };
        (reception, sender)
    }

    pub(super) fn follow(&mut self, calendar: impl Clock) {
        self.calendar = Arc::new(calendar);
    }

    /// The time since this process started. It never decreases.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.start.elapsed()
    }

    /// The time by the calendar.
    pub(super) fn calendar_now(&self) -> Timestamp {
        self.calendar.now()
    }

    /// Begins a term: no warning has been logged yet, and all sites are expected to connect.
    pub(super) fn open(&mut self) {
        self.reported = Reported::default();
        self.presence = Presence::new(Instant::now());
    }

    /// Tells the operator once in this process if the rules of the room make little sense.
    pub(super) fn warn_of_rules(&mut self, rules: &EscrowRules) {
        let Some(warning) = rules.lease_warning() else { return };
        if self.doubtful.replace(*rules) != Some(*rules) {
            tracing::warn!(room = self.room, warning, "the rules of the room are questionable");
        }
    }

    /// Ends a term, and the streams of all sites.
    pub(super) fn close(&mut self) {
        self.streams.clear();
        self.gauges.clear();
    }

    /// Waits for events, and moves up to `most` of them to `events`.
    ///
    /// # Cancel safety
    ///
    /// No event is lost if the future is dropped.
    pub(super) async fn wait(&mut self, events: &mut Vec<Event>, most: usize) {
        // The inbox is never closed, because the reception has a sender of its own.
        let _ = self.inbox.recv_many(events, most).await;
    }

    /// Waits for an event, and answers it as a standby does.
    ///
    /// # Cancel safety
    ///
    /// No event is lost if the future is dropped.
    pub(super) async fn turn_away(&mut self) {
        match self.inbox.recv().await {
            Some(Event::Close { .. } | Event::Message { .. }) | None => {}
            Some(Event::Open { reply, .. }) => {
                let _ = reply.send(Err(OpenRefused::Standby));
            }
            Some(Event::Order { reply, .. }) => {
                let _ = reply.send(Err(OrderError::NotHolding));
            }
        }
    }

    /// Handles an event of a term.
    pub(super) fn receive(&mut self, event: Event, desk: &mut Desk, orders: &mut Vec<Waiting>) {
        let now = self.now();
        let calendar = self.calendar.now();
        match event {
            Event::Close { site, stream } => {
                if self.streams.get(&site).is_some_and(|open| open.id == stream) {
                    self.streams.remove(&site);
                }
            }
            Event::Message { stream, message } => {
                let open = self.streams.get(&message.from());
                if open.is_some_and(|open| open.id == stream) {
                    gauges::count_message(&self.room, message.from());
                    self.reported.surplus(
                        &self.room,
                        message.from(),
                        desk.ledger().surplus(&message),
                    );
                    desk.receive(&message, now, calendar);
                }
            }
            Event::Open { site, incarnation, stream, outlet, reply } => {
                let opened = self.accept(site, Stream { id: stream, incarnation, outlet });
                if opened.is_ok() {
                    desk.greet(site);
                }
                // If the stream has ended in the meantime, another event reports that.
                let _ = reply.send(opened);
            }
            Event::Order { order, reply } => {
                orders.push((reply, desk.order(order, now, calendar)));
            }
        }
    }

    /// Sends a message to a site whose stream is open.
    pub(super) fn deliver(&mut self, site: SiteId, delivery: Delivery) {
        if let ToSite::Refused(refused) = &delivery.message {
            self.reported.refusal(&self.room, site, &refused.reason);
        }
        let Some(stream) = self.streams.get(&site) else { return };
        if let Err(error) = stream.outlet.try_send(delivery) {
            if matches!(error, mpsc::error::TrySendError::Full(_)) {
                let room = &self.room;
                let site = site.number();
                tracing::warn!(room, site, "a site does not read its messages: disconnected");
            }
            // The task of the stream sees that its outlet is gone, and closes the stream.
            self.streams.remove(&site);
        }
    }

    /// Reports the gauges every second, and logs the absence of a listed site and its return once
    /// each.
    pub(super) fn report(&mut self, desk: &Desk) {
        let now = Instant::now();
        if !self.presence.is_due(now) {
            return;
        }
        let reported_at = self.now();
        let listed = desk.ledger().site_states(self.now()).map(|state| state.site);
        // A stream whose connection breaks ends without an event.
        let is_open = |stream: &Stream| !stream.outlet.is_closed();
        let is_connected = |site| self.streams.get(&site).is_some_and(is_open);
        self.gauges.show(desk.ledger(), reported_at, is_connected);
        for news in self.presence.look(now, listed, is_connected) {
            let (News::Away(site, silent_for) | News::Back(site, silent_for)) = news;
            let room = &self.room;
            let site = site.number();
            let silent_for = Duration::from_secs(silent_for.as_secs());
            match news {
                News::Away(..) => {
                    tracing::warn!(room, site, ?silent_for, "a site on the list is not connected");
                }
                News::Back(..) => {
                    tracing::info!(room, site, ?silent_for, "a site is connected again");
                }
            }
        }
    }

    /// Accepts the stream of a site, and replaces an earlier stream of the same incarnation.
    fn accept(&mut self, site: SiteId, stream: Stream) -> Result<(), OpenRefused> {
        if let Some(open) = self.streams.get(&site)
            && open.incarnation != stream.incarnation
            && !open.outlet.is_closed()
        {
            return Err(OpenRefused::Doubled { connected: open.incarnation });
        }
        self.streams.insert(site, stream);
        Ok(())
    }
}

impl Reported {
    /// Forgets the last trouble, because it is over.
    pub(super) fn relief(&mut self) {
        self.trouble = None;
    }

    pub(super) fn trouble(&mut self, room: &str, error: &KeepError) {
        gauges::count_failure(room);
        let error = error.to_string();
        if self.trouble.as_ref() != Some(&error) {
            tracing::warn!(room, error, "the keeper of the room has failed");
            self.trouble = Some(error);
        }
    }

    fn surplus(&mut self, room: &str, site: SiteId, slots: u64) {
        if slots > 0 && self.surplus.insert(site) {
            let site = site.number();
            tracing::warn!(room, site, slots, "a site was granted slots that were not kept");
        }
    }

    fn refusal(&mut self, room: &str, site: SiteId, reason: &Refusal) {
        gauges::count_refusal(room, site);
        if self.refusals.insert((site, discriminant(reason))) {
            tracing::warn!(room, site = site.number(), %reason, "a site is refused");
        }
    }
}
