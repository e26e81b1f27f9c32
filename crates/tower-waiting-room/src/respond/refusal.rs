//! Answers in a format that the application defines.
//!
//! Many APIs define an error envelope, and their clients cannot read errors in any other format. A
//! closure that the application supplies may therefore replace refusals, and another closure the
//! answers to waiting programs. Neither replaces the waiting page or the answers to its script. A
//! closure cannot make an answer unsafe: the status remains an
//! error status, and the headers that prevent caching and tell the client when to retry are added
//! afterwards.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{
    Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};

use super::{Answer, Outcome, grpc};
use crate::request::{ClientKind, RequestHead};

/// The closures that the application supplies, one for each outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    /// Renders refusals.
    pub(crate) refusal: Option<Refusal>,
    /// Renders the answers to waiting programs.
    pub(crate) waiting: Option<Refusal>,
}

impl Shapes {
    /// Returns the closure for answers with this outcome, if there is one.
    pub(super) fn of(&self, outcome: Outcome) -> Option<&Refusal> {
        match outcome {
            Outcome::Admit => None,
            Outcome::Refuse => self.refusal.as_ref(),
            Outcome::Wait => self.waiting.as_ref(),
        }
    }
}

/// A closure that the application supplies to render answers.
#[derive(Clone)]
pub(crate) struct Refusal(Arc<Closure>);

/// A function that renders an answer, or returns `None` to leave the answer to the layer.
type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Refusal {
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
impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}
