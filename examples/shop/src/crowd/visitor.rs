//! One visitor: it arrives, waits, looks at pages, checks out or does not, and leaves.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::header::SET_COOKIE;
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tower_waiting_room::{respond::REASON_HEADER, time::Timestamp, token::TOKEN_HEADER};
use waiting_room_sim::{
    Seen, ShownPosition, VisitorNo,
    plan::{Ending, Kind, Memory, Plan},
};

use super::{
    answer::{Answer, News, Notice},
    client::{Client, Errand},
    flight::Flight,
    idle::{By, Step},
    sale::SalePlan,
    stream::{PushStream, Pushed},
    trips::{Purpose, Unextended},
    witness::{Fate, Witness},
};
use crate::calls::Calls;

/// A visitor that has arrived.
#[derive(Debug)]
pub(super) struct Visitor {
    plan: Plan,
    client: Client,
    witness: Arc<Witness>,
    number: VisitorNo,
    came: Instant,
    came_at: Timestamp,
    has_pass: bool,
    has_ticket: bool,
    unextended: Unextended,
    /// Whether it has been shown an exact position.
    is_placed: bool,
    /// The number of answers that asked it to wait.
    waits: u32,
    fate: Fate,
    /// The time for which a new pass is valid.
    holds_for: Duration,
}

/// The result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The visitor was refused. It may return after this time, or never.
    Away(Option<Duration>),
    /// The visitor was admitted.
    Inside,
    /// There was no answer.
    Nothing,
    /// The visitor was asked to return after this time.
    Wait(Duration),
}

/// The result of following the line over a push stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Followed {
    /// There is no stream any more, so the visitor polls after this time.
    Poll(Duration),
    /// It is the visitor's turn.
    Turn,
}

impl Visitor {
    /// Creates a visitor that arrives now.
    pub(super) fn new(
        number: u64,
        plan: Plan,
        address: SocketAddr,
        witness: Arc<Witness>,
    ) -> Result<Self, reqwest::Error> {
        let holds_for = witness.pass_lifetime();
        let client = Client::new(address, plan.kind, plan.memory)?;
        witness.came();
        Ok(Self {
            plan,
            client,
            came_at: witness.came_at(VisitorNo(number)),
            witness,
            number: VisitorNo(number),
            came: Instant::now(),
            has_pass: false,
            has_ticket: false,
            unextended: Unextended::none(holds_for),
            is_placed: false,
            waits: 0,
            fate: Fate::Abandoned,
            holds_for,
        })
    }

    /// Performs the whole visit.
    pub(super) async fn live(mut self) {
        let told = self.ask(Errand::Page(0)).await;
        if !self.get_in(told).await {
            return;
        }
        for page in 0..self.plan.thoughts.len() {
            sleep(self.plan.thoughts[page]).await;
            // A visitor whose session has lapsed has to wait like any other.
            let told = self.ask(Errand::Page(page + 1)).await;
            if matches!(told, Told::Wait(_) | Told::Away(_)) && !self.get_in(told).await {
                return;
            }
        }
        if self.plan.ending == Ending::Checkout {
            self.check_out().await;
        }
    }

    /// Sends requests until the visitor is admitted, after one with this answer. Returns whether it was.
    async fn get_in(&mut self, mut told: Told) -> bool {
        let patience = self.plan.patience.unwrap_or(ENDLESS);
        let until = Instant::now() + patience;
        let mut failures = 0;
        let mut is_polling = false;
        loop {
            let pause = match told {
                // The script learns that the visitor is admitted, and loads the page.
                Told::Inside if is_polling => None,
                Told::Inside => return true,
                Told::Away(None) => return false,
                Told::Away(Some(pause)) => Some(pause),
                Told::Nothing if failures == MAX_FAILURES => return false,
                Told::Nothing => {
                    failures += 1;
                    Some(RETRY)
                }
                Told::Wait(interval) => {
                    failures = 0;
                    is_polling = self.plan.kind == Kind::ScriptedBrowser;
                    self.pause(interval, until).await
                }
            };
            let Some(pause) = pause else {
                is_polling = false;
                told = self.ask(Errand::Page(0)).await;
                continue;
            };
            let next = Instant::now() + pause;
            if next > until {
                sleep_until(until).await;
                return false;
            }
            sleep_until(next).await;
            told = self.ask(if is_polling { Errand::Poll } else { Errand::Page(0) }).await;
        }
    }

