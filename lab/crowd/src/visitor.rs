//! One visitor: it arrives, waits, looks at pages, checks out or does not, and leaves.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::header::SET_COOKIE;
use reqwest::Response;
use tokio::time::{Instant, sleep, sleep_until};
use tower_waiting_room::respond::REASON_HEADER;
use waiting_room_sim::{
    Seen, VisitorNo,
    plan::{Ending, Kind, Memory, Plan},
};

use crate::{
    answer::{Answer, Notice},
    calls::Calls,
    client::{Client, Errand},
    flight::Flight,
    trips::{Purpose, Unextended},
    witness::{Fate, Witness},
};

/// A visitor that has arrived.
#[derive(Debug)]
pub(crate) struct Visitor {
    plan: Plan,
    client: Client,
    witness: Arc<Witness>,
    number: VisitorNo,
    came: Instant,
    has_pass: bool,
    has_ticket: bool,
    unextended: Unextended,
    /// The number of answers that asked it to wait.
    waits: u32,
    fate: Fate,
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

impl Visitor {
    /// Creates a visitor that arrives now, unless its HTTP client cannot be initialized.
    pub(crate) fn new(
        number: u64,
        plan: Plan,
        address: SocketAddr,
        witness: Arc<Witness>,
    ) -> Option<Self> {
        let unextended = Unextended::none(witness.pass_lifetime());
        let client = Client::new(address, plan.kind, plan.memory)
            .inspect_err(|error| tracing::error!(%error, "a visitor could not come"))
            .ok()?;
        witness.came();
        Some(Self {
            plan,
            client,
            witness,
            number: VisitorNo(number),
            came: Instant::now(),
            has_pass: false,
            has_ticket: false,
            unextended,
            waits: 0,
            fate: Fate::Abandoned,
        })
    }

    /// Performs the whole visit.
    pub(crate) async fn live(mut self) {
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

    /// Starting from the answer `told`, sends requests until the visitor is admitted or gives up.
    /// Returns whether it was admitted.
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
                    Some(self.absence().map_or(interval, |absence| absence.max(interval)))
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
                self.waits += 1;
                if self.fate != Fate::Admitted {
                    self.fate = Fate::Abandoned;
                }
                Told::Wait(interval)
            }
        }
    }

    /// Reports that the visitor is admitted, and loads the page.
    async fn comes_in(&mut self, flight: Flight, errand: Errand, response: Response) -> Told {
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
        }
    }

    const fn purpose(&self, errand: Errand) -> Purpose {
        match errand {
            Errand::Checkout => Purpose::Leave,
            Errand::Page(_) | Errand::Poll if self.has_pass => Purpose::GoOn,
            Errand::Page(_) | Errand::Poll => Purpose::GetIn,
        }
    }

    /// If the plan says that the visitor leaves now instead of polling, the time for which it is
    /// gone.
    fn absence(&self) -> Option<Duration> {
        let absence = self.plan.absence.filter(|absence| absence.after == self.waits)?;
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

/// The time after which a visitor repeats a request that got no answer.
const RETRY: Duration = Duration::from_secs(1);

/// The number of requests in a row without an answer after which a visitor gives up.
const MAX_FAILURES: u32 = 10;

/// The maximum number of attempts to check out.
const MAX_CHECKOUTS: u32 = 3;

#[cfg(test)]
mod tests;
