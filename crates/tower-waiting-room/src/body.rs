//! The body of a response: either the application's body or an answer from the layer, which may be a
//! push stream.
//!
//! The application's frames pass through unchanged. The purpose of the wrapper is to hold the
//! gates' permits. With [`ReleaseAt::BodyEnd`](crate::gate::ReleaseAt::BodyEnd), a request holds
//! its permits until the whole response has been sent, so the body owns the permits and reports the
//! progress of the response to them:
//!
//! ```text
//!  poll_frame ── pending ──────────► asked     the server waits for the application
//!             ├─ data ─────────────► taken     the server has to ask for the next frame
//!             ├─ end or trailers ──► over      the permits are returned; an adaptive gate learns
//!             └─ error ────────────► let_go    the permits are returned; nothing is learned
//!  drop ───────────────────────────► let_go
//! ```
//!
//! The wrapper does not measure time. A body whose reader stalls is not polled and therefore runs
//! no code, so the sweeper of the gates releases its permits instead.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use pin_project_lite::pin_project;

use crate::gate::{BodyPermits, Permits};

pin_project! {
    /// The body of a response from a [`WaitingRoom`](crate::service::WaitingRoom).
    ///
    /// The body is either an answer from the layer, held completely in memory, or the application's
    /// body together with the permits that the request still holds. Dropping the body returns these
    /// permits, even if the response was not sent completely, unless a
    /// [`PermitHandle`](crate::gate::PermitHandle) also holds them.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = KindProjection]
    enum Kind<B> {
        /// An answer from the layer. An answer holds no permits, because the permits of the request
        /// are returned before the answer is rendered.
        Answer { #[pin] body: Full<Bytes> },
        /// A push stream, as an answer from the layer.
        Events { events: Events },
        /// The application's body. If the request holds no permits once the response head has been
        /// sent, `permits` is `None` and no progress is reported.
        Inner { #[pin] body: B, permits: Option<BodyPermits> },
    }
}

/// The events of a push stream.
///
/// The task that polls the body has exclusive access to it, so the mutex is never locked. It makes
/// the body `Sync`, which some servers require.
struct Events(Mutex<Pin<Box<EventBody>>>);

type EventBody = dyn Body<Data = Bytes, Error = Infallible> + Send;

impl Events {
    /// Polls the stream.
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll_frame(cx)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl<B> ResponseBody<B> {
    /// Wraps the body of an answer that the layer gives in place of the application.
    pub(crate) fn answer(body: Bytes) -> Self {
        Self { kind: Kind::Answer { body: Full::new(body) } }
    }

    /// Wraps a push stream.
    pub(crate) fn events(body: Pin<Box<EventBody>>) -> Self {
        Self { kind: Kind::Events { events: Events(Mutex::new(body)) } }
    }

    /// Wraps the application's body, which holds no permits.
    #[inline]
    pub(crate) const fn bare(body: B) -> Self {
        Self { kind: Kind::Inner { body, permits: None } }
    }

    /// Wraps the application's body, which holds `permits` until it ends or is dropped.
    pub(crate) fn inner(body: B, permits: Permits) -> Self {
        let permits = (!permits.is_empty()).then(|| BodyPermits::new(permits));
        Self { kind: Kind::Inner { body, permits } }
    }
}

/// Takes the application's body out of the wrapper if it holds no permits.
#[cfg(feature = "axum")]
impl From<ResponseBody<axum::body::Body>> for axum::body::Body {
    #[inline]
    fn from(body: ResponseBody<Self>) -> Self {
        match body.kind {
            Kind::Inner { body, permits: None } => body,
            Kind::Answer { body } => Self::new(body),
            kind @ (Kind::Events { .. } | Kind::Inner { .. }) => Self::new(ResponseBody { kind }),
        }
    }
}

/// Returns the default body of the application, without permits. `tower_http::cors` needs this impl
/// in order to answer preflights in front of this layer.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::bare(B::default())
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.project().kind.project() {
            KindProjection::Inner { mut body, permits } => {
                let polled = body.as_mut().poll_frame(cx);
                let Some(permits) = permits else { return polled };
                match &polled {
                    // From here on, any delay is caused by the application rather than the reader,
                    // so it does not count.
                    Poll::Pending => permits.asked(),
                    // The reader is awaited from here until the next poll. The last frame is
                    // excluded: servers do not poll a body after its end or its trailers, so a
                    // complete response would look like a reader that has stopped.
                    Poll::Ready(Some(Ok(frame))) if frame.is_data() && !body.is_end_stream() => {
                        permits.taken(frame.data_ref().map_or(0, Buf::remaining));
                    }
                    // The hold time of an incomplete response does not show how fast the service
                    // is, so it is not recorded.
                    Poll::Ready(Some(Err(_))) => permits.let_go(),
                    // The body ends here, possibly with its trailers or its last data frame. The
                    // hold time is recorded, and the permits are released without waiting for the
                    // server to drop the body.
                    Poll::Ready(_) => {
                        permits.over();
                        permits.let_go();
                    }
                }
                polled
            }
            KindProjection::Answer { body } => body.poll_frame(cx).map(converted),
            KindProjection::Events { events } => events.poll_frame(cx).map(converted),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Answer { body } => body.is_end_stream(),
            Kind::Events { .. } => false,
            Kind::Inner { body, permits } => {
                let is_end = body.is_end_stream();
                if let Some(permits) = permits.as_ref().filter(|_| is_end) {
                    // A server that gets `true` drops the body without polling it again, so the
                    // completion of the response has to be recorded here. The permits are returned
                    // when the body is dropped, because `&self` cannot release them.
                    permits.over();
                }
                is_end
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Answer { body } => body.size_hint(),
            Kind::Events { .. } => SizeHint::default(),
            Kind::Inner { body, .. } => body.size_hint(),
        }
    }
}

/// Converts the `Bytes` of an answer to the data type of the application's body.
fn converted<D: Buf + From<Bytes>, E>(
    frame: Option<Result<Frame<Bytes>, Infallible>>,
) -> Option<Result<Frame<D>, E>> {
    frame.map(|result| match result {
        Ok(frame) => Ok(frame.map_data(D::from)),
        Err(never) => match never {},
    })
}
