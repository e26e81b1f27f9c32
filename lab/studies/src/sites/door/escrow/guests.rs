//! The visitors who have asked a ledger for a slot, and their passes.

use rustc_hash::FxHashMap;
use waiting_room_core::VisitorId;
use waiting_room_ledger::model::SitePass;

/// Visitors, by their number in the world.
#[derive(Debug, Default)]
pub(super) struct Guests {
    all: Vec<Guest>,
    /// The visitors to whom a ledger owes a reply, by id.
    waiting: FxHashMap<u128, u32>,
    /// The number of passes in use, by home site.
    at_home: Vec<u32>,
}

/// One visitor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest {
    pub(super) id: u32,
    /// The site at whose door the visitor stands.
    pub(super) site: u16,
    /// The time at which the visitor arrived, if it was told to wait before.
    pub(super) in_line_since: Option<u32>,
    /// The place in the minute of a visitor who needs a slot.
    pub(super) place: Option<SitePass>,
    pub(super) pass: Option<SitePass>,
    /// The time until which the visitor is held at the door, whichever ledger is asked.
    pub(super) deadline: u32,
}

impl Guest {
    pub(super) const fn new(id: u32, site: u16, deadline: u32) -> Self {
        Self { id, site, in_line_since: None, place: None, pass: None, deadline }
    }
}

impl Guests {
    /// Records a request of a visitor. A pass from a site that is gone is worth nothing, so it is
    /// dropped.
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

    /// Gives a visitor this pass in place of any other.
    pub(super) fn hold(&mut self, who: u32, pass: SitePass) {
        self.drop_pass(who);
        self.all[who as usize].pass = Some(pass);
        let home = usize::from(pass.home.number());
        if home >= self.at_home.len() {
            self.at_home.resize(home + 1, 0);
        }
        self.at_home[home] += 1;
    }

    /// Records that a ledger owes a reply to a visitor.
    pub(super) fn wait(&mut self, who: u32) {
        self.waiting.insert(self.all[who as usize].id.into(), who);
    }

    /// Records the place in the minute of a visitor who needs a slot.
    pub(super) fn set_place(&mut self, who: u32, place: Option<SitePass>) {
        self.all[who as usize].place = place;
    }

    /// Returns the visitor to whom a ledger replies, or `None` if the visitor has left.
    pub(super) fn called(&mut self, visitor: VisitorId) -> Option<u32> {
        self.waiting.remove(&visitor.bits())
    }

    /// Records that a visitor has left, or has to wait without a slot.
    pub(super) fn leave(&mut self, who: u32) {
        self.drop_pass(who);
        self.waiting.remove(&self.all[who as usize].id.into());
    }

    /// Forgets the replies that a site owes. Returns the visitors who waited for them.
    pub(super) fn forget_calls_of(&mut self, site: usize) -> Vec<u32> {
        let all = &self.all;
        let mut lost: Vec<_> = self
            .waiting
            .values()
            .copied()
            .filter(|who| usize::from(all[*who as usize].site) == site)
            .collect();
        // Sorted, so that the order does not depend on a hash.
        lost.sort_unstable();
        for who in &lost {
            self.waiting.remove(&self.all[*who as usize].id.into());
        }
        lost
    }

    /// The number of passes in use that this site has issued.
    pub(super) fn at_home(&self, site: u16) -> u32 {
        self.at_home.get(usize::from(site)).copied().unwrap_or(0)
    }

    fn drop_pass(&mut self, who: u32) {
        if let Some(pass) = self.all[who as usize].pass.take() {
            self.at_home[usize::from(pass.home.number())] -= 1;
        }
    }
}
