//! Answers in a shape of the application's own.
//!
//! Many APIs have an error envelope, and their clients read errors in no other format. A closure of
//! the configuration may replace any answer but the waiting page. It cannot change what makes an
//! answer safe: the status stays that of an error, and the headers that keep it out of caches and
//! state when to retry are added afterwards.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{
    Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};

use super::{Answer, Outcome, grpc};
use crate::request::{ClientKind, RequestHead};

/// The closure of a configuration that shapes answers.
#[derive(Clone)]
pub(crate) struct Refusal(Arc<Closure>);

/// Returns `None` to leave an answer to the layer.
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

    /// Renders the answer by the closure. `None` if the closure leaves it to the layer, or does not
    /// apply to it.
    ///
    /// The closure applies neither to the waiting page, which is a [`Page`](super::Page), nor to
    /// what the script of that page reads: without that, a page would poll for ever.
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
        // A gRPC client reads nothing but trailers, whatever the closure returns.
        if answer.kind == ClientKind::Grpc {
            return Some(in_trailers(answer, shaped));
        }
        // Clients that look only at the status would take a refusal for a success.
        if !shaped.status().is_client_error() && !shaped.status().is_server_error() {
            *shaped.status_mut() = answer.status;
        }
        Some(shaped)
    }
}

/// The answer of the layer to a gRPC client, with headers of the shaped response in place of its
/// own. What makes it a gRPC response stays: the HTTP status, the content type, and the empty body.
fn in_trailers(answer: &Answer, mut shaped: Response<Bytes>) -> Response<Bytes> {
    let mut response = grpc::response(answer);
    // These describe the body of the shaped response, which is dropped.
    for name in [CONTENT_LENGTH, CONTENT_TYPE] {
        shaped.headers_mut().remove(name);
    }
    response.headers_mut().extend(std::mem::take(shaped.headers_mut()));
    response
}

/// Closures have no useful text.
impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}
