//! The open push streams of a node: how many there are, and which of them look next.
//!
//! A stream is a response body, and runs only while its server polls it. This module has no task
//! and no timer of its own. It keeps the streams in the order of the line, and calls those at the
//! front if a slot may have become free:
//!
//! ```text
//!  in order of the line:   █ █ █ █ █ █ █ █ │ █ █ █ █ █ █ █ █ █ █ █ █ …        ▒ ▒
//!                          the front looks │ the others look when the   told that it
//!                          twice a second  │ store asks for a check-in  is their turn
//! ```
//!
//! A stream that is told its turn makes way for the next one, which then looks at once. However many
//! slots become free together, each of them therefore wakes one stream, and a call wakes no more
//! than [`Streams::FRONT`] streams.
//!
//! A server does not poll the body of a response that its client does not read. Such a stream counts
//! until it is [overdue](Streams::OVERDUE), and then no longer takes up a place. It holds at most one
//! event, because an event is rendered only when the server asks for it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use tokio::time::Instant;
use waiting_room_core::VisitorId;

use super::push::Push;
use crate::telemetry::{StreamEnd, Telemetry};

/// The open streams, and the options of push.
pub(crate) struct Streams {
    pub(crate) push: Push,
    telemetry: Telemetry,
    open: Mutex<Open>,
}

/// Why no stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// The node has ended all streams.
    Ended,
    /// The node, or the visitor, has as many streams as it may.
    Full,
    /// The network of the client has as many streams as it may.
    NetworkFull,
}

/// The streams, in the order of the line and in the order in which they are polled next.
#[derive(Default)]
struct Open {
    by_rank: BTreeMap<StreamRank, OpenStream>,
    by_due: BTreeSet<(Instant, StreamRank)>,
    of_network: HashMap<IpAddr, u32>,
    of_visitor: HashMap<VisitorId, u32>,
    /// The number of the next stream.
    next: u64,
    is_ended: bool,
}

/// The place of a stream among all streams. Streams that have been told their turn come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StreamRank {
    has_turn: bool,
    /// The order of the visitor in the line, as [`StreamPlace::moves`] has learned it.
    order: u64,
    id: VisitorId,
    /// The number of the stream, because a visitor may have several.
    number: u64,
}

struct OpenStream {
    network: Option<IpAddr>,
    /// The time at which the stream is polled next, if its client reads what was sent.
    due: Instant,
    /// The task of the connection, once the stream has been polled.
    waker: Option<Waker>,
    /// Whether the stream has been called, and has not looked since.
    is_called: bool,
}

/// One open stream. Dropping this value closes the stream, and lets the next one move to the front.
pub(crate) struct StreamPlace {
    streams: Arc<Streams>,
    rank: StreamRank,
    /// How the stream ends, unless it is ended from outside.
    pub(crate) end: StreamEnd,
}

/// What a stream learns when it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether the stream has to look at once, because a slot may have become free.
    pub(crate) is_called: bool,
    /// Whether the stream is one of those that look more often than the store asks for.
    pub(crate) is_front: bool,
}

impl Streams {
    /// The number of streams at the front. One would be enough if this node always knew the order of
    /// the line. The others bound the delay if it does not, for example after a restart.
    pub(crate) const FRONT: usize = 8;
    /// The maximum number of streams of one visitor, who may have several tabs.
    const PER_VISITOR: u32 = 4;
    /// The time after which a stream that was not polled when it was due has ended. Its client does
    /// not read.
    const OVERDUE: Duration = Duration::from_secs(30);
    /// The maximum number of overdue streams that one new stream ends.
    const ENDED_AT_ONCE: usize = 16;

    /// Creates the streams of a node, none of which is open.
    pub(crate) fn new(push: Push, telemetry: Telemetry) -> Self {
        Self { push, telemetry, open: Mutex::default() }
    }

    /// Opens a stream for a visitor at `order` in the line.
    ///
    /// # Errors
    ///
    /// Returns the reason if a bound is reached or all streams have been ended.
    pub(crate) fn open(
        self: &Arc<Self>,
        id: VisitorId,
        order: u64,
        network: Option<IpAddr>,
        now: Instant,
    ) -> Result<StreamPlace, NotOpened> {
        let mut open = self.locked();
        let wakers = open.end_overdue(now, &self.telemetry);
        let opened = open.insert(&self.push, id, order, network, now);
        drop(open);
        wakers.into_iter().for_each(Waker::wake);
        let (streams, end) = (Arc::clone(self), StreamEnd::Disconnected);
        Ok(StreamPlace { streams, rank: opened?, end })
    }

