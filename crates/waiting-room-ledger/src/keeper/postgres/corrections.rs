//! What an operator adds to a database that has lost changes.

use std::collections::BTreeSet;

use waiting_room_sites::SiteId;

/// The changes that a database has lost, as far as the next ledger has to know them: the list of sites,
/// the fences and the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corrections {
    pub(super) sites: BTreeSet<SiteId>,
    pub(super) fences: BTreeSet<SiteId>,
    pub(super) limit: Option<u32>,
}

impl Corrections {
    /// Corrects nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a site on the list, or ends its draining. The next ledger waits for it as for the others.
    #[must_use]
    pub fn add_site(mut self, site: SiteId) -> Self {
        self.sites.insert(site);
        self
    }

    /// Fences every account that a site has had.
    #[must_use]
    pub fn fence(mut self, site: SiteId) -> Self {
        self.fences.insert(site);
        self
    }

    /// Sets the limit.
    #[must_use]
    pub const fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }
}
