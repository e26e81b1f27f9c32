//! The interface to the storage of a room's state.
//!
//! The layer accesses a room only through [`Store`]. A single process uses a
//! [`MemoryStore`](crate::MemoryStore); nodes that share a room use a store on a server.

use std::{future::Future, sync::Arc};

use crate::{
    Pass, RoomRules, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{Renewal, RoomSnapshot},
};

/// The shared state of one room, and the verbs that read and change it.
///
/// # Contract
///
/// - **Atomic**: each verb takes effect at one instant, in some total order over all clones and all
///   nodes. Between any two verbs, the room's guarantees hold: no limit is exceeded, no visitor is
///   queued before a limit is reached, and places are served in order.
/// - **Owns its time**: a store timestamps its decisions with its own clock. [`now`](Self::now) is
///   this node's best estimate of that clock; it needs no round trip and never runs backwards.
/// - **Cheap to clone**: all clones share the state.
/// - **An error decides nothing**: after a [`StoreError`], the verb may or may not have taken
///   effect, so repeating it must be harmless. `enter`, `check_in` and `renew` are idempotent for
///   one visitor, and `leave` may be repeated at any later time.
/// - **Cancel safe**: dropping a future leaves the room as if the verb had either completed or
///   never been called.
///
/// The conformance suite in `waiting-room-sim` checks this contract for any implementation.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's time, as estimated by this node without a round trip.
    fn now(&self) -> Timestamp;

    /// The time since which this store remembers passes.
    ///
    /// A pass with an earlier timestamp may be unknown to the store. The layer renews such a pass
    /// as soon as a request presents it, so that its slot is counted again.
    fn remembers_since(&self) -> Timestamp;

    /// The rules in force, as last received by this node. Reading them needs no round trip.
    fn rules(&self) -> Arc<RoomRules>;

    /// The rules that this node passed to the store when it was created.
    ///
    /// They may differ from the rules in force, which another node or an operator may have changed.
    /// The layer compares them with its own configuration to report a mismatch.
    fn given_rules(&self) -> Arc<RoomRules> {
        self.rules()
    }

    /// Returns whether the server is configured to evict data when its memory is full.
    ///
    /// Once its data has been evicted, a limit is no longer enforced, so the layer reports this as
    /// a misconfiguration. The value is the last one that this node has received; reading it needs
    /// no round trip.
    fn may_evict(&self) -> bool {
        false
    }

    /// The number of waiting visitors that check in when they are due.
    ///
    /// The value is the last one that this node has received, or `None` if it has received none.
    /// Reading it needs no round trip.
    fn present(&self) -> Option<u32> {
        None
    }

    /// Requests a slot for a visitor that has neither a pass nor a ticket.
    fn enter(&self, id: VisitorId) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Requests a slot for a waiting visitor, and confirms that the visitor is still present.
    fn check_in(&self, ticket: Ticket) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Extends the session of an admitted visitor.
    fn renew(&self, pass: Pass) -> impl Future<Output = Result<Renewal, StoreError>> + Send;

    /// Ends a visitor's session, or gives up its place in line. The slot or place is free at once.
    fn leave(&self, id: VisitorId) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes lapsed slots and places, or some of them if there are many.
    ///
    /// The other verbs do the same before they decide, so this verb matters only while no requests
    /// arrive.
    fn sweep(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the room's figures, such as the number of slots in use and the length of the line.
    fn snapshot(&self) -> impl Future<Output = Result<RoomSnapshot, StoreError>> + Send;

    /// Changes the rules in force on every node, even for visitors that have already been admitted.
    ///
    /// `change` receives the rules in force and returns the new ones. The change is atomic, so two
    /// operators cannot overwrite each other's changes: if the rules have changed in the meantime,
    /// the store calls `change` again with the latest rules.
    fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
