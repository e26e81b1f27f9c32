//! The loop of a process: it stands by, holds the room, and stands by again.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout, timeout_at},
};
use waiting_room_core::{
    Timestamp,
    time::{Clock, SystemClock},
};
use waiting_room_sites::{
    SiteId,
    escrow::{Incarnation, Refusal, Term, ToSite},
};

use crate::{
    holder::{
        Delivery, Event, HolderHandle, OpenRefused, OrderError, Role, StreamId,
        desk::Desk,
        times::{HolderTimes, Vigil},
    },
    keeper::{KeepError, LedgerKeeper, TakenOver, next_term},
};

/// The time after the start of a batch in which its answers may leave: 1 s.
pub const FRESH: Duration = Duration::from_secs(1);

/// The most events of one batch.
const MAX_BATCH: usize = 4096;

/// The most events that wait for a holder. Streams of sites wait beyond that.
const INBOX: usize = 4096;

/// The time after a take-over in which each site on the list is expected to connect.
const EXPECTED_WITHIN: Duration = Duration::from_secs(60);

/// The part of this process in one room: a standby that becomes the holder when there is none.
#[derive(Debug)]
pub struct Holder<K> {
    room: String,
    keeper: K,
    times: HolderTimes,
    start: Instant,
    /// The calendar, by which sites that count have their minutes.
    calendar: Arc<dyn Clock>,
    inbox: mpsc::Receiver<Event>,
    /// Keeps the inbox open: a holder without handles goes on.
    _own_inbox: mpsc::Sender<Event>,
    role: watch::Sender<Role>,
    /// The least term to take over with, because a site knows the one before.
    at_least: Term,
    streams: BTreeMap<SiteId, Stream>,
    told: Told,
}

/// The stream of a site.
#[derive(Debug)]
struct Stream {
    id: StreamId,
    incarnation: Incarnation,
    outlet: mpsc::Sender<Delivery>,
}

/// What the operator was told already, so that each thing is said once.
#[derive(Debug, Default)]
struct Told {
    trouble: Option<String>,
    refusals: BTreeSet<(SiteId, &'static str)>,
}

/// An order whose result waits for the keeper.
type Waiting = (oneshot::Sender<Result<String, OrderError>>, Result<String, OrderError>);

impl<K: LedgerKeeper> Holder<K> {
    /// Creates a standby of `room`, and a handle to it. It does nothing before it [runs](Self::run).
    #[must_use]
    pub fn new(room: impl Into<String>, keeper: K, times: HolderTimes) -> (Self, HolderHandle) {
        let (inbox_of_handle, inbox) = mpsc::channel(INBOX);
        let (role, role_of_handle) = watch::channel(Role::Standby);
        let own_inbox = inbox_of_handle.clone();
        let handle = HolderHandle { inbox: inbox_of_handle, role: role_of_handle };
        let holder = Self {
            room: room.into(),
            keeper,
            times,
            start: Instant::now(),
            calendar: Arc::new(SystemClock::new()),
            inbox,
            _own_inbox: own_inbox,
            role,
            at_least: Term::default(),
            streams: BTreeMap::new(),
            told: Told::default(),
        };
        (holder, handle)
    }

    /// Replaces the clock of the calendar, for tests. Only sites that count depend on it, under
    /// `Policy::Counters`: their minutes have to begin at the same time as here. The clock of this
    /// machine by default.
    #[must_use]
    pub fn calendar(mut self, clock: impl Clock) -> Self {
        self.calendar = Arc::new(clock);
        self
    }

    /// Looks at the keeper once, so that a program can refuse to start.
    ///
    /// # Errors
    ///
    /// Returns an error if the keeper cannot be reached, must not be used, or has no such room.
    pub async fn check(&mut self) -> Result<(), KeepError> {
        self.in_time(|keeper| keeper.watch()).await.map(drop)
    }

    /// Stands by and holds the room, in turns, until `stop` completes. Then the room is given up, so
    /// that a standby takes over at once.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, it is as if the process had been killed.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) {
        tokio::select! {
            () = stop => {}
            () = self.take_turns() => {}
        }
        let role = self.role.send_replace(Role::Standby);
        if let Role::Holding(term) = role {
            let released = timeout(self.times.keep, self.keeper.release(term)).await;
            tracing::info!(room = self.room, term = term.number(), ?released, "gave the room up");
        }
    }

    async fn take_turns(&mut self) {
        loop {
            let taken = self.stand_by().await;
            self.hold(&taken).await;
            self.role.send_replace(Role::Standby);
            self.streams.clear();
        }
    }

