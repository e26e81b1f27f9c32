//! The number of an entrant, as a ticket contains it.

/// The number of a visitor in the draw of an event, and its place once the draw has taken place.
///
/// A ticket contains the number, so it survives a restart of the room. With the number, the visitor
/// can recompute its place from what is published after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entrant {
    /// The number of the entrant, counted from 1.
    pub number: u32,
    /// The place in the drawn order, counted from 1; `None` before the start.
    pub place: Option<u32>,
    /// The number of entrants; `None` before the start.
    pub entrants: Option<u32>,
    /// The first 32 bits of the commitment under which the number was assigned.
    pub draw: u32,
}

impl Entrant {
    /// Creates an entrant with this number, in the draw whose commitment begins with these bits.
    #[must_use]
    pub const fn new(number: u32, draw: u32) -> Self {
        Self { number, place: None, entrants: None, draw }
    }
}
