//! A node's knowledge of the plan of its room: the rules, the events and the latest draw.
//!
//! A node learns the plan from the server, and follows the schedule on its own. At each change of
//! the phase, the rules in force follow from the plan and from the server's time, so no node has to
//! fetch them at that moment. Only the server knows the number of entrants of a
//! draw. A node learns this number from the first check-in of an entrant after the start, or from
//! the next snapshot.

use std::sync::Arc;

use waiting_room_core::{
    RoomRules, StoreError, Ticket, Timestamp,
    room::event::{Lottery, Reveal, RoomPlan, Seed, Shuffle},
};

use crate::{
    phases::decode_schedule,
    reply::{ReplyFields, malformed},
    rules::decode_rules,
};

/// The plan of a room, as far as a node knows, with the version under which the server stores it.
///
/// The plan and its version are replaced together. If a version were paired with the plan of
/// another version, an operator's change could overwrite a change that the operator has never seen.
#[derive(Clone, Debug)]
pub(crate) struct KnownPlan {
    /// The version of the plan, or zero before the first reply.
    pub(crate) version: u64,
    plan: Arc<RoomPlan>,
    draw: Option<Arc<KnownDraw>>,
    /// The rules in force.
    pub(crate) in_force: Arc<RoomRules>,
    /// The time at which the rules in force change next, or `None` if they never change again.
    pub(crate) until: Option<Timestamp>,
}

/// The latest draw of a room.
#[derive(Debug)]
pub(crate) struct KnownDraw {
    /// The bits that identify the draw.
    tag: u32,
    lottery: Lottery,
    /// The result, once the number of entrants is known.
    drawn: Option<(Reveal, Shuffle)>,
}

/// A question from the script, which needs the places of entrants before it can decide.
#[derive(Debug)]
pub(crate) struct DrawQuestion {
    pub(crate) tag: u32,
    /// The number of the visitor.
    pub(crate) number: u32,
    pub(crate) entrants: u32,
    /// The numbers of entrants who were admitted or have left.
    pub(crate) departed: Vec<u32>,
}

/// The values that a node tells a script about an entrant. Both the place and the number of
/// entrants are zero if the node does not know them, and the position is zero if the last check-in
/// was not after the draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownEntrant {
    pub(crate) number: u32,
    pub(crate) tag: u32,
    pub(crate) place: u32,
    pub(crate) entrants: u32,
    pub(crate) position: u32,
}

impl KnownPlan {
    pub(crate) fn new(version: u64, plan: RoomPlan, now: Timestamp) -> Self {
        Self::with_draw(version, plan, None, now)
    }

    /// Reads a plan that the server has sent.
    ///
    /// # Errors
    ///
    /// Returns an error if this release cannot read the rules, the schedule or the draw.
    pub(crate) fn read(
        version: u64,
        rules: &[u8],
        schedule: &[u8],
        draw: ReplyFields,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let rules = decode_rules(rules)?;
        let schedule = decode_schedule(schedule, &rules)?;
        let draw = KnownDraw::read(&rules.name, draw)?.map(Arc::new);
        let plan = RoomPlan::new(rules, schedule).validate()?;
        Ok(Self::with_draw(version, plan, draw, now))
    }

    fn with_draw(
        version: u64,
        mut plan: RoomPlan,
        draw: Option<Arc<KnownDraw>>,
        now: Timestamp,
    ) -> Self {
        let reveal =
            draw.as_ref().and_then(|draw| draw.drawn.as_ref()).map(|(reveal, _)| reveal.clone());
        plan.reveal = reveal;
        let plan = Arc::new(plan);
        let in_force = Arc::new(plan.rules_at(now));
        let until = plan.next_change(now);
        Self { version, plan, draw, in_force, until }
    }

    /// Returns the room's own rules and its events.
    pub(crate) fn plan(&self) -> &Arc<RoomPlan> {
        &self.plan
    }

    /// Returns a copy of this knowledge with the rules that are in force at `now`.
    pub(crate) fn at(&self, now: Timestamp) -> Self {
        let in_force = Arc::new(self.plan.rules_at(now));
        let until = self.plan.next_change(now);
        Self { in_force, until, ..self.clone() }
    }

