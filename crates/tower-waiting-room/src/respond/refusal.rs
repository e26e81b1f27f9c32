//! Answers in a shape of the user's own, for every kind of client.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{
    Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};

use super::{Answer, Outcome, grpc};
use crate::request::{ClientKind, RequestHead};

/// The closure of a configuration that shapes refusals.
#[derive(Clone)]
pub(crate) struct Refusal(Arc<Closure>);

type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Refusal {
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

    /// The answer in that shape; `None` if the closure leaves it to the layer, or is not asked.
    ///
    /// It is asked neither about the waiting page, which is a [`Page`](super::Page)'s, nor about
    /// what the script in it reads.
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
        if answer.kind == ClientKind::Grpc {
            return Some(in_trailers(answer, shaped));
        }
        // A success would be kept and believed by clients that look at nothing else.
        if !shaped.status().is_client_error() && !shaped.status().is_server_error() {
            *shaped.status_mut() = answer.status;
        }
        Some(shaped)
    }
}

/// The answer of the layer to a gRPC client, with the headers of another in the place of its own.
/// What makes it an answer of gRPC stays: the status of HTTP, the type, and that there is no body.
fn in_trailers(answer: &Answer, mut shaped: Response<Bytes>) -> Response<Bytes> {
    let mut response = grpc::response(answer);
    for name in [CONTENT_LENGTH, CONTENT_TYPE] {
        shaped.headers_mut().remove(name);
    }
    response.headers_mut().extend(std::mem::take(shaped.headers_mut()));
    response
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}
