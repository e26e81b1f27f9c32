//! Requests that are not forwarded: what the client is told instead.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::{Reason, Store, Ticket, Timestamp};

use super::{Gatekeeper, Step, Token, settle};
use crate::{
    config::Enforcement,
    rate::Told,
    request::{Client, RequestHead},
    respond::{self, Answer, Outcome},
    token::Source,
};

/// A visitor who is not let in.
pub(super) struct Away {
    pub(super) outcome: Outcome,
    pub(super) reason: Reason,
    pub(super) ticket: Option<Ticket>,
    pub(super) retry_after: Option<Duration>,
    /// What the rate limits have said.
    pub(super) told: Option<Box<Told>>,
}

impl<St: Store> Gatekeeper<St> {
    /// Answers a visitor who is not let in; in shadow mode lets it through all the same.
    pub(super) fn turn_away(
        &self,
        head: &RequestHead<'_>,
        source: Source,
        away: Away,
        token: Option<Token>,
        now: Timestamp,
    ) -> Step {
        if self.config.enforcement == Enforcement::Shadow {
            let mut forward = self.forward(away.reason, None, source, away.told);
            forward.token = token;
            return Step::Forward(forward);
        }
        let client = Client::classify(head.method(), head.headers());
        let status =
            if client.is_poll { POLL_STATUS } else { self.config.statuses.of(client.kind) };
        let mut answer =
            Answer::new(Arc::clone(&self.room), &client, away.outcome, away.reason, status, now)
                .with_rules(&self.store.rules());
        if let Some(ticket) = &away.ticket {
            answer = answer.with_ticket(ticket);
        }
        let answer = answer.with_retry_after(away.retry_after);
        Step::Answer(self.send(&client, answer, source, token))
    }

    /// Tells the waiting page's script that it may reload.
    pub(super) fn let_in(
        &self,
        head: &RequestHead<'_>,
        reason: Reason,
        source: Source,
        token: Option<Token>,
        now: Timestamp,
    ) -> Response<Bytes> {
        let client = Client::classify(head.method(), head.headers());
        let room = Arc::clone(&self.room);
        let answer = Answer::new(room, &client, Outcome::Admit, reason, POLL_STATUS, now)
            .with_rules(&self.store.rules());
        self.send(&client, answer, source, token)
    }

    fn send(
        &self,
        client: &Client,
        mut answer: Answer,
        source: Source,
        token: Option<Token>,
    ) -> Response<Bytes> {
        self.telemetry.verdict(&answer.reason);
        if let Some(token) = token.as_ref().filter(|_| source == Source::Header) {
            answer.token = Some(token.sealed.as_str().to_owned());
        }
        let mut response = respond::respond(&answer, &self.config.page, client.is_head);
        if let Some(token) = token {
            self.attach(response.headers_mut(), source, token);
        }
        settle::explain(&mut response, answer.reason, self.config.debug_header);
        response
    }
}

/// The waiting page's script gets what it asked for, so that no browser logs it as an error.
const POLL_STATUS: StatusCode = StatusCode::OK;
