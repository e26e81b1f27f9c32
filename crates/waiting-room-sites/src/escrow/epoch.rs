//! Which of several ledgers a message is about.

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
