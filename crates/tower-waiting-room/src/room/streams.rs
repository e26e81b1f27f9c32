//! The open push streams of a node: how many there are, and which of them next check for their
//! turn.
//!
//! A stream is a response body, and runs only when the server polls it. This module has no task and
//! no timer of its own. The module keeps the streams in the order of the line, and calls the
//! streams at the front when a slot may have become free:
//!
//! ```text
//!  in order of the line:   █ █ █ █ █ █ █ █ │ █ █ █ █ █ █ █ █ █ █ █ █ …        ▒ ▒
//!                         the front checks │ the others check when the  told that it
//!                           twice a second │ store asks for a check-in  is their turn
//! ```
//!
//! The front consists of one stream for each of the first [`Streams::FRONT`] visitors. A stream
//! that has announced its visitor's turn makes way for the next stream, which then checks at once.
//! Each free slot therefore wakes one stream, however many slots become free together, and a call
//! wakes only streams at the front.
//!
//! A server does not poll the body of a response that its client does not read. Such a stream makes
//! way for the next one when it is [late](Streams::LATE), until it is polled again. When the stream
//! is [overdue](Streams::OVERDUE), it no longer takes up a place. A stream holds at most one event,
//! because an event is rendered only when the server asks for it.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use smallvec::SmallVec;
use tokio::time::Instant;
use waiting_room_core::{Ticket, VisitorId};

use super::push::Push;
use crate::telemetry::{StreamEnd, Telemetry};

/// The open streams, and the options of push.
pub(crate) struct Streams {
    pub(crate) push: Push,
    telemetry: Telemetry,
    open: Mutex<Open>,
}

/// The reason why a stream is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The node has ended all streams.
    Ended,
    /// The node has no stream left for this ticket, or the visitor has the maximum number of streams.
    Full,
    /// The client's network already has the maximum number of streams.
    NetworkFull,
}

/// The open streams, in the order of the line and by the time at which they are polled next.
#[derive(Default)]
struct Open {
    streams: HashMap<u64, OpenStream>,
    by_rank: BTreeSet<StreamRank>,
    /// The streams that are not late, ordered by when they are polled next.
    by_due: BTreeSet<(Instant, u64)>,
    /// The streams that are late, ordered by when they should have been polled.
    late: BTreeSet<(Instant, u64)>,
    of_network: HashMap<IpAddr, u32>,
    of_visitor: HashMap<VisitorId, u32>,
    /// The number of the next stream.
    next: u64,
    is_ended: bool,
}

/// The rank of a stream among all streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StreamRank {
    /// Whether the stream makes way for all others, because it has announced a turn or is late.
    is_behind: bool,
    /// The order of the visitor in the line, as last given to [`StreamPlace::moves`].
    order: u64,
    id: VisitorId,
    /// The number of the stream, because a visitor may have several.
    number: u64,
}

struct OpenStream {
    rank: StreamRank,
    has_turn: bool,
    is_late: bool,
    network: Option<IpAddr>,
    /// The time at which the stream is polled next, if its client reads what was sent.
    due: Instant,
    /// The task of the connection, once the stream has been polled.
    waker: Option<Waker>,
    /// Whether the stream has been called, and has not checked since.
    is_called: bool,
}

/// One open stream. Dropping this value closes the stream, and lets the next one move to the front.
pub(crate) struct StreamPlace {
    streams: Arc<Streams>,
    number: u64,
    /// How the stream ends, unless it is ended from outside.
    pub(crate) end: StreamEnd,
}

/// The facts that a stream learns when it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether the stream has to check for its turn at once, because a slot may have become free.
    pub(crate) is_called: bool,
    /// Whether the stream is one of those that check more often than the store asks them to.
    pub(crate) is_front: bool,
}

impl Streams {
    /// The number of visitors with a stream at the front. One visitor would be enough if this node
    /// always knew the order of the line. The others bound the delay if the node does not know the
    /// order, for example after a restart.
    pub(crate) const FRONT: usize = 8;
    /// The maximum number of streams of one visitor, who may have several tabs.
    const PER_VISITOR: u32 = 4;
    /// How long a stream may be due without being polled before it makes way for the next one.
    /// Either its client does not read, or the node is busy.
    const LATE: Duration = Duration::from_secs(1);
    /// The maximum number of late streams that one pass over the streams handles.
    const LATE_AT_ONCE: usize = 256;
    /// How long a stream may be due without being polled before it is ended, because its client
    /// does not read.
    const OVERDUE: Duration = Duration::from_secs(30);
    /// The maximum number of overdue streams that one new stream ends.
    const ENDED_AT_ONCE: usize = 16;

    /// Creates an empty set of streams for a node.
    pub(crate) fn new(push: Push, telemetry: Telemetry) -> Self {
        Self { push, telemetry, open: Mutex::default() }
    }