    /// Returns a copy of this knowledge that includes the number of entrants of a draw, or `None`
    /// if the number is already known or the draw is unknown.
    pub(crate) fn with_entrants(&self, tag: u32, entrants: u32, now: Timestamp) -> Option<Self> {
        let is_drawn = |draw: &KnownDraw| draw.tag == tag && draw.entrants() == Some(entrants);
        if self.draw.as_deref().is_some_and(is_drawn) {
            return None;
        }
        let draw = KnownDraw::new(tag, self.lottery(tag)?, Some(entrants)).ok()?;
        let plan = RoomPlan::clone(&self.plan);
        Some(Self::with_draw(self.version, plan, Some(Arc::new(draw)), now))
    }

    /// Returns the tag and the number of entrants of the latest draw that has taken place.
    pub(crate) fn drawn(&self) -> Option<(u32, u32)> {
        self.draw.as_ref().and_then(|draw| Some((draw.tag, draw.entrants()?)))
    }

    /// Returns the place of an entrant in the draw with this tag, and the number of entrants.
    pub(crate) fn place_of(&self, tag: u32, number: u32) -> Option<(u32, u32)> {
        let draw = self.draw.as_deref().filter(|draw| draw.tag == tag)?;
        let (reveal, shuffle) = draw.drawn.as_ref()?;
        Some((shuffle.place_of(number)?, reveal.entrants()))
    }

    /// Returns what the script is told about the entrant with this ticket.
    pub(crate) fn shown(&self, ticket: &Ticket) -> Option<ShownEntrant> {
        let entrant = ticket.entrant?;
        let tag = entrant.draw;
        let number = entrant.number;
        let told = entrant.place.zip(entrant.entrants);
        let known = self.drawn().filter(|drawn| drawn.0 == tag);
        // The place in the ticket is not computed again, unless the ticket shows a different draw.
        let (place, entrants) = match (told, known) {
            (Some(told), Some((_, entrants))) if told.1 == entrants => told,
            (told, Some(_)) => self.place_of(tag, number).or(told).unwrap_or_default(),
            (told, None) => told.unwrap_or_default(),
        };
        let position = ticket.position_after_draw().unwrap_or(0);
        Some(ShownEntrant { number, tag, place, entrants, position })
    }

    /// Returns the time that the script uses as the rank of the visitor with this ticket, or `None`
    /// if only the script knows that time.
    pub(crate) fn order(&self, ticket: &Ticket) -> Option<Timestamp> {
        let Some(entrant) = ticket.entrant else { return Some(ticket.arrival()) };
        let is_same = Some((entrant.draw, entrant.entrants?)) == self.drawn();
        // In the scripts, a place is a number of microseconds.
        let place = u64::from(entrant.place.filter(|_| is_same)?);
        Some(crate::clock::from_micros(place))
    }

    /// Returns the draw with this tag, before or after it has taken place.
    fn lottery(&self, tag: u32) -> Option<Lottery> {
        if let Some(draw) = self.draw.as_deref().filter(|draw| draw.tag == tag) {
            return Some(draw.lottery.clone());
        }
        let is_of =
            |commitment: waiting_room_core::room::event::Commitment| commitment.tag() == tag;
        let mut events = self.plan.schedule.events().iter();
        let event = events.find(|event| event.shuffle_at_start.is_some_and(is_of))?;
        self.plan.lottery(event).cloned()
    }
}

impl KnownDraw {
    fn new(tag: u32, lottery: Lottery, entrants: Option<u32>) -> Result<Self, StoreError> {
        let drawn = match entrants {
            None => None,
            Some(entrants) => {
                let reveal = lottery.reveal(entrants, None)?;
                let shuffle = reveal.verify(&lottery.commitment())?;
                Some((reveal, shuffle))
            }
        };
        Ok(Self { tag, lottery, drawn })
    }

    /// Reads the tag, the number of entrants or -1, the name of the event and the seed, or nothing.
    fn read(room: &str, mut said: ReplyFields) -> Result<Option<Self>, StoreError> {
        let Some(tag) = said.next_number_if_any()? else { return Ok(None) };
        let entrants = u32::try_from(said.signed()?).ok();
        let event = said.text()?;
        let seed: Seed = said.text()?.parse()?;
        let lottery = Lottery::new(room, event, seed)?;
        if lottery.commitment().tag() != tag {
            return Err(malformed("the seed does not match the draw".to_owned()));
        }
        Self::new(tag, lottery, entrants).map(Some)
    }

    fn entrants(&self) -> Option<u32> {
        self.drawn.as_ref().map(|(reveal, _)| reveal.entrants())
    }
}
