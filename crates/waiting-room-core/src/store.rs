//! The interface to the store that keeps a room's state.
//!
//! The layer accesses a room only through [`Store`]. A single process uses a
//! [`MemoryStore`](crate::MemoryStore); nodes that share a room use a store on a server.

use std::{future::Future, sync::Arc};

use crate::{
    Pass, RoomRules, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        PassHome, Renewal, RoomNode, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
};

/// The shared state of one room, and the operations that read and change that state.
///
/// # Contract
///
/// - **Atomic**: each operation takes effect at one instant, in some total order over all clones
///   and all nodes. Between any two operations, the room's guarantees hold: no limit is exceeded,
///   no visitor is queued before a limit is reached, and places are served in order.
/// - **Owns its time**: a store timestamps its decisions with its own clock. [`now`](Self::now) is
///   this node's best estimate of that clock. The estimate needs no round trip and never runs
///   backwards.
/// - **Cheap to clone**: all clones of a store share its state.
/// - **An error decides nothing**: after a [`StoreError`], the operation may or may not have taken
///   effect, so repeating the operation must be harmless. `enter`, `check_in`, `stay` and `renew` are
///   idempotent for one visitor, and `leave` may be repeated at any later time.
/// - **Cancel safe**: dropping a future leaves the room as if the operation had either completed or
///   never been called.
///
/// The crate `waiting-room-test` contains the conformance suite, which the stores of this project
/// pass. For any other store, the suite is one call in a test, `store_conformance`. The suite
/// compares all replies with those of a naive model, sends each command to a fresh clone, and lets
/// visitors enter in the same instant. It does not test errors and cancellation, because a suite
/// for any store cannot cause them.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's time, as estimated by this node without a round trip.
    fn now(&self) -> Timestamp;

    /// The time at which this store began to remember passes.
    ///
    /// The store may not know about a pass that was last renewed before this time. The layer renews
    /// such a pass as soon as a request presents it, so that its slot is counted again.
    fn remembers_since(&self) -> Timestamp;

    /// The current rules, as last received by this node. Reading the rules needs no round trip.
    fn rules(&self) -> Arc<RoomRules>;

    /// What is planned for the room, or `None` if it has no events. Reading the plan needs no round
    /// trip.
    ///
    /// During an event, [`rules`](Self::rules) returns the rules of the event, and the plan contains
    /// the room's own rules.
    fn plan(&self) -> Option<Arc<RoomPlan>> {
        None
    }

    /// The rules that this node passed to the store when it was created.
    ///
    /// The given rules may differ from the current rules, which another node or an operator may
    /// have changed. The layer uses the given rules for its room, and refuses a configuration with
    /// different rules.
    fn given_rules(&self) -> Arc<RoomRules> {
        // During an event, the rules in force are not the room's own.
        self.plan().map_or_else(|| self.rules(), |plan| Arc::new(plan.rules.clone()))
    }

    /// Returns whether the server is configured to evict data when its memory is full.
    ///
    /// A limit is no longer enforced once its data has been evicted, so the layer reports such a
    /// server as a misconfiguration. The value is the latest one that this node has received.
    /// Reading the value needs no round trip.
    fn may_evict(&self) -> bool {
        false
    }

    /// The number of waiting visitors who check in when they are due.
    ///
    /// The value is the latest one that this node has received, or `None` if this node has received
    /// no value yet. Reading the value needs no round trip.
    fn present(&self) -> Option<u32> {
        None
    }

    /// The nodes that share this room, starting with the one that was heard from most recently;
    /// `None` if the store does not know its nodes.
    ///
    /// The list is the latest one that this node has received, and no decision depends on it.
    /// Reading the list needs no round trip.
    fn nodes(&self) -> Option<Vec<RoomNode>> {
        None
    }

    /// The home of the passes that this room issues, or `None` if the room does not share a limit
    /// with the rooms of other sites.
    ///
    /// The layer writes the home into each pass that it seals. A pass from another home is not
    /// enough by itself: the layer calls [`check_in`](Self::check_in) with a [`Ticket::moving`]
    /// instead. Reading the home needs no round trip.
    fn home(&self) -> Option<PassHome> {
        None
    }

    /// Requests a slot for a visitor who has neither a pass nor a ticket.
    fn enter(&self, id: VisitorId) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Requests a slot for a waiting visitor, and confirms that the visitor is still present.
    fn check_in(&self, ticket: Ticket) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Confirms that a waiting visitor is still present, as [`Room::stay`](crate::Room::stay) does:
    /// if it is the visitor's turn, the verdict is to wait with
    /// [`Reason::QueuedTurn`](crate::Reason::QueuedTurn), and the visitor's next check-in takes the
    /// slot. Push streams call this operation in place of `check_in`.
    ///
    /// The default implementation calls [`check_in`](Self::check_in), which admits the visitor. This
    /// is correct, too: the visitor's next check-in finds the session. But if the visitor does not
    /// come, its slot stays unused until the session lapses.
    fn stay(&self, ticket: Ticket) -> impl Future<Output = Result<Verdict, StoreError>> + Send {
        self.check_in(ticket)
    }

    /// Extends the session of an admitted visitor.
    fn renew(&self, pass: Pass) -> impl Future<Output = Result<Renewal, StoreError>> + Send;

    /// Ends a visitor's session, or gives up the visitor's place in line. The slot or place becomes
    /// free immediately.
    fn leave(&self, id: VisitorId) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes lapsed slots and places, or some of them if there are many.
    ///
    /// All other operations remove lapsed slots and places before they make a decision, so a call
    /// to `sweep` matters only while no requests arrive.
    fn sweep(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the room's figures, such as the number of slots in use and the length of the line.
    fn snapshot(&self) -> impl Future<Output = Result<RoomSnapshot, StoreError>> + Send;

    /// Changes the room's rules on every node, even for visitors who have already been admitted.
    ///
    /// `change` receives the room's own rules, without those of an event, and returns the new rules. The change is atomic, so two
    /// operators cannot overwrite each other's changes: if the rules have changed in the meantime,
    /// the store calls `change` again with the latest rules.
    fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Replaces the events of the room on every node, see [`Room::schedule`](crate::Room::schedule).
    ///
    /// A store that does not override this method has no events, and returns an error of the kind
    /// [`Unsupported`](StoreErrorKind::Unsupported).
    fn schedule(&self, schedule: Schedule) -> impl Future<Output = Result<(), StoreError>> + Send {
        _ = schedule;
        std::future::ready(Err(StoreError::new(StoreErrorKind::Unsupported)))
    }
}
