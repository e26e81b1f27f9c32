//! The body of a response: the application's, or ours.

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
    /// The body of a response from a [`WaitingRoom`](crate::WaitingRoom).
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
        Answer { #[pin] body: Full<Bytes> },
        Inner { #[pin] body: B, permits: Option<BodyPermits> },
    }
}

impl<B> ResponseBody<B> {
    /// What the waiting room itself answers.
    pub(crate) fn answer(body: Bytes) -> Self {
        Self { kind: Kind::Answer { body: Full::new(body) } }
    }

    /// What the application answers, untouched, and the permits that it holds to its end.
    pub(crate) fn inner(body: B, permits: Permits) -> Self {
        let permits = (!permits.is_empty()).then(|| BodyPermits::new(permits));
        Self { kind: Kind::Inner { body, permits } }
    }
}

/// The empty body, which `tower_http::cors` answers preflights with.
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
                    Poll::Pending => permits.asked(),
                    // A body that has ended is not polled again, nor one after its trailers.
                    Poll::Ready(Some(Ok(frame))) if frame.is_data() && !body.is_end_stream() => {
                        permits.taken();
                    }
                    Poll::Ready(Some(Err(_))) => permits.let_go(),
                    Poll::Ready(_) => {
                        permits.over();
                        permits.let_go();
                    }
                }
                polled
            }
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
                    // A server that hears so does not poll it, and drops it.
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
