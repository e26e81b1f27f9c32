//! The size of a world, and the events that may happen in it.

use std::time::Duration;

use waiting_room_core::VisitorId;
use waiting_room_ledger::{
    EscrowRules, SiteId,
    model::{SitePass, ToGlobal, ToSite},
};

use crate::mutant::Mutant;

/// The size of a world, and the events that may happen in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) limit: u32,
    pub(crate) sites: u16,
    pub(crate) visitors: u32,
    /// The session, like the three times below, in ticks of one second.
    pub(crate) session: u64,
    pub(crate) lease: u64,
    pub(crate) margin: u64,
    /// The time at which the world ends.
    pub(crate) horizon: u64,
    /// The number of times that a site loses its ledger.
    pub(crate) site_losses: u32,
    /// The number of times that the global ledger is lost.
    pub(crate) global_losses: u32,
    /// The number of ticks for which the clock of a site stands still.
    pub(crate) slow_ticks: u32,
    /// The number of times that an admitted visitor leaves, or asks again without its pass.
    pub(crate) whims: u32,
    /// The number of ticks by which the clock of a site runs ahead.
    pub(crate) fast_ticks: u32,
    /// The number of ticks in which at most as many visitors as the limit are new; 0 if there is no
    /// such limit. Sessions are not extended then.
    pub(crate) minute: u64,
    /// The number of times that a site is switched off. While it is, it may be fenced.
    pub(crate) outages: u32,
    /// The number of times that a global ledger continues from what was kept of another one.
    pub(crate) restores: u32,
    /// The number of times that the limit is changed: it is lowered by one, or raised again.
    pub(crate) limit_changes: u32,
    /// The number of times that a site is drained, removed or added.
    pub(crate) list_changes: u32,
    /// The number of messages that are kept in each direction.
    pub(crate) messages: usize,
    /// The number of messages sent by the global ledger at a time that are not lost at once.
    pub(crate) replies: usize,
    /// The sites at which visitors show their passes.
    pub(crate) roaming: Roaming,
    pub(crate) mutant: Mutant,
}

/// The sites at which visitors show their passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Roaming {
    /// At no site: sessions are not extended.
    Nowhere,
    /// At the site that made the pass.
    AtHome,
    /// At every site.
    Anywhere,
}

impl Bounds {
    pub(crate) fn rules(&self) -> EscrowRules {
        let session = if self.mutant == Mutant::ShortMinute { self.minute } else { self.session };
        EscrowRules::new()
            .session(Duration::from_secs(session))
            .lease(Duration::from_secs(self.lease))
            .drift_margin(Duration::from_secs(self.margin))
            .heartbeat(Duration::from_secs(1))
            // Long enough that visitors still wait when late replies arrive.
            .borrow_wait(Duration::from_secs(3))
    }

    pub(crate) fn site_ids(&self) -> impl Iterator<Item = SiteId> + use<> {
        (0..self.sites).map(SiteId::new)
    }
}

/// An event that may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An operator adds a site to the list, or ends its draining.
    Add(usize),
    /// A new visitor arrives at a site.
    Arrive(usize),
    /// A visitor has lost its pass, and asks a site as if it were new.
    AskAgain(usize, VisitorId),
    /// As `AskAgain`, but another limit is full: the admission is withdrawn, and no pass is sent.
    AskInVain(usize, VisitorId),
    /// A site does what is due.
    Beat(usize),
    /// An operator prepares the removal of a site.
    Drain(usize),
    /// Time passes, twice as fast on the clock of one site.
    FastTick(usize),
    /// An operator declares that a site is off, which it is.
    Fence(usize),
    /// The global ledger receives this message, possibly not for the last time.
    Hear(ToGlobal),
    /// A visitor leaves at a site. It keeps its pass, which other sites honour.
    Leave(usize, VisitorId),
    /// The global ledger loses its state.
    LoseGlobal,
    /// A site loses its state.
    LoseSite(usize),
    /// An operator removes a site that holds nothing.
    Remove(usize),
    /// The global ledger is replaced by one that continues from what was kept.
    RestoreGlobal,
    /// An operator changes the limit.
    SetLimit(u32),
    /// A visitor shows a pass to a site.
    Show(usize, SitePass),
    /// A site that is off is switched on, and begins anew.
    SwitchOn(usize),
    /// A site is switched off. Its clock and its ledger survive.
    SwitchOff(usize),
    /// A site receives this message, possibly not for the last time.
    Tell(SiteId, ToSite),
    /// Time passes, except on the clock of one site.
    SlowTick(usize),
    /// Time passes.
    Tick,
}
