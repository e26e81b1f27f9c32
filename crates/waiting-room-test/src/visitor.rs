//! One visitor of a crowd, from its arrival to its end.

use std::{error::Error, fmt, time::Duration};

use axum_core::body::Body;
use http::{Request, Response};
use tower::Service;
use waiting_room_core::{Timestamp, time::Clock};

use crate::{
    client::{TestClient, TokenCookie, address},
    clock::TestClock,
    habits::Habits,
    record::{AnswerRecord, Ending, VisitRecord},
    seen::{Seen, SeenAs},
};

/// A visitor that has not arrived yet.
pub(crate) struct CrowdVisitor<S> {
    habits: Habits,
    clock: TestClock,
    client: TestClient<S>,
    token: TokenCookie,
    arrival: Timestamp,
    /// The time at which the crowd is over.
    end: Timestamp,
    record: VisitRecord,
}

impl<S> CrowdVisitor<S> {
    pub(crate) fn new(
        number: u32,
        habits: Habits,
        service: S,
        (clock, token): (TestClock, TokenCookie),
        (arrival, end): (Timestamp, Timestamp),
    ) -> Self {
        let client = TestClient::new(service, clock, habits.form)
            .from_address(address(number))
            .headers(&habits.headers);
        let record = VisitRecord::new(number, habits.form);
        Self { habits, clock, client, token, arrival, end, record }
    }
}

impl<S, B> CrowdVisitor<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: fmt::Debug,
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    pub(crate) async fn visit(mut self) -> VisitRecord {
        self.clock.pass_until(self.arrival).await;
        let ending = match self.wait().await {
            Some(ending) => ending,
            None => self.stay().await,
        };
        self.record.ending = ending;
        self.record.ended = self.clock.now();
        self.record
    }

    /// Asks until the visitor is admitted. If it is not, returns how its visit ended.
    async fn wait(&mut self) -> Option<Ending> {
        let patience = self.habits.patience.map(|patience| self.arrival + patience);
        let gives_up = patience.filter(|at| *at <= self.end);
        loop {
            let seen = self.request_page().await;
            let seen_as = seen.seen_as();
            let next = self.next_attempt(&seen);
            if seen_as == SeenAs::Forwarded {
                return None;
            }
            let Some(next) = next else { return Some(Ending::Refused) };
            let ending = match gives_up {
                Some(at) if at < next => Some((at, Ending::LostPatience)),
                _ if self.end < next => Some((self.end, Ending::CrowdIsOver)),
                _ => None,
            };
            if let Some((at, ending)) = ending {
                self.clock.pass_until(at).await;
                return Some(ending);
            }
            self.clock.pass_until(next).await;
        }
    }

    /// Requests pages until the visit is over. If the visitor is turned away meanwhile, it asks
    /// again when it may.
    async fn stay(&mut self) -> Ending {
        let over = self.clock.now() + self.habits.stay;
        let (over, ending) =
            if over <= self.end { (over, Ending::Done) } else { (self.end, Ending::CrowdIsOver) };
        let mut next = self.clock.now() + at_least_a_tick(self.habits.page_every);
        while next <= over {
            self.clock.pass_until(next).await;
            let seen = self.request_page().await;
            next = match (seen.seen_as(), self.next_attempt(&seen)) {
                (SeenAs::Forwarded, _) => {
                    self.clock.now() + at_least_a_tick(self.habits.page_every)
                }
                (_, Some(next)) => next,
                (_, None) => Timestamp::MAX,
            };
        }
        self.clock.pass_until(over).await;
        if let Some(path) = self.habits.checkout.clone() {
            let token_lapsed = self.client.has_lapsed_token(&self.token);
            let seen = self.client.post(&path, "application/octet-stream", "").await;
            self.record.answers.push(AnswerRecord::new(&seen, &self.token, token_lapsed));
        }
        ending
    }

    /// Requests the page, and records the answer.
    async fn request_page(&mut self) -> Seen {
        let token_lapsed = self.client.has_lapsed_token(&self.token);
        let path = self.habits.path.clone();
        let seen = self.client.get(&path).await;
        self.record.answers.push(AnswerRecord::new(&seen, &self.token, token_lapsed));
        seen
    }

    /// Returns the time at which the visitor asks again after this answer, if it did not get in.
    fn next_attempt(&self, seen: &Seen) -> Option<Timestamp> {
        let asked = at_least_a_tick(seen.retry_after()?);
        let reload = self.habits.reload_every.map(at_least_a_tick);
        Some(seen.answered + reload.map_or(asked, |reload| reload.min(asked)))
    }
}

/// Keeps a visitor from asking forever within one instant.
fn at_least_a_tick(interval: Duration) -> Duration {
    interval.max(Duration::from_millis(1))
}
