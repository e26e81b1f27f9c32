//! The body of a response: the application's, or an answer of the layer.
//!
//! The application's frames pass through unchanged. The wrapper exists for the permits of the
//! gates: with [`ReleaseAt::BodyEnd`](crate::gate::ReleaseAt::BodyEnd) a request holds them until its
//! whole response is sent, so the body owns them, and reports to them how far the server has come:
//!
//! ```text
//!  poll_frame ── pending ──────────► asked     the server waits for the application
//!             ├─ data ─────────────► taken     the server has to ask for the next frame
//!             ├─ end or trailers ──► over      the permits are returned; an adaptive gate learns
//!             └─ error ────────────► let_go    the permits are returned; nothing is learned
//!  drop ───────────────────────────► let_go
//! ```
//!
//! The wrapper measures no time. A body whose reader stalls is not polled and runs no code, so its
//! permits are freed by the sweeper of the gates instead.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use pin_project_lite::pin_project;

use crate::gate::{BodyPermits, Permits};

pin_project! {
    /// The body of a response from a [`WaitingRoom`](crate::service::WaitingRoom).
    ///
    /// It is either an answer of the layer, complete in memory, or the body that the application
    /// returned, together with the permits that its request still holds. Dropping it returns those
    /// permits, whether or not the response was sent completely, unless a
    /// [`PermitHandle`](crate::gate::PermitHandle) holds them as well.
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
        /// An answer of the layer. It holds no permits: they are returned before it is written.
        Answer { #[pin] body: Full<Bytes> },
        /// The application's body. `permits` is `None` if the request holds none after the head of
        /// its response, in which case no progress is reported.
        Inner { #[pin] body: B, permits: Option<BodyPermits> },
    }
}

impl<B> ResponseBody<B> {
    /// Wraps the body of an answer that the layer gives in place of the application.
    pub(crate) fn answer(body: Bytes) -> Self {
        Self { kind: Kind::Answer { body: Full::new(body) } }
    }

    /// Wraps the application's body, which holds `permits` until it ends or is dropped.
    pub(crate) fn inner(body: B, permits: Permits) -> Self {
        let permits = (!permits.is_empty()).then(|| BodyPermits::new(permits));
        Self { kind: Kind::Inner { body, permits } }
    }
}

/// The default body of the application, without permits. `tower_http::cors` needs it to answer
/// preflights in front of this layer.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        Self::inner(B::default(), Permits::new())
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
                    // From here on the application is slow, and not the reader: no stall is timed.
                    Poll::Pending => permits.asked(),
                    // The stall of the reader is timed from here until the next poll. The last
                    // frame is excluded: servers poll a body neither after its end nor after its
                    // trailers, so a complete response would look like a stall.
                    Poll::Ready(Some(Ok(frame))) if frame.is_data() && !body.is_end_stream() => {
                        permits.taken();
                    }
                    // A response that broke off says nothing about how fast the service is, so its
                    // duration is not recorded.
                    Poll::Ready(Some(Err(_))) => permits.let_go(),
                    // The end, the trailers, or the last data: the duration is recorded, and the
                    // permits do not wait until the server drops the body.
                    Poll::Ready(_) => {
                        permits.over();
                        permits.let_go();
                    }
                }
                polled
            }
            // Answers are bytes, whatever data type the application's body has.
            KindProjection::Answer { body } => body.poll_frame(cx).map(|frame| {
                frame.map(|result| match result {
                    Ok(frame) => Ok(frame.map_data(B::Data::from)),
                    Err(never) => match never {},
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Answer { body } => body.is_end_stream(),
            Kind::Inner { body, permits } => {
                let is_end = body.is_end_stream();
                if let Some(permits) = permits.as_ref().filter(|_| is_end) {
                    // A server that reads `true` drops the body without another poll, so the
                    // complete response has to be recorded here. The permits are returned by the
                    // drop, since `&self` cannot release them.
                    permits.over();
                }
                is_end
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Answer { body } => body.size_hint(),
            Kind::Inner { body, .. } => body.size_hint(),
        }
    }
}