    /// Opens a stream for a ticket at `order` in the line.
    ///
    /// Once half of the streams are open, the others are reserved for tickets with a place: a
    /// client can have any number of first tickets, but its network has only a share of the places.
    ///
    /// # Errors
    ///
    /// Returns the reason if a bound is reached or all streams have been ended.
    pub(crate) fn open(
        self: &Arc<Self>,
        ticket: &Ticket,
        order: u64,
        network: Option<IpAddr>,
        now: Instant,
    ) -> Result<StreamPlace, NotOpened> {
        let mut open = self.locked();
        let mut wakers = open.pass_over_late(now);
        wakers.extend(open.end_overdue(now, &self.telemetry));
        let opened = open.insert(&self.push, ticket, order, network, now);
        drop(open);
        wakers.into_iter().for_each(Waker::wake);
        let streams = Arc::clone(self);
        let end = StreamEnd::Disconnected;
        Ok(StreamPlace { streams, number: opened?, end })
    }

    /// Calls the streams at the front, because a slot may have become free.
    pub(crate) fn call(&self, now: Instant) {
        let mut open = self.locked();
        let mut wakers = open.pass_over_late(now);
        let front = open.front();
        wakers.extend(front.into_iter().filter_map(|(_, number)| open.call(number)));
        drop(open);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends all streams, and opens no more from now on.
    pub(crate) fn end_all(&self) {
        let mut open = self.locked();
        let ended = std::mem::take(&mut open.streams);
        *open = Open { is_ended: true, ..Open::default() };
        drop(open);
        for entry in ended.into_values() {
            self.telemetry.stream_ended(StreamEnd::Shutdown);
            entry.waker.into_iter().for_each(Waker::wake);
        }
    }

    /// Returns the number of open streams.
    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn len(&self) -> usize {
        self.locked().streams.len()
    }

    /// Locks the streams. Each change is complete before anything can panic, so the streams are
    /// usable after a panic.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Returns the streams at the front, in order: the first stream of each of the first visitors.
    ///
    /// A visitor has few streams, so only a few streams are visited.
    fn front(&self) -> Front {
        let mut front = Front::new();
        for rank in self.by_rank.iter().take_while(|rank| !rank.is_behind) {
            if front.iter().all(|(id, _)| *id != rank.id) {
                front.push((rank.id, rank.number));
                if front.len() == Streams::FRONT {
                    break;
                }
            }
        }
        front
    }

    /// Changes the streams, and calls those that move to the front, except the stream with this
    /// number. Returns the wakers of the called streams.
    fn calling(&mut self, except: Option<u64>, change: impl FnOnce(&mut Self)) -> Vec<Waker> {
        let before = self.front();
        change(self);
        let moved = self.front().into_iter().filter(|visitor| !before.contains(visitor));
        moved
            .filter(|(_, visitor)| Some(*visitor) != except)
            .filter_map(|(_, visitor)| self.call(visitor))
            .collect()
    }

    /// Makes a stream check at once whether it is its visitor's turn. Returns the waker, to be
    /// woken when the lock is released.
    fn call(&mut self, number: u64) -> Option<Waker> {
        let entry = self.streams.get_mut(&number)?;
        entry.is_called = true;
        entry.waker.clone()
    }

    /// Adds a stream, if no bound is reached.
    fn insert(
        &mut self,
        push: &Push,
        ticket: &Ticket,
        order: u64,
        network: Option<IpAddr>,
        now: Instant,
    ) -> Result<u64, NotOpened> {
        if self.is_ended {
            return Err(NotOpened::Ended);
        }
        let id = ticket.id;
        let of_visitor = self.of_visitor.get(&id).copied().unwrap_or_default();
        let of_network = network.and_then(|network| self.of_network.get(&network)).copied();
        if of_network.unwrap_or_default() >= push.max_streams_per_network {
            return Err(NotOpened::NetworkFull);
        }
        let most = if ticket.placed { push.max_streams } else { push.max_streams.div_ceil(2) };
        let is_full = self.streams.len() >= most as usize;
        if is_full || of_visitor >= Streams::PER_VISITOR {
            return Err(NotOpened::Full);
        }
        let number = self.next;
        self.next += 1;
        *self.of_visitor.entry(id).or_default() += 1;
        if let Some(network) = network {
            *self.of_network.entry(network).or_default() += 1;
        }
        let rank = StreamRank { is_behind: false, order, id, number };
        self.by_due.insert((now, number));
        self.by_rank.insert(rank);
        let [has_turn, is_late, is_called] = [false; 3];
        let waker = None;
        let entry = OpenStream { rank, has_turn, is_late, network, due: now, waker, is_called };
        self.streams.insert(number, entry);
        Ok(number)
    }

    /// Removes a stream, and returns it.
    fn remove(&mut self, number: u64) -> Option<OpenStream> {
        let entry = self.streams.remove(&number)?;
        self.by_rank.remove(&entry.rank);
        let dues = if entry.is_late { &mut self.late } else { &mut self.by_due };
        dues.remove(&(entry.due, number));
        take_one(&mut self.of_visitor, &entry.rank.id);
        if let Some(network) = &entry.network {
            take_one(&mut self.of_network, network);
        }
        Some(entry)
    }

    /// Moves a stream to its new rank.
    fn rank(&mut self, number: u64, order: u64, has_turn: bool) {
        let Some(entry) = self.streams.get_mut(&number) else { return };
        entry.has_turn = has_turn;
        let rank = StreamRank { order, is_behind: has_turn || entry.is_late, ..entry.rank };
        if rank != entry.rank {
            self.by_rank.remove(&entry.rank);
            self.by_rank.insert(rank);
            entry.rank = rank;
        }
    }

    /// Records when a stream is due, and whether it is late.
    fn is_due(&mut self, number: u64, due: Instant, is_late: bool) {
        let Some(entry) = self.streams.get_mut(&number) else { return };
        if (entry.due, entry.is_late) == (due, is_late) {
            return;
        }
        let dues = if entry.is_late { &mut self.late } else { &mut self.by_due };
        dues.remove(&(entry.due, number));
        let dues = if is_late { &mut self.late } else { &mut self.by_due };
        dues.insert((due, number));
        entry.due = due;
        entry.is_late = is_late;
        let order = entry.rank.order;
        let has_turn = entry.has_turn;
        self.rank(number, order, has_turn);
    }

    /// Moves the streams that were due but not polled behind all others. Returns the wakers
    /// of the streams that they made way for.
    fn pass_over_late(&mut self, now: Instant) -> Vec<Waker> {
        let next = |open: &Self| {
            open.by_due.first().copied().filter(|(due, _)| *due + Streams::LATE <= now)
        };
        if next(self).is_none() {
            return Vec::new();
        }
        self.calling(None, |open| {
            for _ in 0..Streams::LATE_AT_ONCE {
                let Some((due, number)) = next(open) else { break };
                open.is_due(number, due, true);
            }
        })
    }

    /// Removes streams whose clients do not read. Returns their wakers.
    fn end_overdue(&mut self, now: Instant, telemetry: &Telemetry) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for _ in 0..Streams::ENDED_AT_ONCE {
            let Some(&(due, number)) = self.late.first() else { break };
            if due + Streams::OVERDUE > now {
                break;
            }
            if let Some(entry) = self.remove(number) {
                telemetry.stream_ended(StreamEnd::Slow);
                wakers.extend(entry.waker);
            }
        }
        wakers
    }
}

