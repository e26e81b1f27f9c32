//! Who has asked a ledger for a slot, and what it has got.

use rustc_hash::FxHashMap;
use waiting_room_core::VisitorId;
use waiting_room_sites::escrow::SitePass;

/// Visitors, by the number that they have in the world.
#[derive(Debug, Default)]
pub(super) struct Guests {
    all: Vec<Guest>,
    /// Those whom a ledger has promised to call, by their id.
    waiting: FxHashMap<u128, u32>,
    /// Passes of each home that are in use.
    at_home: Vec<u32>,
}

/// One visitor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest {
    pub(super) id: u32,
    /// The site at whose door it stands.
    pub(super) site: u16,
    pub(super) pass: Option<SitePass>,
    /// Until then it is kept at the door, whichever ledger it asks.
    pub(super) deadline: u32,
}

impl Guest {
    pub(super) const fn new(id: u32, site: u16, deadline: u32) -> Self {
        Self { id, site, pass: None, deadline }
    }
}

impl Guests {
    /// Somebody asks. What it may have got at a site that is gone is worth nothing.
    pub(super) fn welcome(&mut self, who: u32, guest: Guest) {
        let index = who as usize;
        if index >= self.all.len() {
            self.all.resize(index + 1, Guest::new(0, 0, 0));
        }
        self.drop_pass(who);
        self.all[index] = guest;
    }

    pub(super) fn of(&self, who: u32) -> &Guest {
        &self.all[who as usize]
    }

    /// It has this pass now, and no other.
    pub(super) fn hold(&mut self, who: u32, pass: SitePass) {
        self.drop_pass(who);
        self.all[who as usize].pass = Some(pass);
        let home = usize::from(pass.home.number());
        if home >= self.at_home.len() {
            self.at_home.resize(home + 1, 0);
        }
        self.at_home[home] += 1;
    }

    /// It will be called.
    pub(super) fn wait(&mut self, who: u32) {
        self.waiting.insert(self.all[who as usize].id.into(), who);
    }

    /// A ledger calls somebody; nobody if it has gone.
    pub(super) fn called(&mut self, visitor: VisitorId) -> Option<u32> {
        self.waiting.remove(&visitor.bits())
    }

    /// It has gone, or has to wait without a slot.
    pub(super) fn leave(&mut self, who: u32) {
        self.drop_pass(who);
        self.waiting.remove(&self.all[who as usize].id.into());
    }

    /// This site calls nobody any more: those whom it would have called.
    pub(super) fn forget_calls_of(&mut self, site: u16) -> Vec<u32> {
        let all = &self.all;
        let mut lost: Vec<_> =
            self.waiting.values().copied().filter(|who| all[*who as usize].site == site).collect();
        // In an order that does not depend on a hash.
        lost.sort_unstable();
        for who in &lost {
            self.waiting.remove(&self.all[*who as usize].id.into());
        }
        lost
    }

    /// So many passes are in use that this site has made.
    pub(super) fn at_home(&self, site: u16) -> u32 {
        self.at_home.get(usize::from(site)).copied().unwrap_or(0)
    }

    fn drop_pass(&mut self, who: u32) {
        if let Some(pass) = self.all[who as usize].pass.take() {
            self.at_home[usize::from(pass.home.number())] -= 1;
        }
    }
}