    /// Watches the holder, and returns when this process has taken over.
    async fn stand_by(&mut self) -> TakenOver {
        let mut vigil = Vigil::new(self.times.patience);
        loop {
            let looked = self.look(&mut vigil).await;
            match looked {
                Ok(Some(taken)) => return taken,
                Ok(None) => self.told.trouble = None,
                Err(error) => {
                    vigil.lose_sight();
                    self.told.trouble(&self.room, &error);
                }
            }
            let next = Instant::now() + self.times.look;
            while let Ok(Some(event)) = timeout_at(next, self.inbox.recv()).await {
                turn_away(event);
            }
            sleep_until(next).await;
        }
    }

    async fn look(&mut self, vigil: &mut Vigil) -> Result<Option<TakenOver>, KeepError> {
        let seen = self.in_time(|keeper| keeper.watch()).await?;
        if !vigil.see(seen, self.now()) {
            return Ok(None);
        }
        let at_least = self.at_least;
        self.in_time(|keeper| keeper.take_over(seen, at_least)).await
    }

    /// Is the global ledger of the room, until its term is over.
    async fn hold(&mut self, taken: &TakenOver) {
        let (TakenOver::Kept(kept) | TakenOver::Lost(kept)) = taken;
        let term = kept.term;
        let mut desk = match Desk::open(taken, self.now(), self.calendar.now()) {
            Ok(desk) if K::KEEPS_ACCOUNTS => desk,
            Ok(desk) => desk.without_orders(),
            Err(error) => {
                self.told.trouble(&self.room, &KeepError::Lost { found: error.to_string() });
                return;
            }
        };
        self.told = Told::default();
        let is_learning = desk.ledger().is_learning();
        tracing::info!(room = self.room, term = term.number(), is_learning, "holds the room");
        self.role.send_replace(Role::Holding(term));
        let mut seldom = (interval(self.times.tick), interval(self.times.beat));
        seldom.0.set_missed_tick_behavior(MissedTickBehavior::Delay);
        seldom.1.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut expected = Some((Instant::now() + EXPECTED_WITHIN, BTreeSet::new()));
        loop {
            let mut orders = Vec::new();
            let mut is_due = false;
            tokio::select! {
                event = self.inbox.recv() => {
                    self.gather(event, &mut desk, &mut orders, &mut expected).await;
                }
                _ = seldom.0.tick() => desk.tick(self.now()),
                _ = seldom.1.tick() => is_due = true,
            }
            if let Some(later) = desk.later_term() {
                self.give_way(term, later);
                return;
            }
            self.report_missing(&desk, &mut expected);
            if (is_due || !orders.is_empty() || desk.has_news())
                && !self.settle(&mut desk, orders).await
            {
                return;
            }
        }
    }

    /// Handles an event, and those that follow it within the time of a batch.
    async fn gather(
        &mut self,
        first: Option<Event>,
        desk: &mut Desk,
        orders: &mut Vec<Waiting>,
        expected: &mut Option<(Instant, BTreeSet<SiteId>)>,
    ) {
        let end = Instant::now() + self.times.batch;
        let mut next = first;
        for _ in 0..MAX_BATCH {
            let Some(event) = next else { return };
            let (now, calendar) = (self.now(), self.calendar.now());
            match event {
                Event::Close { site, stream } => {
                    if self.streams.get(&site).is_some_and(|open| open.id == stream) {
                        self.streams.remove(&site);
                    }
                }
                Event::Message { stream, message } => {
                    let open = self.streams.get(&message.from());
                    if open.is_some_and(|open| open.id == stream) {
                        desk.receive(&message, now, calendar);
                    }
                }
                Event::Open { site, incarnation, stream, outlet, reply } => {
                    if let Some((_, seen)) = expected {
                        seen.insert(site);
                    }
                    let opened = self.open(site, Stream { id: stream, incarnation, outlet });
                    if opened.is_ok() {
                        desk.greet(site);
                    }
                    // A stream that has ended meanwhile says so by another event.
                    let _ = reply.send(opened);
                }
                Event::Order { order, reply } => {
                    orders.push((reply, desk.order(order, now, calendar)));
                }
            }
            next = timeout_at(end, self.inbox.recv()).await.ok().flatten();
        }
    }

    /// Accepts the stream of a site, in place of an earlier one of the same incarnation.
    fn open(&mut self, site: SiteId, stream: Stream) -> Result<(), OpenRefused> {
        if let Some(open) = self.streams.get(&site)
            && open.incarnation != stream.incarnation
            && !open.outlet.is_closed()
        {
            return Err(OpenRefused::Doubled { connected: open.incarnation });
        }
        self.streams.insert(site, stream);
        Ok(())
    }

