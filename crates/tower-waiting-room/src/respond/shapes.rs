//! The configuration of answers: their status, and closures that render them.
//!
//! Many APIs define an error envelope, and their clients cannot read errors in any other format.
//! Closures that the application supplies may therefore replace refusals and the answers to waiting
//! programs, but not the waiting page or the answers to its script. A closure cannot make an answer
//! unsafe: the status remains an error status, and the headers that prevent caching and tell the
//! client when to retry are added afterwards.
//!
//! No single status suits every client. If a page responds with 503, search engines keep it in
//! their index and visit it again later. Programs retry after 429. Some proxies and monitors treat
//! any error as an outage, so an application may choose 200 or 202. These settings do not apply to
//! the answers of limits and gates, in which 429, 503 and 504 have fixed meanings.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{
    Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{Answer, Outcome, grpc};
use crate::request::{ClientKind, RequestHead};

/// The closures that the application supplies, one for each outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    /// Renders refusals.
    pub(crate) refusal: Option<Shape>,
    /// Renders the answers to waiting programs.
    pub(crate) waiting: Option<Shape>,
}

impl Shapes {
    /// Returns the closure for answers with this outcome, if there is one.
    pub(super) fn of(&self, outcome: Outcome) -> Option<&Shape> {
        match outcome {
            Outcome::Admit => None,
            Outcome::Refuse => self.refusal.as_ref(),
            Outcome::Wait => self.waiting.as_ref(),
        }
    }
}

/// A closure that the application supplies to render answers.
#[derive(Clone)]
pub(crate) struct Shape(Arc<Closure>);

/// A function that renders an answer, or returns `None` to leave the answer to the layer.
type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Shape {
    /// Wraps a closure that returns a body of any type.
    pub(crate) fn new<F, B>(shape: F) -> Self
    where
        F: Fn(&Answer, &RequestHead<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        let shape = move |answer: &Answer, head: &RequestHead<'_>| {
            shape(answer, head).map(|response| response.map(Into::into))
        };
        Self(Arc::new(shape))
    }

    /// Renders the answer with the closure. Returns `None` if the closure leaves the answer to the
    /// layer, or if the closure does not apply to this answer.
    ///
    /// The closure applies neither to the waiting page, which is a [`Page`](super::Page), nor to
    /// the answers that the script of that page reads. Without these answers, the page would poll
    /// forever.
    pub(super) fn response(
        &self,
        answer: &Answer,
        head: &RequestHead<'_>,
    ) -> Option<Response<Bytes>> {
        let is_page = answer.kind == ClientKind::Navigation && answer.outcome == Outcome::Wait;
        if answer.is_poll || is_page {
            return None;
        }
        let mut shaped = (self.0)(answer, head)?;
        // A gRPC client reads only trailers, whatever the closure returns.
        if answer.kind == ClientKind::Grpc {
            return Some(in_trailers(answer, shaped));
        }
        // Clients that check only the status would otherwise mistake a refusal for a success.
        if !shaped.status().is_client_error() && !shaped.status().is_server_error() {
            *shaped.status_mut() = answer.status;
        }
        Some(shaped)
    }
}

/// Returns the layer's answer to a gRPC client, and adds the headers of the closure's response to
/// it. These headers replace headers of the same name. The HTTP status, the content type and the
/// empty body remain those of a gRPC response.
fn in_trailers(answer: &Answer, mut shaped: Response<Bytes>) -> Response<Bytes> {
    let mut response = grpc::response(answer);
    // These headers describe the body of the closure's response, which is dropped.
    for name in [CONTENT_LENGTH, CONTENT_TYPE] {
        shaped.headers_mut().remove(name);
    }
    response.headers_mut().extend(std::mem::take(shaped.headers_mut()));
    response
}

/// Formats a closure as a fixed string, because closures have no useful debug output.
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}

/// The status of answers about the room, by kind of client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statuses {
    /// The status for gRPC clients: always 200, because the gRPC status is in the trailers.
    grpc: StatusCode,
    /// The status for programs that read JSON: 429 by default.
    json: StatusCode,
    /// The status for browsers: 503 by default.
    navigation: StatusCode,
    /// The status for programs that read problem documents: 429 by default.
    problem: StatusCode,
    /// The status for clients that read plain text: 429 by default.
    text: StatusCode,
}

impl Statuses {
    /// The statuses that a configuration may choose: a success or a temporary error.
    const ALLOWED: [StatusCode; 4] = [
        StatusCode::OK,
        StatusCode::ACCEPTED,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];

    /// Returns the status for a kind of client.
    pub(crate) const fn of(&self, kind: ClientKind) -> StatusCode {
        match kind {
            ClientKind::Grpc => self.grpc,
            ClientKind::Json => self.json,
            ClientKind::Navigation => self.navigation,
            ClientKind::Problem => self.problem,
            ClientKind::Text => self.text,
        }
    }

    /// Sets the status for a kind of client. [`validate`](Self::validate) checks the status later.
    pub(crate) fn set(&mut self, kind: ClientKind, status: StatusCode) {
        match kind {
            ClientKind::Grpc => self.grpc = status,
            ClientKind::Json => self.json = status,
            ClientKind::Navigation => self.navigation = status,
            ClientKind::Problem => self.problem = status,
            ClientKind::Text => self.text = status,
        }
    }

    /// Checks that every status is allowed for its kind of client.
    ///
    /// # Errors
    ///
    /// Returns an error if a status is not allowed for its kind of client.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let malformed = |status: StatusCode, expected| {
            let given = status.as_u16();
            Err(ConfigError::new(ConfigErrorKind::Malformed, "status", given, expected))
        };
        // With any HTTP status other than 200, gRPC libraries ignore the trailers and derive a code
        // from the HTTP status.
        if self.grpc != StatusCode::OK {
            return malformed(
                self.grpc,
                "200, because gRPC reports its own status in the trailers",
            );
        }
        let others = [self.json, self.navigation, self.problem, self.text];
        match others.into_iter().find(|status| !Self::ALLOWED.contains(status)) {
            Some(status) => malformed(status, "200, 202, 429 or 503"),
            None => Ok(()),
        }
    }
}

impl Default for Statuses {
    /// Returns the default statuses: 503 for pages, and 429 for programs, because many HTTP
    /// libraries automatically retry after a 429.
    fn default() -> Self {
        Self {
            grpc: StatusCode::OK,
            json: StatusCode::TOO_MANY_REQUESTS,
            navigation: StatusCode::SERVICE_UNAVAILABLE,
            problem: StatusCode::TOO_MANY_REQUESTS,
            text: StatusCode::TOO_MANY_REQUESTS,
        }
    }
}
