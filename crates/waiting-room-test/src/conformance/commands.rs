//! Random streams of commands, driven by the replies.

use std::{collections::VecDeque, num::NonZeroU16, time::Duration};

use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    Pass, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{HeadStart, Network, Renewal},
};

use super::{schedule::PlannedEvent, settings};

/// One command of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) enum Command {
    /// Time passes.
    Advance(Duration),
    /// A waiting visitor checks in, with its last ticket or an old one.
    CheckIn(Ticket),
    /// New rules are put in force.
    Configure(RoomRules),
    /// A visitor without a pass or a ticket asks for a slot.
    Enter(VisitorId),
    /// A visitor leaves.
    Leave(VisitorId),
    /// Invalid rules are given, which must be refused.
    Misconfigure(RoomRules),
    /// A visitor renews its pass, which may have lapsed.
    Renew(Pass),
    /// The process dies, and another takes its place.
    Restart,
    /// The events of the room are replaced, which may be refused.
    Schedule(Vec<PlannedEvent>),
    /// An operator requests the numbers of the room.
    Snapshot,
    /// A waiting visitor confirms that it is still waiting, with its last ticket or an old one.
    Stay(Ticket),
    /// Lapsed sessions and places are dropped.
    Sweep,
}

/// A seeded stream of commands: the same for the same seed and the same replies.
///
/// It keeps the proofs of earlier replies and presents them again, most often the newest. It also
/// advances the time to instants at which something lapses, or to a millisecond before them.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    rng: Pcg64Mcg,
    settings: RoomRules,
    /// The events of the room, and the number of events drawn so far.
    events: Vec<PlannedEvent>,
    planned: u32,
    tickets: VecDeque<Ticket>,
    passes: VecDeque<Pass>,
}

impl Commands {
    /// The number of proofs of each kind that are kept to be presented again.
    const KEPT: usize = 48;
    /// The number of networks from which visitors come; some visitors have no known network.
    const NETWORKS: u16 = 4;
    /// The resolution of all times in a run.
    const TICK: Duration = Duration::from_millis(1);

