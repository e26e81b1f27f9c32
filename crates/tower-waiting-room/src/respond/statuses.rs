//! Which status an answer has.

use http::StatusCode;
use waiting_room_core::{ConfigError, ConfigErrorKind};

use crate::request::ClientKind;

/// The status of an answer, by kind of client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statuses {
    grpc: StatusCode,
    json: StatusCode,
    navigation: StatusCode,
    problem: StatusCode,
    text: StatusCode,
}

impl Statuses {
    const ALLOWED: [StatusCode; 4] = [
        StatusCode::OK,
        StatusCode::ACCEPTED,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];

    pub(crate) const fn of(&self, kind: ClientKind) -> StatusCode {
        match kind {
            ClientKind::Grpc => self.grpc,
            ClientKind::Json => self.json,
            ClientKind::Navigation => self.navigation,
            ClientKind::Problem => self.problem,
            ClientKind::Text => self.text,
        }
    }

    pub(crate) fn set(&mut self, kind: ClientKind, status: StatusCode) {
        match kind {
            ClientKind::Grpc => self.grpc = status,
            ClientKind::Json => self.json = status,
            ClientKind::Navigation => self.navigation = status,
            ClientKind::Problem => self.problem = status,
            ClientKind::Text => self.text = status,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let malformed = |status: StatusCode, expected| {
            let given = status.as_u16();
            Err(ConfigError::new(ConfigErrorKind::Malformed, "status", given, expected))
        };
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
