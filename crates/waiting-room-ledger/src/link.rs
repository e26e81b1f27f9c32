//! The client side: the links of a site and of an operator to the global ledger.

mod dial;
mod operator;
mod pace;

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
    time::{Instant, sleep},
};
use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{EscrowRules, Incarnation, Term, ToGlobal, ToSite},
};

pub use self::{
    dial::{Dial, TcpDial},
    operator::{OperatorError, OperatorLink},
};
use self::{
    dial::{Opened, open},
    pace::{Backoff, Thinning},
};
use crate::wire::{FrameReader, Opener, Pulse, Purpose, SharedKeys, sentence_of};

/// The maximum number of messages that wait in each direction. Messages carry totals, so further
/// messages are dropped without harm.
const MAX_WAITING: usize = 256;
/// The interval at which a link checks whether an answer is overdue.
const LOOK: Duration = Duration::from_millis(250);
/// The interval at which a link without messages pings the ledger.
const SELDOM: Duration = Duration::from_secs(5);

/// The options of a [`LedgerLink`].
#[derive(Clone, Debug)]
pub struct LinkOptions {
    room: String,
    site: SiteId,
    incarnation: Incarnation,
    addresses: Vec<String>,
    keys: SharedKeys,
    lease: Duration,
    within: Duration,
    seed: u64,
}

impl LinkOptions {
    /// Describes the link between one life of a site's ledger, with its rules, and the ledger of a
    /// room. The process at any of the addresses may be the holder.
    #[must_use]
    pub fn new(
        room: impl Into<String>,
        (site, incarnation): (SiteId, Incarnation),
        rules: &EscrowRules,
        addresses: impl IntoIterator<Item = String>,
        keys: SharedKeys,
    ) -> Self {
        let lease = rules.times().into_iter().find(|(field, _)| *field == "lease");
        Self {
            room: room.into(),
            site,
            incarnation,
            addresses: addresses.into_iter().collect(),
            keys,
            lease: lease.map_or(Duration::ZERO, |(_, lease)| lease),
            within: Duration::from_millis(1500),
            seed: incarnation.bits(),
        }
    }

