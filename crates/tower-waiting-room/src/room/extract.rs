//! [`Visit`] as an argument of axum's handlers.

use std::{convert::Infallible, error::Error, fmt};

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};

use super::Visit;

/// The rejection of a request without a [`Visit`], with status 403.
///
/// A request has no visit if the layer does not cover its route, if it bypasses the room, or if it
/// is forwarded without a pass: while the room is suspended, and during an outage of its store
/// under [`StoreFailure::Admit`](super::StoreFailure::Admit). A handler that serves such requests
/// should take an `Option<Visit>`. The status is not 500, because clients may be able to send
/// requests that bypass the room.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MissingVisit;

impl fmt::Display for MissingVisit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the request belongs to no visit: no waiting room covers this route, the room is \
             suspended, or the request bypasses it",
        )
    }
}

impl Error for MissingVisit {}

impl IntoResponse for MissingVisit {
    fn into_response(self) -> Response {
        (StatusCode::FORBIDDEN, format!("{self}\n")).into_response()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = MissingVisit;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingVisit> {
        parts.extensions.get::<Self>().cloned().ok_or(MissingVisit)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