    /// The time until the next poll of a visitor who is asked to return after `interval`. `None` if it has
    /// been its turn meanwhile: the script loads the page, and a program repeats its request.
    async fn pause(&mut self, interval: Duration, until: Instant) -> Option<Duration> {
        match self.absence() {
            Some(absence) => Some(absence.max(interval)),
            None if self.plan.follows => match self.follow(interval, until).await {
                Followed::Turn => None,
                Followed::Poll(pause) => Some(pause),
            },
            None => Some(interval),
        }
    }

    /// Follows the line over a push stream until it is the visitor's turn, the visitor loses patience,
    /// or the stream ends. A visitor without a stream polls after `interval`.
    async fn follow(&mut self, interval: Duration, until: Instant) -> Followed {
        let mut flight = Flight::departs(&self.witness, self.number, Purpose::GetIn);
        let Ok(response) = self.client.follow(SalePlan::STREAMS).await else {
            return Followed::Poll(RETRY);
        };
        self.client.remember(&response);
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NO_CONTENT => {
                // It has become the visitor's turn meanwhile, and the response has its pass.
                flight.holds_for(self.holds_for);
                flight.answered(Seen::Admitted);
                self.is_let_in();
                return Followed::Turn;
            }
            _ => return Followed::Poll(interval),
        }
        let mut stream = PushStream::new(response);
        let mut opening = Some(flight);
        let mut since = None;
        let followed = loop {
            match timeout_at(until, stream.next()).await {
                Ok(Some(Pushed::Turn)) => break Followed::Turn,
                Ok(Some(Pushed::Position(news))) => {
                    let made_at = news.now;
                    self.hears(news, opening.take(), since);
                    since = made_at;
                    if let Some(absence) = self.absence() {
                        break Followed::Poll(absence);
                    }
                }
                // The visitor loses patience, or the stream ends and the visitor polls once.
                Ok(None) | Err(_) => break Followed::Poll(RETRY),
            }
        };
        if followed != Followed::Turn {
            // The visitor's ticket is as old as the stream, so its next position may be higher than the
            // one on the stream.
            self.witness.shown_anew(self.number);
            self.witness.steps(self.number, |now| Step::Waits(now + AFTER_STREAM, By::Poll));
        }
        followed
    }

    /// Reads an event of a push stream. The first one is the answer to the request for the stream.
    fn hears(&mut self, news: News, opening: Option<Flight>, since: Option<Timestamp>) {
        let News { waiting_since, position, interval, event, .. } = news;
        if let Some(event) = event {
            self.witness.told(self.number, &event);
        }
        let interval = interval.unwrap_or(RETRY);
        let seen = Seen::Waiting { interval, waiting_since, position, returned_ticket: true };
        match (opening, since) {
            (Some(flight), _) => flight.answered(seen),
            (None, Some(since)) => self.witness.pushed(self.number, since, seen),
            (None, None) => {}
        }
        self.witness.steps(self.number, |_| Step::Waits(Timestamp::MAX, By::Push));
        self.waits += 1;
        self.is_shown(position);
    }

    /// Records that the visitor was shown a position, if it is the first exact one.
    fn is_shown(&mut self, position: ShownPosition) {
        if matches!(position, ShownPosition::Exact(_)) {
            self.knows_its_place();
        }
    }

    /// Records that the visitor knows its position, or is inside.
    fn knows_its_place(&mut self) {
        if !std::mem::replace(&mut self.is_placed, true) {
            let since = self.witness.since(self.came_at);
            self.witness.placed(self.witness.now().since(since));
        }
    }

    /// Checks out, and repeats the request if there is no answer.
    async fn check_out(&mut self) {
        for _ in 0..MAX_CHECKOUTS {
            match self.ask(Errand::Checkout).await {
                Told::Nothing => sleep(RETRY).await,
                Told::Away(_) | Told::Inside | Told::Wait(_) => return,
            }
        }
    }

    /// Sends one request, and reports the result to the witness.
    async fn ask(&mut self, errand: Errand) -> Told {
        if self.plan.memory == Memory::Forgets {
            self.witness.gave_up(self.number);
            self.number = self.witness.stranger();
        }
        let returned_ticket = self.has_ticket && self.plan.memory == Memory::Keeps;
        let mut flight = Flight::departs(&self.witness, self.number, self.purpose(errand));
        let sent = Instant::now();
        let Ok(response) = self.client.send(errand).await else { return Told::Nothing };
        self.client.remember(&response);
        let headers = response.headers();
        let calls = Calls::told(response.headers());
        let is_whole = self.unextended.promises_session(calls, sent, Instant::now());
        flight.made(!self.has_pass && !self.has_ticket, calls, is_whole);
        tracing::debug!(
            visitor = ?self.number,
            ?errand,
            status = response.status().as_u16(),
            reason = ?headers.get(REASON_HEADER),
            cookie = ?headers.get(SET_COOKIE),
            %calls,
            "answered"
        );
        let Ok(answer) = Answer::read(response).await else { return Told::Nothing };
        match answer {
            Answer::Nobody => Told::Nothing,
            Answer::Admitted(response) => self.comes_in(flight, errand, response).await,
            Answer::Limited { retry_after } => {
                self.witness.limited();
                drop(flight);
                Told::Away(Some(retry_after.unwrap_or(RETRY)))
            }
            Answer::Refused { retry_after, gave_token } => {
                flight.answered(Seen::Refused);
                self.has_pass = false;
                self.has_ticket = self.has_ticket || gave_token;
                if self.fate != Fate::Admitted {
                    self.fate = Fate::Refused;
                }
                Told::Away(retry_after)
            }
            Answer::Waiting(notice) => {
                let Notice { interval, waiting_since, position, gave_token, basis, event } = notice;
                if let Some(event) = &event {
                    self.witness.told(self.number, event);
                }
                let seen = Seen::Waiting { interval, waiting_since, position, returned_ticket };
                flight.is_based_on(basis);
                flight.answered(seen);
                self.has_pass = false;
                self.has_ticket = self.has_ticket || gave_token;
                self.is_shown(position);
                self.waits += 1;
                if self.fate != Fate::Admitted {
                    self.fate = Fate::Abandoned;
                }
                Told::Wait(interval)
            }
        }
    }

    /// Reports that the visitor is admitted, and loads the page.
    async fn comes_in(&mut self, mut flight: Flight, errand: Errand, response: Response) -> Told {
        let headers = response.headers();
        if headers.contains_key(SET_COOKIE) || headers.contains_key(TOKEN_HEADER) {
            flight.holds_for(self.holds_for);
        }
        match errand {
            Errand::Checkout => flight.left(),
            Errand::Page(_) | Errand::Poll => flight.answered(Seen::Admitted),
        }
        self.is_let_in();
        // A visitor is admitted even if it disconnects before the page is complete.
        let _ = response.bytes().await;
        Told::Inside
    }

    fn is_let_in(&mut self) {
        self.has_pass = self.plan.memory == Memory::Keeps;
        self.has_ticket = false;
        if self.fate != Fate::Admitted {
            self.fate = Fate::Admitted;
            self.witness.waited(self.came.elapsed());
            if self.witness.is_sale() {
                self.knows_its_place();
            }
        }
    }

    const fn purpose(&self, errand: Errand) -> Purpose {
        match errand {
            Errand::Checkout => Purpose::Leave,
            Errand::Page(_) | Errand::Poll if self.has_pass => Purpose::GoOn,
            Errand::Page(_) | Errand::Poll => Purpose::GetIn,
        }
    }

    /// The time for which the visitor leaves now instead of polling, if its plan says so. A visitor
    /// who is away cannot be told its position, so that time is not measured.
    fn absence(&mut self) -> Option<Duration> {
        let absence = self.plan.absence.filter(|absence| absence.after == self.waits)?;
        self.is_placed = true;
        Some(absence.lasts)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.witness.gave_up(self.number);
        self.witness.gone(self.fate);
    }
}

/// A patience that is longer than any run.
const ENDLESS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The time for which a visitor still counts as present when its stream has ended: one and a half of
/// the shortest intervals.
const AFTER_STREAM: Duration = Duration::from_secs(3);

/// The time after which a visitor repeats a request that got no answer.
const RETRY: Duration = Duration::from_secs(1);

/// The number of requests in a row without an answer after which a visitor gives up.
const MAX_FAILURES: u32 = 10;

/// The maximum number of attempts to check out.
const MAX_CHECKOUTS: u32 = 3;

#[cfg(test)]
mod tests;