    /// Calls the streams at the front, because a slot may have become free.
    pub(crate) fn call(&self) {
        let wakers: Vec<_> = {
            let mut open = self.locked();
            open.front().filter_map(OpenStream::call).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends all streams, and opens no others from now on.
    pub(crate) fn end_all(&self) {
        let mut open = self.locked();
        open.is_ended = true;
        let ended = std::mem::take(&mut open.by_rank);
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
        self.locked().by_rank.len()
    }

    /// Locks the streams. Each change is complete before anything can panic, so the streams are
    /// usable after a panic.
    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The streams at the front, in order.
    fn front(&mut self) -> impl Iterator<Item = &mut OpenStream> {
        self.by_rank
            .iter_mut()
            .take(Streams::FRONT)
            .take_while(|(rank, _)| !rank.has_turn)
            .map(|(_, entry)| entry)
    }

    /// Returns whether a stream is at the front.
    fn is_front(&self, rank: StreamRank) -> bool {
        !rank.has_turn && self.by_rank.keys().take(Streams::FRONT).any(|it| *it == rank)
    }

    /// Adds a stream, if no bound is reached.
    fn insert(
        &mut self,
        push: &Push,
        id: VisitorId,
        order: u64,
        network: Option<IpAddr>,
        now: Instant,
    ) -> Result<StreamRank, NotOpened> {
        if self.is_ended {
            return Err(NotOpened::Ended);
        }
        let of_visitor = self.of_visitor.get(&id).copied().unwrap_or_default();
        let of_network = network.and_then(|it| self.of_network.get(&it)).copied();
        if of_network.unwrap_or_default() >= push.max_streams_per_network {
            return Err(NotOpened::NetworkFull);
        }
        let is_full = self.by_rank.len() >= push.max_streams as usize;
        if is_full || of_visitor >= Streams::PER_VISITOR {
            return Err(NotOpened::Full);
        }
        let rank = StreamRank { has_turn: false, order, id, number: self.next };
        self.next += 1;
        *self.of_visitor.entry(id).or_default() += 1;
        if let Some(network) = network {
            *self.of_network.entry(network).or_default() += 1;
        }
        self.by_due.insert((now, rank));
        self.by_rank.insert(rank, OpenStream { network, due: now, waker: None, is_called: false });
        Ok(rank)
    }

    /// Removes a stream, and returns it with the waker of the stream that it made way for.
    fn remove(&mut self, rank: StreamRank) -> Option<(OpenStream, Option<Waker>)> {
        let was_front = self.is_front(rank);
        let entry = self.by_rank.remove(&rank)?;
        self.by_due.remove(&(entry.due, rank));
        take_one(&mut self.of_visitor, &rank.id);
        if let Some(network) = &entry.network {
            take_one(&mut self.of_network, network);
        }
        let waker = was_front.then(|| self.front().nth(Streams::FRONT - 1)?.call()).flatten();
        Some((entry, waker))
    }

    /// Removes streams whose clients do not read. Returns their wakers, and those of the streams
    /// that they made way for.
    fn end_overdue(&mut self, now: Instant, telemetry: &Telemetry) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for _ in 0..Streams::ENDED_AT_ONCE {
            let Some(&(due, rank)) = self.by_due.first() else { break };
            if due + Streams::OVERDUE > now {
                break;
            }
            if let Some((entry, waker)) = self.remove(rank) {
                telemetry.stream_ended(StreamEnd::Slow);
                wakers.extend(entry.waker.into_iter().chain(waker));
            }
        }
        wakers
    }
}

impl OpenStream {
    /// Lets the stream look at once. Returns its waker, to be woken when the lock is released.
    fn call(&mut self) -> Option<Waker> {
        self.is_called = true;
        self.waker.clone()
    }
}

impl StreamPlace {
    /// Returns the standing of the stream, or `None` if it has been ended. A call is returned once.
    pub(crate) fn standing(&self) -> Option<Standing> {
        let mut open = self.streams.locked();
        let is_front = open.is_front(self.rank);
        let entry = open.by_rank.get_mut(&self.rank)?;
        Some(Standing { is_called: std::mem::take(&mut entry.is_called), is_front })
    }

    /// Records that the stream is polled again at `due`, or when `waker` is woken. Returns `false`
    /// if the stream has been called or ended meanwhile, so that it must not wait.
    pub(crate) fn waits(&self, due: Instant, waker: &Waker) -> bool {
        let mut open = self.streams.locked();
        let Some(entry) = open.by_rank.get_mut(&self.rank) else { return false };
        if entry.is_called {
            return false;
        }
        match &mut entry.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        let before = std::mem::replace(&mut entry.due, due);
        if before != due {
            open.by_due.remove(&(before, self.rank));
            open.by_due.insert((due, self.rank));
        }
        true
    }

    /// Moves the stream to another place in the order of the line, or behind all others if it is
    /// its turn. The stream that it makes way for looks at once.
    pub(crate) fn moves(&mut self, order: u64, has_turn: bool) {
        let rank = StreamRank { order, has_turn, ..self.rank };
        if rank == self.rank {
            return;
        }
        let waker = {
            let mut open = self.streams.locked();
            let was_front = open.is_front(self.rank);
            let Some(entry) = open.by_rank.remove(&self.rank) else { return };
            open.by_due.remove(&(entry.due, self.rank));
            open.by_due.insert((entry.due, rank));
            open.by_rank.insert(rank, entry);
            self.rank = rank;
            // A stream that remains at the front makes way for none.
            let leaves = was_front && !open.is_front(rank);
            leaves.then(|| open.front().nth(Streams::FRONT - 1)?.call()).flatten()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns the options of push.
    pub(crate) fn push(&self) -> &Push {
        &self.streams.push
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let removed = self.streams.locked().remove(self.rank);
        // A stream that was ended from outside has been counted already.
        if let Some((_, waker)) = removed {
            self.streams.telemetry.stream_ended(self.end);
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

/// Takes one from a count, and forgets the count at zero.
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
