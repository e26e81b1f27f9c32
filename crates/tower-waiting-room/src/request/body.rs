//! Bodies of requests that the layer reads itself, where they are axum's: while a request waits, to
//! notice a client that leaves, and after one was answered without its body.
//!
//! A server of HTTP/1 looks at a connection only to read the body, or once it has been read. So the
//! body of a request that waits is read, up to a bound, and what was read is put in front of the
//! rest again.
//!
//! A server of HTTP/1 that closes a connection on which something lies unread resets it, and the
//! reset may overtake the answer (RFC 9112 section 9.6): a client in the middle of an upload fails
//! to send, and never learns that it was refused, or for how long. So the upload is read on, and
//! thrown away, until the client has seen the answer and stops, or for a while.

use std::{
    any::Any,
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Version, header::EXPECT};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time};

/// Reads a body for as long as its request waits, up to a bound.
pub(crate) struct DisconnectProbe {
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
    pub(crate) fn new(bound: usize) -> Self {
        let (frames, len) = (VecDeque::new(), 0);
        let (has_begun, is_over, is_at_end) = (false, bound == 0, false);
        Self { frames, len, bound, has_begun, is_over, is_at_end }
    }

    /// Ready once the client has left.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<()> {
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
    pub(crate) fn give_back<B: 'static>(&mut self, body: &mut B) {
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

/// Reads the rest of the body beside the answer, if it has to be read and can be. A stream of
/// HTTP/2 ends by itself, and who expects `100 Continue` (RFC 9110 section 10.1.1) sends nothing.
pub(crate) fn linger<B: 'static>(request: &mut Request<B>) {
    // First what most refused requests answer: they have no body.
    if axum_body(request.body_mut()).is_none_or(|body| body.is_end_stream())
        || request.version() > Version::HTTP_11
        || request.headers().contains_key(EXPECT)
    {
        return;
    }
    if let Some(body) = axum_body(request.body_mut())
        && let Ok(runtime) = Handle::try_current()
    {
        let rest = mem::take(body);
        drop(runtime.spawn(async { time::timeout(LONGEST, read(rest)).await }));
    }
}

/// The body, if it is one of axum's: no other can be put together again.
pub(crate) fn axum_body<B: 'static>(body: &mut B) -> Option<&mut Body> {
    (body as &mut dyn Any).downcast_mut()
}

async fn read(mut body: Body) {
    let mut read = 0;
    while read < MOST
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// For so long: a client that reads has the answer long before.
const LONGEST: Duration = Duration::from_secs(5);

/// As many bytes: more than is on its way when the client sees the answer.
const MOST: usize = 16 * 1024 * 1024;
