//! Request bodies, which the layer reads, times or drains in three situations.
//!
//! ```text
//!  the request waits at a gate ──► DisconnectProbe   reads ahead, to notice that the client left
//!  the application runs ─────────► TimedBody         limits the wait for each frame
//!  the request was refused ──────► linger            reads and discards the rest
//! ```
//!
//! **Waiting.** An HTTP/1 server reads from a connection only while its body is being read, or once
//! the body has been read completely. A client that disconnects in the middle of an upload would
//! therefore keep its place in the queue. So the body of a waiting request is read up to a bound,
//! and the frames that were read are put in front of the rest before the request is forwarded.
//!
//! **Running.** The body is passed on frame by frame, with a limit on the time for which the
//! application waits for each of them: a client that stops sending holds the permit of its request
//! no longer than that.
//!
//! **Refused.** An HTTP/1 server that closes a connection with unread data resets it, and the reset
//! may overtake the answer (RFC 9112 section 9.6). A client in the middle of an upload would fail
//! to send, and learn neither that it was refused nor when to retry. So the rest of the upload is
//! read and discarded until the client stops sending, or until a bound is reached.
//!
//! Only axum's [`Body`] is handled. A body of any other type cannot be replaced by one that starts
//! with the frames already read, so it is left alone. Without the feature `axum`, `no_body.rs`
//! takes the place of this file.

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

/// Reads the body of a waiting request, up to a bound, to notice that its client disconnects.
///
/// A disconnect shows as an error of the body. Once the bound is reached or the body has ended, the
/// probe reads no more; a server then notices a disconnect itself only if the body has ended.
pub(crate) struct DisconnectProbe {
    /// The frames that were read, in order. At most [`MAX_FRAMES`].
    frames: VecDeque<Frame<Bytes>>,
    /// The bytes of data in `frames`. May exceed `bound` by less than one frame.
    len: usize,
    /// The number of bytes at which reading stops.
    bound: usize,
    /// Whether the body was looked at.
    has_begun: bool,
    /// Whether no more is read: the bound is reached, the body has ended, or `bound` is 0.
    is_over: bool,
    /// Whether the body returned its end, after which it must not be polled again.
    is_at_end: bool,
}

impl DisconnectProbe {
    /// Creates a probe that reads up to `bound` bytes. With 0 the body is not touched.
    pub(crate) fn new(bound: usize) -> Self {
        let (frames, len) = (VecDeque::new(), 0);
        let (has_begun, is_over, is_at_end) = (false, bound == 0, false);
        Self { frames, len, bound, has_begun, is_over, is_at_end }
    }

    /// Reads what has arrived. Ready once the client has disconnected; never ready if `body`
    /// is not axum's.
    ///
    /// A pending result wakes the task for the next frame, or not at all once reading is over: the
    /// caller polls the permit and a timer beside this.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = axum_body(body) else { return Poll::Pending };
        // A body that has ended before it was read, such as an empty one, is not polled, and so is
        // forwarded as it is.
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
                    // small frame is copied so that the queue keeps `bound` bytes for each request
                    // in memory, and not a buffer for each frame.
                    let is_small = len < self.bound;
                    self.frames.push_back(if is_small { copy(frame) } else { frame });
                    self.is_over = self.len >= self.bound || self.frames.len() >= MAX_FRAMES;
                }
            }
        }
        Poll::Pending
    }

    /// Puts the frames that were read in front of the rest of `body`. A body of which nothing was
    /// read is left as it is.
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

/// Makes `body` fail with [`BodyReadTimeout`] if a reader waits longer than `timeout` for a frame.
/// Does nothing if the body is not axum's.
pub(crate) fn bound_reads<B: 'static>(body: &mut B, timeout: Duration) {
    if let Some(body) = axum_body(body) {
        *body = Body::new(TimedBody { body: Some(mem::take(body)), timeout, wait: None });
    }
}

/// The error of a request body whose client has sent nothing for
/// [`Concurrency::body_read_timeout`](crate::Concurrency::body_read_timeout).
///
/// It is the source of the [`axum::Error`] that the application gets when it reads the body. The
/// fitting status is 408 (RFC 9110 section 15.5.9); axum's own extractors answer with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyReadTimeout {
    /// The time for which the application has waited for a frame.
    pub timeout: Duration,
}

