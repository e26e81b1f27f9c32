//! The status of answers about the room, by kind of client.
//!
//! No single status suits every client. If a page responds with 503, search engines keep it in
//! their index and visit it again later. Programs retry after 429. Some proxies and monitors treat
//! any error as an outage, so an application may choose 200 or 202. These settings do not apply to
//! the answers of limits and gates, in which 429, 503 and 504 have fixed meanings.

use http::StatusCode;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use crate::request::ClientKind;

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
            return malformed(self.grpc, "200 for gRPC, which has a status of its own");
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
