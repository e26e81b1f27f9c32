//! Where a room's state lives.

use std::{future::Future, sync::Arc};

use crate::{
    Pass, Renewal, RoomRules, RoomSnapshot, StoreError, Ticket, Timestamp, Verdict, VisitorId,
};

/// One room's shared state, and the verbs on it.
///
/// # Contract
///
/// - **Atomic**: each verb happens at one instant, in some total order over all clones and all
///   nodes. Between any two verbs the promises of the room hold: never above a limit, never
///   queued early, in order.
/// - **Owns its time**: a store stamps what it decides. [`now`](Self::now) is this node's best
///   knowledge of that time; it needs no round trip and never runs backwards.
/// - **Cheap clones** share the state.
/// - **An error decides nothing**: after a [`StoreError`] the verb may or may not have happened,
///   and repeating it must be harmless. `enter`, `check_in` and `renew` are idempotent for one
///   visitor, `leave` for all time.
/// - **Cancel safe**: dropping a future leaves the room as if the verb had happened, or had not.
///
/// The conformance suite in `waiting-room-sim` is the proof of it.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's time, as far as this node knows it.
    fn now(&self) -> Timestamp;

    /// Since when this store remembers passes.
    ///
    /// A pass stamped earlier may be unknown to it and is renewed at once when it is seen.
    fn remembers_since(&self) -> Timestamp;

    /// The rules in force, as far as this node knows them.
    fn rules(&self) -> Arc<RoomRules>;

    /// The rules that this node has given the store, whatever is in force since.
    fn given_rules(&self) -> Arc<RoomRules> {
        self.rules()
    }

    /// Whether the store may drop what it was told to keep, by how it is set up now.
    ///
    /// As far as this node knows, without a round trip. What is dropped is a limit that is forgotten.
    fn may_evict(&self) -> bool {
        false
    }

    /// How many visitors wait and check in as they were asked to.
    ///
    /// As far as this node knows, without a round trip; `None` if it does not.
    fn present(&self) -> Option<u32> {
        None
    }

    /// A visitor without a pass or a ticket asks for a slot.
    fn enter(&self, id: VisitorId) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// A waiting visitor asks again.
    fn check_in(&self, ticket: Ticket) -> impl Future<Output = Result<Verdict, StoreError>> + Send;

    /// An admitted visitor is still there.
    fn renew(&self, pass: Pass) -> impl Future<Output = Result<Renewal, StoreError>> + Send;

    /// A visitor goes: the slot or the place is free at once.
    fn leave(&self, id: VisitorId) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Drops what has lapsed. The other verbs do the same first; this one is for quiet times.
    fn sweep(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The room in numbers.
    fn snapshot(&self) -> impl Future<Output = Result<RoomSnapshot, StoreError>> + Send;

    /// Changes the rules in force, on every node, for visitors already inside as well.
    ///
    /// Atomic as the verbs are, so that of two operators neither undoes what the other did. A
    /// store that finds the rules changed meanwhile calls `change` again.
    fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
