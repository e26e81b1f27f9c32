//! The rate limits, between the token and the room.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use smallvec::SmallVec;
use tokio::time::Sleep;
use waiting_room_core::{Decision, Store, Timestamp};

use super::{Bearer, Gatekeeper, Step, settle};
use crate::{
    config::Enforcement,
    head::RequestHead,
    rate::{Policy, QueuePlace, Rated, Told},
    respond::{self, RateHeaders, Refused},
};

/// A request that waits for its turn in a leaky queue.
pub(crate) struct Hold {
    /// Over when it is its turn.
    pub(crate) sleep: Pin<Box<Sleep>>,
    bearer: Bearer,
    told: Box<Told>,
    place: QueuePlace,
}

impl<St: Store> Gatekeeper<St> {
    /// Asks the rate limits, and goes on to the room if they allow it.
    pub(super) fn rate(&self, head: RequestHead<'_>, bearer: Bearer, now: Timestamp) -> Step {
        let is_shadow = self.config.enforcement == Enforcement::Shadow;
        match self.rates.ask(head, now) {
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
            Rated::Hold(told, delay, place) => {
                let sleep = Box::pin(tokio::time::sleep(delay));
                Step::Hold(Box::new(Hold { sleep, bearer, told, place }))
            }
            Rated::Refuse(told) => Step::Answer(self.refuse(&head, &told, now)),
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
        if profile != RateHeaders::None {
            let lines: SmallVec<[respond::Told<'_>; 2]> = told.lines().collect();
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