impl fmt::Display for BodyReadTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client has sent nothing of the request body for {:?}", self.timeout)
    }
}

impl Error for BodyReadTimeout {}

/// A body that limits the time for which its reader waits for each frame.
///
/// The time counts only while the reader waits. An application that takes long between two reads,
/// or that does not read at all, never causes the timeout.
struct TimedBody {
    /// `None` after the timeout: the rest is dropped, and the body has ended for its reader.
    body: Option<Body>,
    timeout: Duration,
    /// `None` until the reader has to wait for the first time. A body that is always ready needs no
    /// timer.
    wait: Option<ReadTimer>,
}

/// The timer of the wait for a frame. It is reused for all frames of a body.
struct ReadTimer {
    /// Set to the end of the current wait, or left at that of an earlier one.
    sleep: Pin<Box<Sleep>>,
    /// Whether the reader has asked for a frame that has not arrived.
    is_under_way: bool,
}

impl TimedBody {
    /// Ready once the reader has waited for `timeout`. Without a tokio runtime there is no timer,
    /// and no timeout.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            None if Handle::try_current().is_err() => return Poll::Pending,
            None => {
                let sleep = Box::pin(time::sleep(self.timeout));
                self.wait.insert(ReadTimer { sleep, is_under_way: true })
            }
        };
        // The first poll of a wait starts the time; repeated polls of the same wait do not extend
        // it.
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
        // The frame is polled before the timer, so that one that arrives at the last moment counts.
        match Pin::new(body).poll_frame(cx) {
            Poll::Pending if self.poll_timeout(cx).is_ready() => {
                self.body = None;
                let error = BodyReadTimeout { timeout: self.timeout };
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(frame) => {
                // The timer is left running, and is reset when the next wait begins. A wake-up by
                // it in between finds nothing to do.
                if let Some(wait) = &mut self.wait {
                    wait.is_under_way = false;
                }
                // The wrapping `Body` boxes errors again: without this, the application would find
                // the error of its client one `source()` deeper than without the layer.
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

/// A body that was read in part: it returns the frames that were read, then the rest.
struct Replay {
    /// The frames that are still to be returned.
    frames: VecDeque<Frame<Bytes>>,
    /// The bytes of data in `frames`, for the size hint.
    len: u64,
    /// The part that was not read; empty if the body has ended, since that must not be polled
    /// again.
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

/// Returns a copy of the frame that does not keep the buffer alive of which it is a slice.
fn copy(frame: Frame<Bytes>) -> Frame<Bytes> {
    frame.map_data(|data| Bytes::copy_from_slice(&data))
}

/// The number of frames at which a probe stops reading, whatever their size. Each takes some memory
/// in addition to its data, which a client that sends single bytes would otherwise exploit.
const MAX_FRAMES: usize = 256;

/// Reads and discards the rest of the body of a refused request, in a task beside the answer.
///
/// Does nothing where that is not needed: in HTTP/2 and later, where a stream is reset without its
/// connection, and if the client expects `100 Continue`, because it sends no body before it gets
/// that (RFC 9110 section 10.1.1). Does nothing where it is not possible either: if the body is not
/// axum's, or without a tokio runtime.
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

/// Returns the body if it is axum's, which is the only type that this module can rebuild.
pub(crate) fn axum_body<B: 'static>(body: &mut B) -> Option<&mut Body> {
    (body as &mut dyn Any).downcast_mut()
}

/// Reads and discards `body` until it ends, fails, or has sent [`MOST`] bytes.
async fn read(mut body: Body) {
    let mut read = 0;
    while read < MOST
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// The longest time for which the body of a refused request is read. A client that reads while it
/// sends has the answer long before.
const LONGEST: Duration = Duration::from_secs(5);

/// The number of bytes at which the body of a refused request is read no further. More than can be
/// in transit when the client sees the answer.
const MOST: usize = 16 * 1024 * 1024;
