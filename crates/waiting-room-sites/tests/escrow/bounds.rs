//! How large a world is, and what may happen in it.

use std::time::Duration;

use waiting_room_core::VisitorId;
use waiting_room_sites::{
    SiteId,
    escrow::{EscrowRules, SitePass, ToGlobal, ToSite},
};

use crate::mutant::Mutant;

/// How large a world is, and what may happen in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) limit: u32,
    pub(crate) sites: u16,
    pub(crate) visitors: u32,
    /// All times are ticks of a second.
    pub(crate) session: u64,
    pub(crate) lease: u64,
    pub(crate) margin: u64,
    pub(crate) horizon: u64,
    /// So often does a site lose its ledger.
    pub(crate) site_losses: u32,
    /// So often is the global ledger lost.
    pub(crate) global_losses: u32,
    /// So often does a clock stand still for a tick.
    pub(crate) slow_ticks: u32,
    /// So often does a visitor who is in leave, or ask again without its pass.
    pub(crate) whims: u32,
    /// So many messages are remembered each way.
    pub(crate) messages: usize,
    /// So many of the messages that the global ledger sends at a time are not lost at once.
    pub(crate) replies: usize,
    /// Visitors ask again at any site, and not only at their own.
    pub(crate) roaming: Roaming,
    pub(crate) mutant: Mutant,
}

/// Where visitors show their passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Roaming {
    /// Nowhere: sessions are not prolonged.
    Nowhere,
    /// At the site that made them.
    AtHome,
    /// At every site.
    Anywhere,
}

impl Bounds {
    pub(crate) fn rules(&self) -> EscrowRules {
        EscrowRules::new()
            .session(Duration::from_secs(self.session))
            .lease(Duration::from_secs(self.lease))
            .drift_margin(Duration::from_secs(self.margin))
            .heartbeat(Duration::from_secs(1))
            // Replies that come late find somebody who waits.
            .borrow_wait(Duration::from_secs(3))
    }

    pub(crate) fn site_ids(&self) -> impl Iterator<Item = SiteId> + use<> {
        (0..self.sites).map(SiteId::new)
    }
}

/// Something that may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A new visitor comes to a site.
    Arrive(usize),
    /// A visitor has lost its pass and asks a site as if it were new.
    AskAgain(usize, VisitorId),
    /// The same, and another limit is full: the admission is withdrawn, and no pass is sent.
    AskInVain(usize, VisitorId),
    /// A site does what is due.
    Beat(usize),
    /// The global ledger hears this message, not for the last time perhaps.
    Hear(ToGlobal),
    /// A visitor says to a site that it goes. It keeps its pass, which is honoured elsewhere.
    Leave(usize, VisitorId),
    /// The global ledger loses its memory.
    LoseGlobal,
    /// A site loses its memory.
    LoseSite(usize),
    /// A visitor shows a pass to a site.
    Show(usize, SitePass),
    /// A site hears this message, not for the last time perhaps.
    Tell(SiteId, ToSite),
    /// Time passes, except on the clock of one site.
    SlowTick(usize),
    /// Time passes.
    Tick,
}
