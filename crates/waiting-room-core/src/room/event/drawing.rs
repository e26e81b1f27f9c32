//! The draw of one event in a room: the numbers of the entrants and, after the start, their places.
//!
//! ```text
//!   prequeue                  start                        all entrants have moved
//!  ─────┼───────────────────────┼────────────────────────────┼────────────────► time
//!       │ entrants get numbers  │ unsettled: entrants move   │ settled: counting the present
//!       │                       │ to their places, a few at  │ visitors ahead is exact
//!       │                       │ a time; all entrants with  │
//!       │                       │ better places count as     │
//!       │                       │ ahead                      │
//! ```
//!
//! At the start, only the number of entrants is frozen. Each operation then moves a few entrants
//! from the order of arrival to their places, and an entrant that checks in moves at once. All
//! places are below 2^32, and all times of arrival in nanoseconds are above, so a place used as a
//! time of arrival puts the entrants ahead of all other visitors.
//!
//! A room that has lost its state learns of an entrant only at the entrant's next check-in. The
//! draw is then settled one and a half check-in intervals after the start, when every present
//! entrant has checked in. Until then, the ticket of an entrant that has checked in between the
//! start and the loss tells how many entrants with better places were no longer waiting, because
//! they were inside, had left or were away. These entrants do not delay the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Timestamp, VisitorId,
    room::{
        event::{Commitment, Entrant, Lottery, Reveal, Shuffle},
        orders::{Rank, Ranks},
    },
};

/// The draw of one event.
#[derive(Clone, Debug)]
pub(in crate::room) struct Drawing {
    lottery: Lottery,
    commitment: Commitment,
    /// The highest number that was assigned, or presented with a ticket.
    highest: u32,
    /// The time from which numbers are assigned. After a loss of state, it is late enough for all
    /// present entrants to present their numbers first, so no number is assigned twice.
    numbered_from: Timestamp,
    /// The start as the room noticed it, or `None` before the start.
    started: Option<Started>,
    /// The order of the entrants, once the number of entrants is final.
    drawn: Option<Drawn>,
    /// The numbers of entrants who were admitted or have left, and whose places are not known yet.
    departed: BTreeSet<u32>,
    /// The places of entrants who were admitted or have left.
    gone: Ranks<()>,
    /// Maps the number of each entrant who checked in between the start and the loss of state to
    /// the count of entrants with better places who were no longer waiting.
    gone_before: BTreeMap<u32, u32>,
}

/// The start of an event, as far as its draw is concerned.
#[derive(Clone, Copy, Debug)]
struct Started {
    /// The start of the event.
    at: Timestamp,
    /// The time by which all present entrants have checked in or been moved.
    settled_at: Timestamp,
    /// The rank of the first entrant that may have to be moved to its place. `None` if all have been
    /// moved, or if the room does not know which entrants are present.
    moves_from: Option<Rank>,
}

/// The result of a draw.
#[derive(Clone, Debug)]
struct Drawn {
    reveal: Reveal,
    shuffle: Shuffle,
}

impl Drawing {
    /// The maximum number of departed entrants that are remembered. Entrants beyond this number
    /// count as ahead until all entrants have checked in.
    const MAX_DEPARTED: usize = 1 << 20;
    /// The longest possible time from the start to the first operation if entrants are present: the
    /// first of them check in within about three seconds.
    const PROMPT: Duration = Duration::from_secs(5);
    /// The number of departed entrants whose places one operation computes, at about 14 µs each.
    const PLACES_AT_ONCE: usize = 8;
    /// The number of entrants that one operation forgets once the draw is settled.
    const FORGOTTEN_AT_ONCE: usize = 64;

    /// Creates the draw of an event that has not started.
    pub(in crate::room) fn new(lottery: Lottery, numbered_from: Timestamp) -> Self {
        Self {
            commitment: lottery.commitment(),
            lottery,
            highest: 0,
            numbered_from,
            started: None,
            drawn: None,
            departed: BTreeSet::new(),
            gone: Ranks::default(),
            gone_before: BTreeMap::new(),
        }
    }

    /// Returns whether this is the draw with the given commitment.
    pub(in crate::room) fn is_of(&self, commitment: Commitment) -> bool {
        self.commitment == commitment
    }

    /// Returns the bits that identify this draw in tickets and places.
    pub(in crate::room) fn tag(&self) -> u32 {
        self.commitment.tag()
    }

    /// Assigns the next number. Returns `None` after the start, and before numbers are assigned.
    pub(in crate::room) fn assign(&mut self, now: Timestamp) -> Option<u32> {
        if self.started.is_some() || now < self.numbered_from {
            return None;
        }
        self.highest = self.highest.checked_add(1)?;
        Some(self.highest)
    }

    /// Takes note of a number that was assigned by this room or, before a loss of state, by its
    /// predecessor.
    pub(in crate::room) fn recognize(&mut self, entrant: Entrant) {
        match (&self.drawn, entrant.entrants) {
            (Some(_), _) => {}
            (None, Some(entrants)) if self.started.is_some() => self.draw(entrants),
            (None, _) => self.highest = self.highest.max(entrant.number),
        }
    }

    /// Starts the event. Its start was at `at`, and the room notices it at `now`. Freezes the
    /// number of entrants, unless the room has lost its state or ran no operation in the prequeue.
    /// Such a room learns the number from the tickets that entrants present until `settled_at`.
    pub(in crate::room) fn start(
        &mut self,
        at: Timestamp,
        now: Timestamp,
        settled_at: Timestamp,
        is_complete: bool,
    ) {
        if self.started.is_none() {
            // If the room ran no operation around the start, no entrant counts as present, so all
            // of them get time to check in.
            let is_awake = now.since(at) <= Self::PROMPT;
            let moves_from = (is_complete && is_awake).then_some(FIRST_ARRIVAL);
            self.started = Some(Started { at, settled_at, moves_from });
            if is_complete {
                self.draw(self.highest);
            }
        }
    }

