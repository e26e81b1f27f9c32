//! Reads the body of a request that waits, so that a client that leaves is noticed.
//!
//! A server of HTTP/1 looks at a connection only to read the body, or once it has been read. What
//! is read here is put in front of the rest again, and no more than a bound is.

use std::{
    any::Any,
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, header::EXPECT};
use http_body::{Body as _, Frame, SizeHint};

/// What has been read of a body.
pub(super) struct Watch {
    frames: VecDeque<Frame<Bytes>>,
    len: usize,
    bound: usize,
    is_over: bool,
    /// The body has said that there is no more, and is not to be asked again.
    is_at_end: bool,
}

impl Watch {
    /// A watch over the body of a request, if it has one that can be watched. A client that waits
    /// for `100 Continue` (RFC 9110 section 10.1.1) is not asked to send it just yet.
    pub(super) fn new<B: 'static>(request: &mut Request<B>, bound: usize) -> Option<Self> {
        if bound == 0 || request.headers().contains_key(EXPECT) {
            return None;
        }
        let is_there = !axum_body(request.body_mut())?.is_end_stream();
        is_there.then(|| Self {
            frames: VecDeque::new(),
            len: 0,
            bound,
            is_over: false,
            is_at_end: false,
        })
    }

    /// Ready once the client has left.
    pub(super) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = axum_body(body) else { return Poll::Pending };
        while !self.is_over {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(()),
                Poll::Ready(None) => (self.is_over, self.is_at_end) = (true, true),
                Poll::Ready(Some(Ok(frame))) => {
                    let len = frame.data_ref().map_or(0, Bytes::len);
                    self.len += len;
                    // A frame is a slice of what the server has read with it, which may be far more.
                    let is_small = len < self.bound;
                    self.frames.push_back(if is_small { copy(frame) } else { frame });
                    self.is_over = self.len >= self.bound || self.frames.len() >= MAX_FRAMES;
                }
            }
        }
        Poll::Pending
    }

    /// Puts what has been read in front of the rest.
    pub(super) fn give_back<B: 'static>(self, body: &mut B) {
        if let Some(body) = axum_body(body)
            && (self.is_at_end || !self.frames.is_empty())
        {
            let read = std::mem::take(body);
            let rest = if self.is_at_end { Body::empty() } else { read };
            *body = Body::new(Replay { frames: self.frames, len: self.len as u64, rest });
        }
    }
}

/// A body of which a part has been read.
struct Replay {
    frames: VecDeque<Frame<Bytes>>,
    /// Of the data in the frames.
    len: u64,
    rest: Body,
}

impl http_body::Body for Replay {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(frame) = self.frames.pop_front() else {
            return Pin::new(&mut self.rest).poll_frame(cx);
        };
        self.len -= frame.data_ref().map_or(0, |data| data.len() as u64);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(self.len));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(self.len));
        }
        hint
    }
}

/// The frame without what it was cut from.
fn copy(frame: Frame<Bytes>) -> Frame<Bytes> {
    frame.map_data(|data| Bytes::copy_from_slice(&data))
}

/// The body, if it is one of axum's: no other can be put together again.
pub(crate) fn axum_body<B: 'static>(body: &mut B) -> Option<&mut Body> {
    (body as &mut dyn Any).downcast_mut()
}

/// So many frames are read at most: each takes some memory beside its data.
const MAX_FRAMES: usize = 256;