    /// Creates the stream of this seed.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let settings = settings::draw(&mut rng);
        let tickets = VecDeque::new();
        let passes = VecDeque::new();
        Self { rng, settings, events: Vec::new(), planned: 0, tickets, passes }
    }

    /// The rules in force.
    #[must_use]
    pub(crate) const fn settings(&self) -> &RoomRules {
        &self.settings
    }

    /// Draws the next command, at `now`.
    pub(crate) fn draw(&mut self, now: Timestamp) -> Command {
        match self.rng.random_range(0..1_000) {
            0..220 => Command::Enter(self.visitor()),
            220..440 => self.shown_ticket(now).map_or(Command::Sweep, Command::CheckIn),
            440..520 => self.shown_ticket(now).map_or(Command::Sweep, Command::Stay),
            520..640 => self.pass().map_or(Command::Sweep, Command::Renew),
            640..690 => Command::Leave(self.visitor()),
            690..740 => Command::Snapshot,
            740..760 => Command::Sweep,
            760..780 => {
                self.settings = settings::change(&self.settings, &mut self.rng);
                Command::Configure(self.settings.clone())
            }
            780..783 => Command::Misconfigure(self.settings.clone().total_active_users(0)),
            783..785 => {
                self.settings = settings::draw(&mut self.rng);
                Command::Configure(self.settings.clone())
            }
            785..786 => Command::Restart,
            786..794 => Command::Schedule(self.schedule(now)),
            _ => Command::Advance(self.pause(now)),
        }
    }

    /// Draws other events: with one added, with one changed, only the future events, or none.
    fn schedule(&mut self, now: Timestamp) -> Vec<PlannedEvent> {
        let mut events = self.events.clone();
        let is_open = events.iter().any(|event| now < event.end);
        match self.rng.random_range(0..10) {
            0 => events.clear(),
            1 => events.retain(|event| now < event.begins_at()),
            2..5 if is_open => {
                let index = self.rng.random_range(0..events.len());
                events[index] = events[index].change(&mut self.rng, now);
            }
            _ => {
                // Some events begin in the past or overlap, and are refused.
                let last = events.iter().map(|event| event.end).max().unwrap_or(now).max(now);
                let is_early = self.rng.random_bool(0.05);
                let from = if is_early { now.before(Duration::from_secs(30)) } else { last };
                events.retain(|event| now < event.end);
                self.planned += 1;
                events.push(PlannedEvent::draw(&mut self.rng, self.planned, from));
            }
        }
        events
    }

    /// Takes note of the room's events.
    pub(crate) fn saw_schedule(&mut self, events: &[PlannedEvent]) {
        self.events = events.to_vec();
    }

    /// Takes note that the room is new, and has no events.
    pub(crate) fn saw_restart(&mut self) {
        self.events.clear();
    }

    /// Keeps the proof in a verdict.
    pub(crate) fn saw_verdict(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Admit { pass, .. } => keep(&mut self.passes, *pass),
            Verdict::Refuse { ticket, .. } => {
                ticket.iter().for_each(|ticket| keep(&mut self.tickets, *ticket));
            }
            Verdict::Wait { ticket, .. } => {
                let mut ticket = *ticket;
                // A layer gives some visitors a head start when it seals their first tickets.
                if !ticket.placed && self.rng.random_bool(0.3) {
                    let seconds = self.rng.random_range(0..90);
                    ticket.head_start = HeadStart::new(Duration::from_secs(seconds));
                }
                keep(&mut self.tickets, ticket);
            }
        }
    }

    /// Keeps the pass in a renewal.
    pub(crate) fn saw_renewal(&mut self, renewal: &Renewal) {
        if let Renewal::Renew(pass) = renewal {
            keep(&mut self.passes, *pass);
        }
    }

    /// Draws a visitor: mostly a new one, sometimes one with a proof.
    fn visitor(&mut self) -> VisitorId {
        match self.rng.random_range(0..10) {
            0 => self.ticket().map(|ticket| ticket.id),
            1..4 => self.pass().map(|pass| pass.id),
            _ => None,
        }
        .unwrap_or_else(|| self.newcomer())
    }

    /// Draws a new visitor, often from the first network, so that it exceeds its share of the line.
    fn newcomer(&mut self) -> VisitorId {
        let network =
            if self.rng.random_bool(0.5) { 1 } else { self.rng.random_range(0..=Self::NETWORKS) };
        // Networks 1 and 2 share a middle network, and all networks share a wide one.
        let network =
            NonZeroU16::new(network.min(1)).map(|wide| Network::new(wide, network / 3, network));
        VisitorId::new(self.rng.random()).of_network(network)
    }

    fn ticket(&mut self) -> Option<Ticket> {
        pick(&mut self.rng, &self.tickets)
    }

    /// Draws a ticket. Some have been updated by a node that could not reach its store, and some
    /// belong to visitors whose sessions have lapsed, or who come from another site.
    fn shown_ticket(&mut self, now: Timestamp) -> Option<Ticket> {
        if self.rng.random_bool(0.05) {
            return Some(Ticket::moving(&self.pass_from_elsewhere(now), now));
        }
        if self.rng.random_bool(0.1)
            && let Some(ticket) = self.pass().and_then(|pass| Ticket::resuming(&pass, now))
        {
            return Some(ticket);
        }
        let mut ticket = self.ticket()?;
        if self.rng.random_bool(0.05) {
            ticket.last_check_in = now;
        }
        Some(ticket)
    }

    /// Draws the pass of a visitor from another site. This site may know the visitor, too.
    fn pass_from_elsewhere(&mut self, now: Timestamp) -> Pass {
        let known = self.pass().filter(|_| self.rng.random_bool(0.5));
        known.unwrap_or_else(|| {
            let arrived = now.before(Duration::from_secs(self.rng.random_range(0..3_600)));
            let bucket = u32::try_from(arrived.as_secs() / 60).unwrap_or(u32::MAX);
            Pass::new(self.newcomer(), bucket, now, now, now)
        })
    }

    fn pass(&mut self) -> Option<Pass> {
        pick(&mut self.rng, &self.passes)
    }

    /// Draws how much time passes. The pauses are shorter around the start of an event with a draw,
    /// so that the draw has entrants.
    fn pause(&mut self, now: Timestamp) -> Duration {
        let settled = Duration::from_secs(20);
        let is_near = |event: &PlannedEvent| {
            event.is_drawn && (event.begins_at()..event.start + settled).contains(&now)
        };
        if self.events.iter().any(is_near) && self.rng.random_bool(0.8) {
            return Duration::from_millis(self.rng.random_range(0..2_000));
        }
        match self.rng.random_range(0..20) {
            0..2 => Duration::ZERO,
            2..10 => Duration::from_millis(self.rng.random_range(1..3_000)),
            10..12 => Duration::from_millis(self.rng.random_range(1..30_000)),
            12 => Duration::from_millis(self.rng.random_range(1..300_000)),
            _ => self.until_a_deadline(now),
        }
    }

    /// Draws a pause up to an instant at which something lapses, or to a millisecond before.
    fn until_a_deadline(&mut self, now: Timestamp) -> Duration {
        let ticket = self.ticket();
        let pass = self.pass();
        let of_ticket = ticket.map(|ticket| {
            let interval = ticket.next_check_in.since(ticket.last_check_in);
            let kept = ticket.last_check_in + self.settings.place_retention;
            [ticket.next_check_in, ticket.last_check_in + interval * 3 / 2, kept]
        });
        let of_pass = pass.map(|pass| {
            let minute = pass.accepted_at + Duration::from_secs(60);
            [pass.expires_at, minute, pass.accepted_at + self.settings.place_retention]
        });
        let of_event = |event: &PlannedEvent| [event.begins_at(), event.start, event.end];
        let of_events = self.events.choose(&mut self.rng).map(of_event);
        let ahead: Vec<_> = [of_ticket, of_pass, of_events]
            .into_iter()
            .flatten()
            .flatten()
            .filter(|&deadline| deadline > now)
            .collect();
        let deadline = ahead.choose(&mut self.rng).copied().unwrap_or(now + Self::TICK);
        let pause = deadline.since(now);
        let pause =
            if self.rng.random_bool(0.5) { pause } else { pause.saturating_sub(Self::TICK) };
        // The ticket of a visitor from another site is due a nanosecond after it was issued.
        Duration::from_millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Picks one of the newest three, of the newest twelve, or of all.
fn pick<T: Copy>(rng: &mut Pcg64Mcg, kept: &VecDeque<T>) -> Option<T> {
    let newest = match rng.random_range(0..10) {
        0..5 => 3,
        5..8 => 12,
        _ => kept.len(),
    };
    let back = rng.random_range(0..newest.min(kept.len()).max(1));
    kept.iter().rev().nth(back).copied()
}

fn keep<T>(kept: &mut VecDeque<T>, proof: T) {
    kept.push_back(proof);
    if kept.len() > Commands::KEPT {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_whole_ticks_also_until_a_visitor_from_another_site_is_due() {
        let now = Timestamp::from_secs(1_700_000_000);
        let mut commands = Commands::new(1);
        let elsewhere = commands.pass_from_elsewhere(now);
        keep(&mut commands.tickets, Ticket::moving(&elsewhere, now));
        for _ in 0..100 {
            let pause = commands.until_a_deadline(now);
            assert_eq!(pause.subsec_nanos() % 1_000_000, 0, "{pause:?}");
        }
    }
}