    /// Sets the time within which a ledger has to greet and to answer a ping; 1.5 s by default. If
    /// a ledger takes longer, the link tries another address.
    #[must_use]
    pub const fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Sets the seed of the jitter between attempts; the incarnation by default.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The state of a [`LedgerLink`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkState {
    /// A stream to the holder at this address is open.
    Connected {
        /// The address.
        address: String,
    },
    /// There is no stream; `reason` says why. The link tries again.
    Disconnected {
        /// The last reason, for the operator.
        reason: String,
    },
}

/// The link of a site's ledger to the global ledger: it carries messages, and connects again
/// whenever the stream ends.
///
/// It may lose, repeat or delay messages, as the ledgers expect. Heartbeats that repeat the last one
/// are left out until an eighth of the lease is used, so that a site without visitors costs little.
///
/// The link belongs to one [`Incarnation`]. A site that begins a new life opens a new link. The
/// connection is closed when the link is dropped.
#[derive(Debug)]
pub struct LedgerLink {
    up: mpsc::Sender<ToGlobal>,
    down: mpsc::Receiver<ToSite>,
    state: watch::Receiver<LinkState>,
    task: AbortHandle,
}

impl LedgerLink {
    /// Begins to connect, in a task of the current tokio runtime.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    #[must_use]
    pub fn connect<D: Dial>(dial: D, options: LinkOptions) -> Self {
        let (up, messages) = mpsc::channel(MAX_WAITING);
        let (answers, down) = mpsc::channel(MAX_WAITING);
        let begun = LinkState::Disconnected { reason: "it has just begun".to_owned() };
        let (states, state) = watch::channel(begun);
        let start = Instant::now();
        let heard = Term::default();
        let task = Task { dial, options, messages, answers, states, start, heard };
        let task = tokio::spawn(task.run()).abort_handle();
        Self { up, down, state, task }
    }

    /// Sends a message if there is a stream. Otherwise, or if 256 messages are already waiting, the
    /// message is lost, and the ledger of the site repeats it.
    pub fn send(&self, message: ToGlobal) {
        if matches!(*self.state.borrow(), LinkState::Connected { .. }) {
            // If the queue is full, the message is lost.
            let _ = self.up.try_send(message);
        }
    }

    /// The next message of the global ledger; `None` if the link has ended.
    ///
    /// # Cancel safety
    ///
    /// No message is lost if the future is dropped.
    pub async fn receive(&mut self) -> Option<ToSite> {
        self.down.recv().await
    }

    /// The state, as a receiver that is notified of its changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }
}

impl Drop for LedgerLink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The task of a link.
struct Task<D> {
    dial: D,
    options: LinkOptions,
    messages: mpsc::Receiver<ToGlobal>,
    answers: mpsc::Sender<ToSite>,
    states: watch::Sender<LinkState>,
    start: Instant,
    /// The highest term of a message so far.
    heard: Term,
}

impl<D: Dial> Task<D> {
    async fn run(mut self) {
        let mut backoff = Backoff::new(self.options.seed);
        let mut logged = String::new();
        loop {
            for address in self.options.addresses.clone() {
                let ended = match self.open(&address).await {
                    Ok(opened) => {
                        backoff.reset();
                        logged.clear();
                        self.states.send_replace(LinkState::Connected { address: address.clone() });
                        let site = self.options.site.number();
                        tracing::info!(site, address, "connected to the global ledger");
                        self.exchange(opened, &address).await
                    }
                    Err(error) => error,
                };
                let reason = format!("{address}: {ended}");
                // A standby is normal, and not worth a log line for each attempt.
                if ended.kind() != io::ErrorKind::NotConnected && logged != reason {
                    let site = self.options.site.number();
                    tracing::warn!(site, address, error = %ended, "no stream to the global ledger");
                    logged.clone_from(&reason);
                }
                self.states.send_replace(LinkState::Disconnected { reason });
            }
            let pause = backoff.next(Timestamp::ZERO + self.start.elapsed());
            sleep(pause).await;
        }
    }

    async fn open(&self, address: &str) -> io::Result<Opened> {
        let LinkOptions { room, site, incarnation, keys, within, .. } = &self.options;
        let purpose = Purpose::Site { site: *site, incarnation: *incarnation };
        open(&self.dial, address, room, purpose, keys, *within).await
    }

    /// Carries messages until the stream ends, and returns the reason.
    async fn exchange(&mut self, opened: Opened, address: &str) -> io::Error {
        let Opened { mut reader, mut writer, mut sealer, mut opener, pulse, _connection } = opened;
        // Messages for an earlier stream are out of date.
        while self.messages.try_recv().is_ok() {}
        // This frame shows the ledger that the greeting is not a replay.
        if let Err(error) = writer.write(&mut sealer, &[]).await {
            return error.into();
        }
        let mut thinning = Thinning::new(self.options.lease);
        let awaits_answer = AtomicBool::new(false);
        let messages = &mut self.messages;
        let heard = &mut self.heard;
        let options = &self.options;
        let note = |term: Term| {
            if term > std::mem::replace(heard, term.max(*heard)) {
                let room = &options.room;
                let site = options.site.number();
                let term = term.number();
                tracing::info!(room, site, term, address, "the global ledger has a new term");
            }
        };
        let up = async {
            while let Some(message) = messages.recv().await {
                if thinning.passes(&message) {
                    awaits_answer.store(true, Ordering::Relaxed);
                    if let Err(error) = writer.write(&mut sealer, &message.encode()).await {
                        return error.into();
                    }
                }
            }
            io::Error::other("the link was dropped")
        };
        tokio::select! {
            error = up => error,
            error = receive(&mut reader, &mut opener, &self.answers, &awaits_answer, note) => error,
            error = watch_pulse(pulse, &awaits_answer) => error,
        }
    }
}

/// Hands the answers of the ledger to the site, until the stream ends. Records the highest term.
async fn receive(
    reader: &mut FrameReader,
    opener: &mut Opener,
    answers: &mpsc::Sender<ToSite>,
    awaits_answer: &AtomicBool,
    mut note: impl FnMut(Term),
) -> io::Error {
    loop {
        let content = match reader.next(opener).await {
            Ok(content) => content,
            Err(error) => return error.into(),
        };
        if let Some(sentence) = sentence_of(&content) {
            return io::Error::other(sentence);
        }
        awaits_answer.store(false, Ordering::Relaxed);
        match ToSite::decode(&content) {
            Ok(message) => {
                note(message.term());
                // A site that does not read loses answers, and asks again.
                drop(answers.try_send(message));
            }
            Err(error) => return io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// Completes when the ledger does not answer pings. The ledger is pinged soon while an answer is
/// missing, and seldom otherwise: it may have nothing to say while it learns what the sites hold.
async fn watch_pulse(mut pulse: Pulse, awaits_answer: &AtomicBool) -> io::Error {
    loop {
        let silent_since = Instant::now();
        while silent_since.elapsed() < SELDOM && !awaits_answer.load(Ordering::Relaxed) {
            sleep(LOOK).await;
        }
        if !pulse.is_felt().await {
            return io::Error::new(io::ErrorKind::TimedOut, "the ledger does not answer pings");
        }
        sleep(LOOK).await;
    }
}
