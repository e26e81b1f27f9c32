//! The rate limits, between the token and the room.

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use smallvec::SmallVec;
use tokio::time::Sleep;
use waiting_room_core::{Decision, LimitReply, Reason, Store, StoreError, Timestamp};

use super::{Bearer, Gatekeeper, Step, settle};
use crate::{
    config::Enforcement,
    rate::{Asking, Policy, QueuePlace, Rated, Told},
    request::{Client, ClientKind, RequestHead},
    respond::{self, Answer, Outcome, RateHeaders, Refused},
};

/// A request that waits for its turn in a leaky queue.
pub(crate) struct Hold {
    /// Over when it is its turn.
    pub(crate) sleep: Pin<Box<Sleep>>,
    bearer: Bearer,
    told: Box<Told>,
    place: QueuePlace,
}

/// A request about whose limits the store is asked.
pub(crate) struct Limiting {
    pub(crate) asking: Box<Asking>,
    bearer: Bearer,
}

impl<St: Store> Gatekeeper<St> {
    /// Asks the rate limits, and goes on to the room if they allow it.
    pub(super) fn rate(&self, head: RequestHead<'_>, bearer: Bearer, now: Timestamp) -> Step {
        self.rated(head, bearer, self.rates.ask(head, now), now)
    }

    /// Goes on with a request about whose limits the store has said something.
    pub(crate) fn limited(
        &self,
        head: RequestHead<'_>,
        Limiting { asking, bearer }: Limiting,
        replies: Result<Vec<LimitReply>, StoreError>,
    ) -> Step {
        let now = self.store.now();
        let rated = self.rates.answered(*asking, replies, now);
        let step = self.rated(head, bearer, rated, now);
        self.through_gates(head, step)
    }

    /// Does what the limits say.
    fn rated(&self, head: RequestHead<'_>, bearer: Bearer, rated: Rated, now: Timestamp) -> Step {
        let is_shadow = self.config.enforcement == Enforcement::Shadow;
        match rated {
            Rated::Ask(asking) => Step::Limit(Box::new(Limiting { asking, bearer })),
            Rated::Free => self.meet_room(&head, bearer, None, now),
            Rated::Pass(told) => self.meet_room(&head, bearer, Some(told), now),
            Rated::Hold(told, _, place) if is_shadow => {
                place.go_on();
                self.meet_room(&head, bearer, Some(told), now)
            }
            Rated::Refuse(told) if is_shadow => {
                self.telemetry.verdict(&told.binding().0.reason());
                self.meet_room(&head, bearer, Some(told), now)
            }
            Rated::Unknown(policy) if is_shadow => {
                self.telemetry.verdict(&policy.reason());
                self.meet_room(&head, bearer, None, now)
            }
            Rated::Unavailable if is_shadow => {
                self.telemetry.verdict(&Reason::RefusedLimitsUnavailable);
                self.meet_room(&head, bearer, None, now)
            }
            Rated::Hold(told, delay, place) => {
                let sleep = Box::pin(tokio::time::sleep(delay));
                Step::Hold(Box::new(Hold { sleep, bearer, told, place }))
            }
            Rated::Refuse(told) => Step::Answer(self.refuse(&head, &told, now)),
            Rated::Unavailable => Step::Answer(self.refuse_unavailable(&head, now)),
            Rated::Unknown(policy) => Step::Answer(self.refuse_unknown(&head, &policy, now)),
        }
    }

    /// Goes on with a request that was held.
    pub(crate) fn go_on(&self, head: RequestHead<'_>, hold: Hold) -> Step {
        let Hold { bearer, told, place, .. } = hold;
        place.go_on();
        let step = self.meet_room(&head, bearer, Some(told), self.store.now());
        self.through_gates(head, step)
    }

    /// Tells the client of the application's response about its limits.
    pub(super) fn tell(&self, told: &Told, status: StatusCode, headers: &mut HeaderMap) {
        let profile = self.config.rates.headers;
        let lines: SmallVec<[respond::Told<'_>; 2]> = told.lines().collect();
        if profile != RateHeaders::None && !lines.is_empty() {
            respond::tell(headers, status, profile, &lines, told.at);
        }
    }

    /// Answers a request that a limit refuses.
    fn refuse(&self, head: &RequestHead<'_>, told: &Told, now: Timestamp) -> Response<Bytes> {
        let (policy, retry_after) = told.binding();
        let lines: SmallVec<[respond::Told<'_>; 2]> = told.lines().collect();
        self.send_refusal(head, policy, &lines, retry_after, now)
    }

    /// Answers a request of which a limit cannot tell whose it is.
    fn refuse_unknown(
        &self,
        head: &RequestHead<'_>,
        policy: &Policy,
        now: Timestamp,
    ) -> Response<Bytes> {
        let nothing = Decision::new(policy.limit.quota.capacity(), 0, Duration::ZERO, None);
        let line = respond::Told { line: policy.line(0), decision: &nothing };
        self.send_refusal(head, policy, &[line], None, now)
    }

    /// Answers a request about whose limits nobody can decide.
    fn refuse_unavailable(&self, head: &RequestHead<'_>, now: Timestamp) -> Response<Bytes> {
        let client = Client::classify(head.method(), head.headers());
        let status = match client.kind {
            ClientKind::Grpc => StatusCode::OK,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        let (room, reason) = (Arc::clone(&self.room), Reason::RefusedLimitsUnavailable);
        self.telemetry.verdict(&reason);
        let answer = Answer::new(room, &client, Outcome::Refuse, reason, status, now)
            .with_retry_after(Some(UNAVAILABLE_RETRY));
        let mut response = respond::respond(&answer, &self.config.page, client.is_head);
        settle::explain(&mut response, answer.reason, self.config.debug_header);
        response
    }

    fn send_refusal(
        &self,
        head: &RequestHead<'_>,
        policy: &Policy,
        told: &[respond::Told<'_>],
        retry_after: Option<Duration>,
        now: Timestamp,
    ) -> Response<Bytes> {
        let reason = policy.reason();
        self.telemetry.verdict(&reason);
        let mut response = self.refusal.respond(&Refused {
            request: *head,
            reason: &reason,
            told,
            retry_after,
            now,
            room: &self.room,
            page: &self.config.page,
        });
        settle::explain(&mut response, reason, self.config.debug_header);
        response
    }
}

/// How soon a client asks again about whose limits nobody could decide.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(5);
