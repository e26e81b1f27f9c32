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
//!
//! The body of a request that runs is handed on as it is, but for a bound on how long the application
//! waits for its next frame: a client that sends nothing more holds the permit of its request no
//! longer than that.

use std::{
    any::Any,
    collections::VecDeque,
    error::Error,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{BoxError, body::Body};
use bytes::Bytes;
use http::{Request, Version, header::EXPECT};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{
    runtime::Handle,
    time::{self, Instant, Sleep},
};

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

/// Bounds for how long a reader of the body waits for each of its frames, if the body is axum's.
pub(crate) fn bound_reads<B: 'static>(body: &mut B, timeout: Duration) {
    if let Some(body) = axum_body(body) {
        *body = Body::new(TimedBody { body: Some(mem::take(body)), timeout, wait: None });
    }
}

/// The error of a request's body that has sent nothing for as long as
/// [`Concurrency::body_read_timeout`](crate::Concurrency::body_read_timeout) allows.
///
/// It is the source of the [`axum::Error`] that the application reads. Answer it with 408 (RFC 9110
/// section 15.5.9); axum's own extractors answer with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyReadTimeout {
    /// The timeout.
    pub timeout: Duration,
}

impl fmt::Display for BodyReadTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the request's body has sent nothing for {:?}", self.timeout)
    }
}

impl Error for BodyReadTimeout {}

/// A body whose reader waits only so long for each frame.
struct TimedBody {
    /// `None` once it has sent nothing for too long.
    body: Option<Body>,
    timeout: Duration,
    wait: Option<Wait>,
}

/// The end of the wait for a frame.
struct Wait {
    sleep: Pin<Box<Sleep>>,
    /// Whether the reader has asked for a frame and not got it yet.
    is_under_way: bool,
}

impl TimedBody {
    /// Whether the reader has waited for too long. There is no waiting without a runtime.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            None if Handle::try_current().is_err() => return Poll::Pending,
            None => {
                let sleep = Box::pin(time::sleep(self.timeout));
                self.wait.insert(Wait { sleep, is_under_way: true })
            }
        };
        if !mem::replace(&mut wait.is_under_way, true) {
            wait.sleep.as_mut().reset(Instant::now() + self.timeout);
        }
        wait.sleep.as_mut().poll(cx)
    }
}

impl http_body::Body for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(cx) {
            Poll::Pending if self.poll_timeout(cx).is_ready() => {
                self.body = None;
                let error = BodyReadTimeout { timeout: self.timeout };
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(frame) => {
                if let Some(wait) = &mut self.wait {
                    wait.is_under_way = false;
                }
                Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::into_inner)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
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
    if request.version() > Version::HTTP_11 || request.headers().contains_key(EXPECT) {
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
