//! What a site may use, as two counts that only grow.

/// How many slots were ever granted in an epoch, and how many of them were given back.
///
/// The bounded counter of Balegas et al. (2015) for one pair of replicas. Each count has one
/// writer, the global ledger grants and the site returns, and everybody else takes the greater of
/// what it knows and what it hears. So a message that is lost, doubled or late changes nothing that
/// the next one does not repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Allowance {
    pub(super) granted: u64,
    pub(super) returned: u64,
}

impl Allowance {
    /// What is left: the slots that are the site's to use.
    pub(super) const fn held(self) -> u64 {
        self.granted.saturating_sub(self.returned)
    }

    /// Grants `slots` more. For the global ledger, from what is free.
    pub(super) const fn grant(&mut self, slots: u64) {
        self.granted = self.granted.saturating_add(slots);
    }

    /// Gives back `slots`, of which the caller knows that they are held and not in use.
    pub(super) fn give_back(&mut self, slots: u64) {
        debug_assert!(slots <= self.held(), "nobody gives back what it does not hold");
        self.returned = self.returned.saturating_add(slots).min(self.granted);
    }

    /// Hears how many were granted in all.
    pub(super) fn hear_granted(&mut self, granted: u64) {
        self.granted = self.granted.max(granted);
    }

    /// Hears how many were given back in all, of those that were granted.
    pub(super) fn hear_returned(&mut self, returned: u64) {
        self.returned = self.returned.max(returned.min(self.granted));
    }
}