    /// Draws the order of this number of entrants.
    fn draw(&mut self, entrants: u32) {
        let drawn = self.lottery.reveal(entrants, None).and_then(|reveal| {
            let shuffle = reveal.verify(&self.commitment)?;
            Ok(Drawn { reveal, shuffle })
        });
        // The seed was checked against the commitment when the room took over the schedule. Should
        // the draw fail nevertheless, the entrants keep their order of arrival.
        self.drawn = drawn.ok();
    }

    /// Does a bounded amount of work: computes the places of a few departed entrants or, once the
    /// draw is settled, frees the memory for them.
    pub(in crate::room) fn advance(&mut self, now: Timestamp) {
        let Some(Started { settled_at, .. }) = self.started else { return };
        if now >= settled_at {
            if self.drawn.is_none() {
                self.draw(self.highest);
            }
            for _ in 0..Self::FORGOTTEN_AT_ONCE {
                self.departed.pop_last();
                self.gone_before.pop_last();
            }
            self.gone.drop_section();
            return;
        }
        let Some(drawn) = &self.drawn else { return };
        for _ in 0..Self::PLACES_AT_ONCE {
            let Some(number) = self.departed.pop_last() else { break };
            if let Some(place) = drawn.shuffle.place_of(number) {
                let rank = rank_of(place, number);
                // An entrant that was admitted without a place may depart twice.
                if !self.gone.is_present(rank) {
                    self.gone.insert(rank, ());
                }
            }
        }
    }

    /// Returns the rank from which entrants have to be moved to their places, and the time before
    /// which all of them arrived.
    pub(in crate::room) fn to_move(&self) -> Option<(Rank, Timestamp)> {
        let started = self.started.filter(|_| self.drawn.is_some())?;
        Some((started.moves_from?, started.at))
    }

    /// Takes note of the rank from which entrants still have to be moved. If there are none, the draw
    /// is settled.
    pub(in crate::room) fn moved(&mut self, next: Option<Rank>, now: Timestamp) {
        if let Some(started) = &mut self.started {
            started.moves_from = next;
            if next.is_none() {
                started.settled_at = started.settled_at.min(now);
            }
        }
    }

    /// Takes note of an entrant that was admitted or has left.
    pub(in crate::room) fn depart(&mut self, number: u32) {
        if self.departed.len() < Self::MAX_DEPARTED {
            self.departed.insert(number);
        }
    }

    /// Takes note of an entrant that is in line again, after it may have departed.
    pub(in crate::room) fn returns(&mut self, number: u32, place: Option<u32>) {
        self.departed.remove(&number);
        if let Some(place) = place {
            self.gone.remove(rank_of(place, number));
        }
    }

    /// Takes note of the position on a ticket that was issued before a loss of state. Of the
    /// entrants with better places, only those ahead of this position were still waiting.
    pub(in crate::room) fn recall(&mut self, number: u32, place: u32, position: u32) {
        if self.gone_before.len() < Self::MAX_DEPARTED {
            self.gone_before.entry(number).or_insert(place.saturating_sub(position));
        }
    }

    /// Returns the place of an entrant in the drawn order, or `None` before the draw.
    pub(in crate::room) fn place_of(&self, number: u32) -> Option<u32> {
        self.drawn.as_ref()?.shuffle.place_of(number)
    }

    /// Returns the places of some numbers in the drawn order, as [`place_of`](Self::place_of) does.
    pub(in crate::room) fn places_of(&self, numbers: &[u32]) -> Vec<Option<u32>> {
        let places = |drawn: &Drawn| drawn.shuffle.places_of(numbers);
        self.drawn.as_ref().map_or_else(|| vec![None; numbers.len()], places)
    }

    /// Returns the number of entrants, or `None` before the draw.
    pub(in crate::room) fn entrants(&self) -> Option<u32> {
        self.drawn.as_ref().map(|drawn| drawn.reveal.entrants())
    }

    /// Returns the highest number that was assigned.
    pub(in crate::room) const fn numbered(&self) -> u32 {
        self.highest
    }

    /// Returns what is published about the draw, once it has taken place.
    pub(in crate::room) fn reveal(&self) -> Option<&Reveal> {
        self.drawn.as_ref().map(|drawn| &drawn.reveal)
    }

    /// Returns whether the event has started while the number of entrants is still unknown.
    pub(in crate::room) const fn is_recovering(&self) -> bool {
        self.started.is_some() && self.drawn.is_none()
    }

    /// Returns the start of the event, if present entrants may still be ordered by arrival.
    pub(in crate::room) fn unsettled_since(&self, now: Timestamp) -> Option<Timestamp> {
        self.started.filter(|started| now < started.settled_at).map(|started| started.at)
    }

    /// Returns the minimum number of entrants that count as ahead of an entrant while the draw is
    /// not settled: those with better places who are neither admitted nor gone.
    pub(in crate::room) fn least_ahead(&mut self, number: u32, place: u32) -> u32 {
        let gone_before = self.gone_before.get(&number).copied().unwrap_or(0);
        let better = place.saturating_sub(1).saturating_sub(gone_before);
        better.saturating_sub(self.gone.before(Rank::new(place.into(), VisitorId::new(0))))
    }
}

/// Returns the rank of a departed entrant.
fn rank_of(place: u32, number: u32) -> Rank {
    Rank::new(place.into(), VisitorId::new(number.into()))
}

/// The lowest possible rank of a visitor who is ordered by arrival. All places in a draw are lower.
const FIRST_ARRIVAL: Rank = Rank::new(1 << 32, VisitorId::new(0));
