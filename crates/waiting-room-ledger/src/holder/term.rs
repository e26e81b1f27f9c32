//! One term of a holder: the events that it gathers for a batch, and the outcome of a batch.
//!
//! ```text
//!  messages, orders ──► gathered ── begin ──► batch ── stored ──► its answers leave
//!                          ▲                    │
//!                          └──── its changes ◄──┘ unknown: its answers are dropped
//! ```
//!
//! Messages that arrive while a batch is being stored are handled at once, and belong to the next
//! batch. Their answers may carry totals of the previous batch, so the previous batch is stored
//! first.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout_at};

use crate::{
    SiteId,
    escrow::{Changes, LaterTerm, ToSite},
    holder::{
        Delivery, Event, OrderError,
        desk::Desk,
        gauges,
        reception::{Reception, Waiting},
        times::HolderTimes,
    },
    keeper::KeepError,
};

/// The time after the start of a batch within which its answers may be sent: 1 s.
pub const FRESH: Duration = Duration::from_secs(1);

/// The maximum number of events of one batch. Further events wait in the inbox.
const MAX_BATCH: usize = 4096;

/// A holder in its term.
#[derive(Debug)]
pub(super) struct Tenure<'a> {
    desk: Desk,
    reception: &'a mut Reception,
    tick: Interval,
    beat: Interval,
    /// Events that were taken from the inbox. The list is empty except while its events are
    /// handled.
    events: Vec<Event>,
    /// The number of events since the last batch began.
    gathered: usize,
    /// The orders of the next batch.
    orders: Vec<Waiting>,
    /// Whether a batch is due, even an empty one.
    is_due: bool,
}

/// A batch that is being stored: the changes, and what may be sent when they are stored.
#[derive(Debug)]
pub(super) struct Batch {
    changes: Changes,
    answers: Vec<(SiteId, ToSite)>,
    orders: Vec<Waiting>,
    until: Instant,
}

impl<'a> Tenure<'a> {
    pub(super) fn new(desk: Desk, times: &HolderTimes, reception: &'a mut Reception) -> Self {
        let mut tick = interval(times.tick);
        let mut beat = interval(times.beat);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let events = Vec::new();
        let orders = Vec::new();
        Self { desk, reception, tick, beat, events, gathered: 0, orders, is_due: false }
    }

    /// Waits for something to do, and does it.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub(super) async fn turn(&mut self) {
        let room = MAX_BATCH - self.gathered;
        tokio::select! {
            () = self.reception.wait(&mut self.events, room), if room > 0 => self.handle(),
            _ = self.tick.tick() => self.desk.tick(self.reception.now()),
            _ = self.beat.tick() => self.is_due = true,
        }
        self.reception.report(&self.desk);
    }

    /// Gathers until there is something to store or to send, and at least until `earliest`. Returns
    /// early if a site knows a later term.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub(super) async fn gather(&mut self, earliest: Instant) {
        while self.later_term().is_none() {
            if Instant::now() < earliest {
                // At `earliest`, there may be nothing to store yet.
                let _ = timeout_at(earliest, self.turn()).await;
            } else if self.is_due || !self.orders.is_empty() || self.desk.has_news() {
                return;
            } else {
                // Events without an effect do not count towards a batch.
                self.gathered = 0;
                self.turn().await;
            }
        }
    }

    /// The higher term that a site knows, if there is one: this term is over.
    pub(super) fn later_term(&self) -> Option<LaterTerm> {
        self.desk.later_term()
    }

    /// Begins a batch of all that was gathered. Its answers may be sent within [`FRESH`].
    pub(super) fn begin(&mut self) -> Batch {
        self.gathered = 0;
        self.is_due = false;
        let (changes, answers) = self.desk.begin();
        let orders = std::mem::take(&mut self.orders);
        Batch { changes, answers, orders, until: Instant::now() + FRESH }
    }

    /// Sends the answers of a batch if it was stored. Returns whether the term continues.
    pub(super) fn settle(&mut self, batch: Batch, kept: Result<(), KeepError>) -> bool {
        let Batch { changes, answers, orders, until } = batch;
        let error = match kept {
            Ok(()) => {
                self.reception.reported.relief();
                gauges::count_batch(&self.reception.room);
                for (site, message) in answers {
                    self.reception.deliver(site, Delivery { message, until });
                }
                for (reply, result) in orders {
                    // The operator may have gone.
                    let _ = reply.send(result);
                }
                return true;
            }
            Err(error) => error,
        };
        self.reception.reported.trouble(&self.reception.room, &error);
        let goes_on = matches!(error, KeepError::Unavailable { .. });
        // The answers are dropped: sites ask again, and the answers then have the same totals.
        self.desk.not_stored(changes);
        for (reply, result) in orders {
            // Nothing was stored if another ledger has taken over.
            let is_fenced = matches!(error, KeepError::Fenced { .. });
            let error = if is_fenced { OrderError::NotHolding } else { OrderError::Unknown };
            let _ = reply.send(result.and(Err(error)));
        }
        goes_on
    }

    /// Drops the answers of a batch, because some sites obey a later term. It is unknown which
    /// sites these are.
    pub(super) fn give_way(&mut self, batch: Option<Batch>, later: LaterTerm) {
        tracing::warn!(
            room = self.reception.room,
            term = self.desk.ledger().term().number(),
            site = later.site.number(),
            later_term = later.term.number(),
            "a site knows a later term: another ledger has taken over, or the keeper has lost \
             what it had acknowledged"
        );
        for (reply, result) in batch.into_iter().flat_map(|batch| batch.orders) {
            let _ = reply.send(result.and(Err(OrderError::Unknown)));
        }
    }

    fn handle(&mut self) {
        self.gathered += self.events.len();
        for event in self.events.drain(..) {
            self.reception.receive(event, &mut self.desk, &mut self.orders);
        }
    }
}

impl Batch {
    pub(super) const fn changes(&self) -> &Changes {
        &self.changes
    }
}
