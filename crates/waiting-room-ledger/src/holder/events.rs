//! The events that reach a holder: streams of sites, their messages, and the orders of an operator.

use std::{error::Error, fmt};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use crate::{
    SiteId,
    escrow::{Epoch, Incarnation, ListRefused, Term, ToGlobal, ToSite},
};

/// The role of a process for a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The process is the global ledger, in this term.
    Holding(Term),
    /// Another process is the global ledger, or none is.
    Standby,
}

/// An order of an operator to the holder of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Adds a site, or ends its draining.
    AddSite(SiteId),
    /// Prepares the removal of a site.
    Drain(SiteId),
    /// Declares that a site is switched off. `status` shows the epoch of its account.
    Fence(SiteId, Epoch),
    /// Removes a site that holds nothing.
    Remove(SiteId),
    /// Changes the limit.
    SetLimit(u32),
    /// Changes nothing, and returns the state of the room.
    Status,
}

/// The reason why an order was not carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderError {
    /// The process does not hold the room, or no longer holds it.
    NotHolding,
    /// The list of sites does not allow the order.
    Refused(ListRefused),
    /// It is unknown whether the change was stored.
    Unknown,
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHolding => f.write_str("this process is a standby, expected the holder"),
            Self::Refused(refused) => refused.fmt(f),
            Self::Unknown => f.write_str(
                "the keeper has not acknowledged the change in time: look at the status",
            ),
        }
    }
}

impl Error for OrderError {}

/// A handle to the holder of one room, or to a standby, in this process.
#[derive(Clone, Debug)]
pub struct HolderHandle {
    pub(super) inbox: mpsc::Sender<Event>,
    pub(super) role: watch::Receiver<Role>,
}

impl HolderHandle {
    /// The current role of this process.
    #[must_use]
    pub fn role(&self) -> Role {
        *self.role.borrow()
    }

    /// Waits until this process holds the room, and returns its term; `None` if the holder has
    /// stopped for good.
    ///
    /// # Cancel safety
    ///
    /// This method changes nothing, so it can be dropped at any time.
    pub async fn holding(&mut self) -> Option<Term> {
        let role = self.role.wait_for(|role| matches!(role, Role::Holding(_))).await.ok()?;
        match *role {
            Role::Holding(term) => Some(term),
            Role::Standby => None,
        }
    }

    /// Carries out an order, and returns its result as text when the keeper has stored it.
    ///
    /// # Errors
    ///
    /// Returns the reason why the order was not carried out.
    ///
    /// # Cancel safety
    ///
    /// The order may be carried out even if the future is dropped.
    pub async fn order(&self, order: Order) -> Result<String, OrderError> {
        let (reply, answer) = oneshot::channel();
        let event = Event::Order { order, reply };
        self.inbox.send(event).await.map_err(|_| OrderError::NotHolding)?;
        answer.await.map_err(|_| OrderError::NotHolding)?
    }

    pub(crate) fn watch_role(&self) -> watch::Receiver<Role> {
        self.role.clone()
    }

    /// Delivers an event. Returns `false` if the holder has stopped.
    pub(crate) async fn deliver(&self, event: Event) -> bool {
        self.inbox.send(event).await.is_ok()
    }
}

/// The number of a stream in its process. A site that reconnects gets a new number.
pub(crate) type StreamId = u64;

/// An event for a holder.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "almost all events are messages")]
pub(crate) enum Event {
    /// A stream of a site has ended.
    Close { site: SiteId, stream: StreamId },
    /// A site has sent a message.
    Message { stream: StreamId, message: ToGlobal },
    /// A site has opened a stream. Answers to the site go to `outlet`.
    Open {
        site: SiteId,
        incarnation: Incarnation,
        stream: StreamId,
        outlet: mpsc::Sender<Delivery>,
        reply: oneshot::Sender<Result<(), OpenRefused>>,
    },
    /// An operator gives an order.
    Order { order: Order, reply: oneshot::Sender<Result<String, OrderError>> },
}

/// A message to a site, and the time after which it is no longer sent.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) message: ToSite,
    pub(crate) until: Instant,
}

/// The reason why a site gets no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenRefused {
    /// Another incarnation of the same site has a stream.
    Doubled { connected: Incarnation },
    /// This process is a standby.
    Standby,
}
