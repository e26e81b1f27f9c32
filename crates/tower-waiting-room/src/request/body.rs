//! The body of a request, where it is one of axum's.
//!
//! What is left of it is read when the request is answered without it. A server of HTTP/1 that closes a connection on which something lies unread resets it, and the
//! reset may overtake the answer (RFC 9112 section 9.6): a client in the middle of an upload fails
//! to send, and never learns that it was refused, or for how long. So the upload is read on, and
//! thrown away, until the client has seen the answer and stops, or for a while.

use std::{any::Any, mem, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Version, header::EXPECT};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time};

/// Reads the rest of the body beside the answer, if it has to be read and can be. A stream of
/// HTTP/2 ends by itself, and who expects `100 Continue` (RFC 9110 section 10.1.1) sends nothing.
pub(crate) fn linger<B: 'static>(request: &mut Request<B>) {
    if request.version() > Version::HTTP_11 || request.headers().contains_key(EXPECT) {
        return;
    }
    if let Some(body) = axum_body(request.body_mut())
        && !body.is_end_stream()
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
