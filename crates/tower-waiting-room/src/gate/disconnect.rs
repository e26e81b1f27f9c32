//! Reads the body of a request that waits, so that a client that leaves is noticed.
//!
//! A server of HTTP/1 looks at a connection only to read the body, or once it has been read. What
//! is read here is put in front of the rest again, and no more than a bound is.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use crate::request::axum_body;

/// Reads a body for as long as its request waits, up to a bound.
pub(super) struct DisconnectProbe {
    frames: VecDeque<Frame<Bytes>>,
    len: usize,
    bound: usize,
    has_begun: bool,
    /// No more is read.
    is_over: bool,
    /// The body has come to its end, and is not to be polled again.
    is_at_end: bool,
}

impl DisconnectProbe {
    /// Reads up to `bound` bytes; with 0 the body is not touched.
    pub(super) fn new(bound: usize) -> Self {
        let (frames, len) = (VecDeque::new(), 0);
        let (has_begun, is_over, is_at_end) = (false, bound == 0, false);
        Self { frames, len, bound, has_begun, is_over, is_at_end }
    }

    /// Ready once the client has left.
    pub(super) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = axum_body(body) else { return Poll::Pending };
        if !mem::replace(&mut self.has_begun, true) {
            self.is_over |= body.is_end_stream();
        }
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
    pub(super) fn give_back<B: 'static>(&mut self, body: &mut B) {
        if let Some(body) = axum_body(body)
            && (self.is_at_end || !self.frames.is_empty())
        {
            let read = mem::take(body);
            let rest = if self.is_at_end { Body::empty() } else { read };
            let (frames, len) = (mem::take(&mut self.frames), self.len as u64);
            *body = Body::new(Replay { frames, len, rest });
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

/// The most frames that are read: each takes some memory beside its data.
const MAX_FRAMES: usize = 256;
