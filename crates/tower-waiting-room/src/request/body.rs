//! Reads request bodies ahead, ends bodies that arrive too slowly, or discards the rest of a body.
//!
//! ```text
//!  the request waits at a gate ──► DisconnectProbe   reads ahead to detect a disconnect
//!  the application runs ─────────► PacedBody         ends a body that arrives too slowly
//!  the request was refused ──────► linger            reads and discards the rest
//! ```
//!
//! **Waiting.** An HTTP/1 server reads from a connection only while the body of the request is
//! being read, or once the body has been read completely. Without further measures, a client that
//! disconnects in the middle of an upload would keep its place in the queue. The layer therefore
//! reads the body of a waiting request ahead, up to a bound. Before the request is forwarded, the
//! frames that were read are put in front of the rest of the body.
//!
//! **Running.** The body is passed on frame by frame, and fails if the client sends it more slowly
//! than a [`MinRate`] while the application is reading. A client that sends a byte now and then
//! therefore cannot hold the permit of its request.
//!
//! **Refused.** If an HTTP/1 server closes a connection with unread data, the connection is reset,
//! and the reset may overtake the answer (RFC 9112 section 9.6). A client in the middle of an
//! upload would then fail to send, and would learn neither that it was refused nor when to retry.
//! The layer therefore reads and discards the rest of the upload until the client stops sending or
//! a bound is reached.
//!
//! Only axum's [`Body`] is supported. A body of any other type is left unchanged, because it cannot
//! be replaced by a body that starts with the frames already read. Without the `axum` feature,
//! `no_body.rs` replaces this file.

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

use super::min_rate::MinRate;

/// Reads the body of a waiting request, up to a bound, to detect when its client disconnects.
///
/// A disconnect appears as an error of the body. The probe stops reading once the bound is reached
/// or the body has ended. After that, only the server can detect a disconnect, and only if the body
/// has ended.
pub(crate) struct DisconnectProbe {
    /// The frames that were read, in order; at most [`MAX_FRAMES`] frames.
    frames: VecDeque<Frame<Bytes>>,
    /// The number of bytes of data in `frames`, which may exceed `bound` by less than one frame.
    len: usize,
    /// The number of bytes at which reading stops.
    bound: usize,
    /// Whether the probe has already examined the body.
    has_begun: bool,
    /// Whether reading has stopped, because the bound is reached, the body has ended, or `bound` is
    /// 0.
    is_over: bool,
    /// Whether the body has returned `None`, after which it must not be polled again.
    is_at_end: bool,
}

impl DisconnectProbe {
    /// Creates a probe that reads up to `bound` bytes. If `bound` is 0, the body is not touched.
    pub(crate) fn new(bound: usize) -> Self {
        let frames = VecDeque::new();
        let len = 0;
        let has_begun = false;
        let is_over = bound == 0;
        let is_at_end = false;
        Self { frames, len, bound, has_begun, is_over, is_at_end }
    }

    /// Reads the frames that have arrived. Returns `Ready` once the client has disconnected, and
    /// always `Pending` if `body` is not axum's.
    ///
    /// While the probe is reading, the task is woken when the next frame arrives. Once reading has
    /// stopped, the probe no longer wakes the task, so the caller must also poll the permit and a
    /// timer.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = axum_body(body) else { return Poll::Pending };
        // A body that has ended before it was read, such as an empty body, is not polled and is
        // therefore forwarded unchanged.
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
                    // A frame is a slice of the server's read buffer, which may be far larger. A
                    // small frame is copied, so that the queue retains `bound` bytes per request
                    // rather than a read buffer per frame.
                    let is_small = len < self.bound;
                    self.frames.push_back(if is_small { copy(frame) } else { frame });
                    self.is_over = self.len >= self.bound || self.frames.len() >= MAX_FRAMES;
                }
            }
        }
        Poll::Pending
    }

    /// Puts the frames that were read in front of the rest of `body`. A body that has not been read
    /// is left unchanged.
    pub(crate) fn give_back<B: 'static>(&mut self, body: &mut B) {
        if let Some(body) = axum_body(body)
            && (self.is_at_end || !self.frames.is_empty())
        {
            let read = mem::take(body);
            let rest = if self.is_at_end { Body::empty() } else { read };
            let frames = mem::take(&mut self.frames);
            let len = self.len as u64;
            *body = Body::new(Replay { frames, len, rest });
        }
    }
}

/// Makes `body` fail with [`BodyTooSlow`] if the application waits too long for its frames. Does
/// nothing if the body is not axum's.
pub(crate) fn bound_reads<B: 'static>(body: &mut B, min_rate: MinRate) {
    if let Some(body) = axum_body(body) {
        let left = MinRate::GRACE;
        *body = Body::new(PacedBody { body: Some(mem::take(body)), min_rate, left, wait: None });
    }
}

/// The error that a request body returns if its client sends the body more slowly than
/// [`Concurrency::min_rate`](crate::Concurrency::min_rate).
///
/// This error is the source of the [`axum::Error`] that the application gets when it reads the
/// body. The appropriate status is 408 (RFC 9110 section 15.5.9), but axum's own extractors answer
/// with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyTooSlow {
    /// The minimum rate, in bytes per second.
    pub min_rate: u32,
}

