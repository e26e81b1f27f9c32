//! The keepers, which store the state that outlives the process of a global ledger, and decide
//! which process is that ledger.
//!
//! A keeper has two tasks. It stores the accounts of the sites, so that the next process continues
//! where the last one stopped. And it decides which process is *the* global ledger: each process
//! that takes over gets a higher [`Term`], and the keeper refuses every batch of a lower term from
//! then on.
//!
//! ```text
//!  process A, term 4 ── keep ──►┌────────┐
//!                               │ keeper │◄── watch: nothing new for 1.5 s
//!  process A, term 4 ── keep ─✗ └────────┘◄── take over: term 5 ── process B
//! ```
//!
//! | keeper | keeps | after a loss of the process |
//! |---|---|---|
//! | [`PostgresKeeper`] | everything | grants at once |
//! | [`MemoryKeeper`] | everything, in this process | for tests |

use std::{error::Error, fmt, future::Future};

use crate::escrow::Term;

mod memory;
#[cfg(feature = "postgres")]
mod postgres;

pub use self::memory::{KeeperFault, MemoryKeeper};
#[cfg(feature = "postgres")]
pub use self::postgres::{Corrections, Failover, PostgresKeeper};
pub(crate) use crate::escrow::{Changes, Kept};

/// A store that fences the processes of one room's global ledger by their terms.
///
/// A `Holder` calls the methods from one task, one after the other, and gives each call
/// `HolderTimes::keep` to complete.
///
/// # Cancel safety
///
/// A call that is dropped before it returns may still take effect, but not after a later call has
/// returned: a batch that arrives late must not replace a newer one.
pub trait LedgerKeeper: Send + 'static {
    /// Returns the state by which a standby finds out whether the holder is alive.
    ///
    /// # Errors
    ///
    /// Returns an error if the keeper cannot be reached, must not be used, or has no such room.
    fn watch(&mut self) -> impl Future<Output = Result<Seen, KeepError>> + Send;

    /// Takes over with a term that is higher than `seen.term` and at least `at_least`, and returns
    /// what is kept, both in one transaction. Returns `None` if the holder has stored a batch since
    /// it was `seen`, or another process has taken over.
    ///
    /// # Errors
    ///
    /// Returns an error if the keeper cannot be reached or must not be used. The error is
    /// [`KeepError::Lost`] if the keeper may have lost something that it has acknowledged.
    fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> impl Future<Output = Result<Option<TakenOver>, KeepError>> + Send;

    /// Stores a batch of changes, all or nothing, if no other process has taken over. A batch
    /// without changes shows the standbys that the holder is alive, and shows the holder that its
    /// term is not over.
    ///
    /// # Errors
    ///
    /// Returns [`KeepError::Fenced`] if the term is over: nothing was stored, and the holder must
    /// not send any message. Any other error means that it is unknown whether the batch was stored;
    /// the batch is then stored again, merged with later changes.
    fn keep(&mut self, changes: &Changes) -> impl Future<Output = Result<(), KeepError>> + Send;

    /// Gives the room up, so that a standby takes over at once. Called when the holder stops.
    ///
    /// # Errors
    ///
    /// Returns an error if the keeper cannot be reached. The standbys then take over as if the
    /// process had been killed.
    fn release(&mut self, term: Term) -> impl Future<Output = Result<(), KeepError>> + Send;
}

/// The state of the holder as a standby reads it. The holder is alive as long as this state
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// The term of the process that took over last.
    pub term: Term,
    /// The number of the last batch, which grows with each batch and each take-over.
    pub batch: u64,
    /// Whether a process holds the room, as far as the keeper knows.
    pub is_held: bool,
}

/// The kept state that a process continues from after it has taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakenOver {
    /// All accounts were kept: the ledger continues with them at once.
    Kept(Kept),
    /// The accounts are lost or unreliable; only the term, the limit, the rules, the list of sites
    /// and their fences are known. The ledger grants nothing until every site has reported, or
    /// everything that was granted before has expired.
    Lost(Kept),
}

/// The reason why a keeper did not do what was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeepError {
    /// Another process has taken over, or an operator has recovered the room.
    Fenced {
        /// The term that is kept.
        term: Term,
    },
    /// The keeper may have lost what it had acknowledged. An operator has to decide whether to
    /// recover the room, which is safe if its list of sites and its fences are complete.
    Lost {
        /// The difference between what was found and what was acknowledged.
        found: String,
    },
    /// The room is not set up.
    NoRoom {
        /// Its name.
        room: String,
    },
    /// The keeper must not be used, because of its settings.
    Unfit {
        /// The setting, its value, and the value that is needed.
        setting: String,
    },
    /// The keeper cannot be reached, or has not answered in time.
    Unavailable {
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl KeepError {
    /// The keeper cannot be reached.
    pub(crate) fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { source: source.into() }
    }
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced { term } => {
                let term = term.number();
                write!(
                    f,
                    "the term is {term}: another ledger has taken over, or the room is recovered"
                )
            }
            Self::Lost { found } => {
                write!(
                    f,
                    "{found}, so acknowledged changes may be lost: the room has to be recovered"
                )
            }
            Self::NoRoom { room } => write!(f, "room is {room:?}, expected one that was set up"),
            Self::Unfit { setting } => f.write_str(setting),
            Self::Unavailable { source } => write!(f, "the keeper is unavailable: {source}"),
        }
    }
}

impl Error for KeepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable { source } => Some(source.as_ref()),
            Self::Fenced { .. } | Self::Lost { .. } | Self::NoRoom { .. } | Self::Unfit { .. } => {
                None
            }
        }
    }
}

/// The term after `seen`, or `at_least` if that is higher. The greatest term has no successor.
pub(crate) fn next_term(seen: Term, at_least: Term) -> Result<Term, KeepError> {
    let next = seen.number().checked_add(1).ok_or_else(|| KeepError::Unfit {
        setting: format!("term is {}, expected less", seen.number()),
    })?;
    Ok(Term::new(next).max(at_least))
}