impl StreamPlace {
    /// Returns the standing of the stream, or `None` if it has been ended. `is_called` is true only
    /// the first time after the stream was called.
    ///
    /// Also records that the stream is not late, because it has just been polled.
    pub(crate) fn standing(&self, now: Instant) -> Option<Standing> {
        let mut open = self.streams.locked();
        let wakers = open.pass_over_late(now);
        if open.streams.get(&self.number).is_some_and(|entry| entry.is_late) {
            open.is_due(self.number, now, false);
        }
        let is_front = open.front().iter().any(|(_, number)| *number == self.number);
        let standing = open.streams.get_mut(&self.number).map(|entry| {
            let is_called = std::mem::take(&mut entry.is_called);
            Standing { is_called, is_front }
        });
        drop(open);
        wakers.into_iter().for_each(Waker::wake);
        standing
    }

    /// Records that the stream will be polled again at `due`, or when `waker` is woken. Returns
    /// `false` if the stream has been called or ended meanwhile, so that it must not wait.
    pub(crate) fn waits(&self, due: Instant, waker: &Waker) -> bool {
        let mut open = self.streams.locked();
        let Some(entry) = open.streams.get_mut(&self.number) else { return false };
        if entry.is_called {
            return false;
        }
        match &mut entry.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        open.is_due(self.number, due, false);
        true
    }

    /// Moves the stream to another place in the order of the line, or behind all others if its
    /// visitor has its turn. The stream that it makes way for checks at once.
    pub(crate) fn moves(&self, order: u64, has_turn: bool) {
        let wakers = {
            let mut open = self.streams.locked();
            let Some(entry) = open.streams.get(&self.number) else { return };
            if (entry.rank.order, entry.has_turn) == (order, has_turn) {
                return;
            }
            open.calling(Some(self.number), |open| open.rank(self.number, order, has_turn))
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the options of push.
    pub(crate) fn push(&self) -> &Push {
        &self.streams.push
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut removed = None;
        let mut open = self.streams.locked();
        let wakers = open.calling(None, |open| removed = open.remove(self.number));
        drop(open);
        // A stream that was ended from outside has been counted already.
        if removed.is_some() {
            self.streams.telemetry.stream_ended(self.end);
        }
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The streams at the front, each with its visitor.
type Front = SmallVec<[(VisitorId, u64); Streams::FRONT]>;

/// Subtracts one from a count, and removes the count when it reaches zero.
fn take_one<K: Eq + Hash>(counts: &mut HashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