impl fmt::Display for BodyTooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client sends less than {} bytes of the body per second", self.min_rate)
    }
}

impl Error for BodyTooSlow {}

/// A body that limits how long the application waits for its frames.
///
/// The timer runs only while the application is waiting for a frame. An application that pauses
/// between two reads, or does not read at all, never makes the body fail.
struct PacedBody {
    /// The inner body; `None` once it has failed. The rest of the body is then dropped, and the
    /// application sees its end.
    body: Option<Body>,
    min_rate: MinRate,
    /// The time for which the application could still wait when the current wait began.
    left: Duration,
    /// The timer; `None` until the application has to wait for a frame for the first time. A body
    /// that is always ready needs no timer.
    wait: Option<ReadTimer>,
}

/// The timer for the wait for a frame. The same timer is reused for all frames of a body.
struct ReadTimer {
    /// The timer, set to the deadline of the current wait or left at the deadline of an earlier
    /// wait.
    sleep: Pin<Box<Sleep>>,
    /// The beginning of the current wait, or `None` while the application is not waiting.
    since: Option<Instant>,
}

impl PacedBody {
    /// Returns `Ready` once the application has waited for too long. Without a tokio runtime there
    /// is no timer, so the body never fails.
    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            None if Handle::try_current().is_err() => return Poll::Pending,
            None => {
                let sleep = Box::pin(time::sleep(self.left));
                self.wait.insert(ReadTimer { sleep, since: Some(Instant::now()) })
            }
        };
        // The first poll of a wait starts the timer. Further polls during the same wait do not
        // extend the time.
        if wait.since.is_none() {
            let now = Instant::now();
            wait.since = Some(now);
            wait.sleep.as_mut().reset(now + self.left);
        }
        wait.sleep.as_mut().poll(cx)
    }

    /// Ends the current wait, if there is one, because the client has sent `bytes`.
    fn received(&mut self, bytes: usize) {
        // The timer is left running, and is reset when the next wait begins. A wake-up by the timer
        // in the meantime has no effect.
        let since = self.wait.as_mut().and_then(|wait| wait.since.take());
        let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
        let left = self.left.saturating_sub(waited);
        self.left = self.min_rate.earn(left, bytes, MinRate::LONGEST);
    }
}

impl http_body::Body for PacedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        // The frame is polled before the timer, so a frame that arrives at the last moment is still
        // returned.
        match Pin::new(body).poll_frame(cx) {
            Poll::Pending if self.poll_too_slow(cx).is_ready() => {
                self.body = None;
                let MinRate(min_rate) = self.min_rate;
                Poll::Ready(Some(Err(BodyTooSlow { min_rate }.into())))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(frame) => {
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                let bytes = data.map_or(0, Bytes::len);
                self.received(bytes);
                // The wrapping `Body` boxes errors again. If the error were not unwrapped here, the
                // application would find the original error one `source()` deeper than without the
                // layer.
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

/// A partially read body, which returns the frames that were read and then the rest.
struct Replay {
    /// The frames that have not been returned yet.
    frames: VecDeque<Frame<Bytes>>,
    /// The number of bytes of data in `frames`, for the size hint.
    len: u64,
    /// The unread part of the body. This part is empty if the body has ended, since a body that has
    /// ended must not be polled again.
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

/// Returns a copy of the frame that does not keep the read buffer of the server alive.
fn copy(frame: Frame<Bytes>) -> Frame<Bytes> {
    frame.map_data(|data| Bytes::copy_from_slice(&data))
}

/// The number of frames at which a probe stops reading, whatever their size. Each frame takes up
/// some memory in addition to its data, and a client could exploit this overhead by sending single
/// bytes.
const MAX_FRAMES: usize = 256;

/// Reads and discards the rest of a refused request's body, in a separate task while the answer is
/// sent.
///
/// Does nothing if draining is not needed. In HTTP/2 and later, a stream can be reset without
/// closing its connection. A client that expects `100 Continue` sends no body before it receives
/// this status (RFC 9110 section 10.1.1). Also does nothing if draining is impossible, because the
/// body is not axum's or there is no tokio runtime.
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

/// Returns whether a body has an unread part that the layer can read.
pub(crate) fn has_unread_body<B: 'static>(body: &B) -> bool {
    let body = (body as &dyn Any).downcast_ref::<Body>();
    body.is_some_and(|body| !body.is_end_stream())
}

/// Returns the body if it is axum's, which is the only type that this module can rebuild.
pub(crate) fn axum_body<B: 'static>(body: &mut B) -> Option<&mut Body> {
    (body as &mut dyn Any).downcast_mut()
}

/// Reads and discards `body` until it ends, fails, or has returned [`MOST`] bytes.
async fn read(mut body: Body) {
    let mut read = 0;
    while read < MOST
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// The longest time for which the body of a refused request is read. A client that reads while it
/// sends receives the answer long before this time has passed.
const LONGEST: Duration = Duration::from_secs(5);

/// The number of bytes after which the body of a refused request is no longer read. This is more
/// than the amount of data that can be in transit when the client receives the answer.
const MOST: usize = 16 * 1024 * 1024;
