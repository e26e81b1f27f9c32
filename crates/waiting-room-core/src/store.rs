//! The interface to the place where a room's state is kept.
//!
//! The layer knows a room only through [`Store`]. In one process that is a
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
///   nodes. Between any two verbs the promises of the room hold: no limit is exceeded, no visitor
///   is queued before a limit is reached, and places are served in order.
/// - **Owns its time**: a store timestamps its decisions. [`now`](Self::now) is the best estimate
///   of that time on this node; it needs no round trip and never runs backwards.
/// - **Cheap clones**, which share the state.
/// - **An error decides nothing**: after a [`StoreError`] the verb may or may not have taken
///   effect, and repeating it must be harmless. `enter`, `check_in` and `renew` are idempotent for
///   one visitor, and `leave` may be repeated at any later time.
/// - **Cancel safe**: dropping a future leaves the room as if the verb had been completed, or had
///   never been called.
///
/// The conformance suite in `waiting-room-sim` checks this contract for any implementation.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's time, as estimated on this node, without a round trip.
    fn now(&self) -> Timestamp;

    /// The time since which this store remembers passes.
    ///
    /// A pass with an earlier timestamp may be unknown to the store. The layer renews such a pass
    /// as soon as a request presents it, so that its slot is counted again.
    fn remembers_since(&self) -> Timestamp;

    /// The rules in force, as last known to this node, without a round trip.
    fn rules(&self) -> Arc<RoomRules>;

    /// The rules that this node passed to the store when it was created.
    ///
    /// They may differ from the rules in force, which another node or an operator may have changed.
    /// The layer compares them with its own configuration to report a mismatch.
    fn given_rules(&self) -> Arc<RoomRules> {
        self.rules()
    }

    /// Returns whether the server is set up to evict data when its memory is full.
    ///
    /// Evicted data is a limit that is no longer kept, so the layer reports this as a
    /// misconfiguration. The value is the last one known to this node, without a round trip.
    fn may_evict(&self) -> bool {
        false
    }

    /// The number of visitors that wait and check in when they are due.
    ///
    /// The value is the last one known to this node, without a round trip; `None` if it knows none.
    fn present(&self) -> Option<u32> {
        None
    }

    /// Requests a slot for a visitor that has neither a pass nor a ticket.
    fn enter(&self, id: VisitorId) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Requests a slot for a waiting visitor, and confirms that it is still there.
    fn check_in(&self, ticket: Ticket) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// Extends the session of an admitted visitor.
    fn renew(&self, pass: Pass) -> impl Future<Output = Result<Renewal, StoreError>> + Send;

    /// Ends the session of a visitor, or gives up its place. The slot or the place is free at once.
    fn leave(&self, id: VisitorId) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes lapsed slots and places.
    ///
    /// The other verbs do the same before they decide, so this one matters only while there are no
    /// requests.
    fn sweep(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the figures of the room, such as its slots in use and the length of its line.
    fn snapshot(&self) -> impl Future<Output = Result<RoomSnapshot, StoreError>> + Send;

    /// Changes the rules in force on every node, also for visitors that are already admitted.
    ///
    /// `change` receives the rules in force and returns the new ones. The change is atomic, so two
    /// operators cannot overwrite each other: a store that finds that the rules have changed in the
    /// meantime calls `change` again with those.
    fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
