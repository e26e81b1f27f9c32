//! Which of several ledgers a message is about, and the two counts of slots that belong to one epoch.

/// One life of the global ledger. Whoever starts it anew after a loss gives it a higher term.
///
/// Sites obey the highest term that they have heard of. The caller makes sure that the ledger of an
/// earlier term has stopped, as a store with fencing or an election does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u32);

impl Term {
    /// The term of this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// One life of a site's ledger: 64 random bits, drawn by the caller when the ledger is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(u64);

impl Incarnation {
    /// The incarnation with these random bits.
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }
}

/// One account of one site: the time in which its granted and returned slots are counted.
///
/// An epoch belongs to one [`Incarnation`] and is never used again: what is said of one that is over
/// has no effect. Epochs of a later [`Term`] are greater than all before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch {
    term: Term,
    count: u32,
}

impl Epoch {
    /// Before a site joins for the first time in this term.
    pub(super) const fn before_all_of(term: Term) -> Self {
        Self { term, count: 0 }
    }

    /// The epoch after this one, in a term that is not earlier.
    pub(super) const fn next(self, term: Term) -> Self {
        Self { term, count: self.count.saturating_add(1) }
    }
}

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