    /// Stores a batch, and lets its answers leave. Returns whether the term goes on.
    async fn settle(&mut self, desk: &mut Desk, orders: Vec<Waiting>) -> bool {
        let (until, batch) = (Instant::now() + FRESH, desk.batch());
        let kept = self.in_time(|keeper| keeper.keep(&batch)).await;
        let goes_on = match kept {
            Ok(()) => {
                self.told.trouble = None;
                for (site, message) in desk.stored() {
                    self.deliver(site, Delivery { message, until });
                }
                for (reply, result) in orders {
                    // The operator may have gone.
                    let _ = reply.send(result);
                }
                return true;
            }
            Err(KeepError::Unavailable { .. }) => true,
            Err(_) => false,
        };
        if let Err(error) = kept {
            self.told.trouble(&self.room, &error);
        }
        desk.not_stored();
        for (reply, result) in orders {
            // If the term is over, nothing was stored.
            let error = if goes_on { OrderError::Unknown } else { OrderError::NotHolding };
            let _ = reply.send(result.and(Err(error)));
        }
        goes_on
    }

    fn deliver(&mut self, site: SiteId, delivery: Delivery) {
        if let ToSite::Refused(refused) = &delivery.message {
            self.told.refusal(&self.room, site, &refused.reason);
        }
        let Some(stream) = self.streams.get(&site) else { return };
        if let Err(error) = stream.outlet.try_send(delivery) {
            if matches!(error, mpsc::error::TrySendError::Full(_)) {
                let (room, site) = (&self.room, site.number());
                tracing::warn!(room, site, "a site does not read its messages: disconnected");
            }
            // The task of the stream sees that its outlet is gone, and closes it.
            self.streams.remove(&site);
        }
    }

    /// Stops, because sites obey a later term.
    fn give_way(&mut self, term: Term, later: Term) {
        tracing::error!(
            room = self.room,
            term = term.number(),
            later_term = later.number(),
            "a site knows a later term: another ledger has taken over, or the keeper has lost \
             what it had acknowledged"
        );
        self.at_least = next_term(later, Term::default()).unwrap_or(later);
    }

    /// Tells the operator once which sites on the list have not connected.
    fn report_missing(&self, desk: &Desk, expected: &mut Option<(Instant, BTreeSet<SiteId>)>) {
        let Some((_, seen)) = expected.take_if(|(until, _)| *until <= Instant::now()) else {
            return;
        };
        let states = desk.ledger().site_states(self.now());
        let missing: Vec<_> = states
            .filter(|state| !seen.contains(&state.site))
            .map(|state| state.site.number())
            .collect();
        if !missing.is_empty() {
            tracing::warn!(room = self.room, sites = ?missing, "sites on the list are not connected");
        }
    }

    async fn in_time<'a, T, F>(
        &'a mut self,
        call: impl FnOnce(&'a mut K) -> F,
    ) -> Result<T, KeepError>
    where
        F: Future<Output = Result<T, KeepError>>,
    {
        let limit = self.times.keep;
        timeout(limit, call(&mut self.keeper))
            .await
            .unwrap_or_else(|_| Err(KeepError::unavailable(format!("no answer within {limit:?}"))))
    }

    /// The time since this process has begun, which never runs backwards.
    fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.start.elapsed()
    }
}

impl Told {
    fn trouble(&mut self, room: &str, error: &KeepError) {
        let error = error.to_string();
        if self.trouble.as_ref() != Some(&error) {
            tracing::warn!(room, error, "the keeper of the room is in trouble");
            self.trouble = Some(error);
        }
    }

    fn refusal(&mut self, room: &str, site: SiteId, reason: &Refusal) {
        let reason = match reason {
            Refusal::Drained => "it is being drained",
            Refusal::Fenced => "its incarnation is fenced",
            Refusal::NotListed => "it is not on the list of sites",
            Refusal::Policy => "its policy differs from that of the other sites",
            Refusal::Rules { .. } => "its rules differ from those of this ledger",
            _ => "of another reason",
        };
        if self.refusals.insert((site, reason)) {
            tracing::warn!(room, site = site.number(), reason, "a site is refused");
        }
    }
}

/// Answers an event that only a holder can handle.
fn turn_away(event: Event) {
    match event {
        Event::Close { .. } | Event::Message { .. } => {}
        Event::Open { reply, .. } => {
            let _ = reply.send(Err(OpenRefused::Standby));
        }
        Event::Order { reply, .. } => {
            let _ = reply.send(Err(OrderError::NotHolding));
        }
    }
}
