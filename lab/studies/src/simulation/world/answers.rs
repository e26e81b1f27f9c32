//! The reactions of visitors to the answers that they receive.

use std::time::Duration;

use waiting_room_core::{Pass, Ticket};

use waiting_room_sim::{Seen, ShownPosition};

use super::{Event, Run};
use crate::simulation::{
    desk::{Door, Reply, Token},
    person::Outcome,
};

/// The time after which a refused visitor tries again if the answer names none.
const RETRY: Duration = Duration::from_secs(30);

impl<D: Door> Run<D> {
    pub(super) fn answer(&mut self, who: u32) {
        let person = &mut self.people[who as usize];
        match person.outcome.take() {
            None => {}
            Some(Outcome::CheckedOut) => {
                self.oracle.left(person.no, person.sent, self.now);
                self.give_up(who);
            }
            Some(Outcome::Replied(reply)) => match reply {
                Reply::Admitted(pass) => self.is_inside(who, pass),
                Reply::Refused { ticket, retry_after } => {
                    self.is_refused(who, ticket, retry_after.unwrap_or(RETRY));
                }
                Reply::Waiting { ticket, retry_after } => self.waits(who, ticket, retry_after),
            },
        }
    }

    fn is_inside(&mut self, who: u32, pass: Pass) {
        let person = &mut self.people[who as usize];
        self.oracle.answered(person.no, self.now, Seen::Admitted);
        person.keep(Token::Pass(pass));
        person.pages_seen += 1;
        if person.pages_seen >= person.temper.pages {
            return self.give_up(who);
        }
        let pause = self.crowd.think(&mut self.rng);
        self.again(who, pause);
    }

    fn is_refused(&mut self, who: u32, ticket: Option<Ticket>, retry_after: Duration) {
        let person = &mut self.people[who as usize];
        self.oracle.answered(person.no, self.now, Seen::Refused);
        if let Some(ticket) = ticket {
            person.keep(Token::Ticket(ticket));
        }
        if person.temper.retries == 0 {
            return self.give_up(who);
        }
        person.temper.retries -= 1;
        self.again(who, retry_after);
    }

    /// Tells the oracle what an answer contains about the draw of an event.
    fn is_in_draw(&mut self, who: u32, ticket: &Ticket) {
        let is_published = self.event.is_some_and(|event| event.start <= self.now);
        if is_published
            && self.oracle.awaits_draw()
            && let (Some(reveal), Some(commitment)) = (self.door.reveal(), &self.commitment)
            && let Ok(shuffle) = reveal.verify(commitment)
        {
            self.oracle.drawn(shuffle);
        }
        if let Some(entrant) = ticket.entrant {
            self.oracle.numbered(self.people[who as usize].no, entrant.number, entrant.place);
        }
    }

    fn waits(&mut self, who: u32, ticket: Ticket, interval: Duration) {
        self.is_in_draw(who, &ticket);
        let person = &mut self.people[who as usize];
        let seen = Seen::Waiting {
            interval,
            waiting_since: Some(ticket.first_seen),
            position: match ticket.shown_position {
                Some(_) if ticket.is_approximate => ShownPosition::Approximate,
                Some(position) => ShownPosition::Exact(position),
                None => ShownPosition::None,
            },
            returned_ticket: matches!(person.token, Some(Token::Ticket(_))),
        };
        self.oracle.answered(person.no, self.now, seen);
        person.keep(Token::Ticket(ticket));
        let gives_up_in = (person.arrived + person.temper.patience).since(self.now);
        let pause = self.crowd.come_back(interval, &mut self.rng);
        if pause < gives_up_in {
            self.again(who, pause);
        } else if gives_up_in.is_zero() {
            self.give_up(who);
        } else {
            self.schedule(gives_up_in, Event::GiveUp(who));
        }
    }
}
