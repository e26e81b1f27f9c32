//! The applications that are compared.

use anyhow::Result;
use axum::{Router, body::Body, extract::Request, routing::get};
use bytes::Bytes;
use http::{Response, header};
use http_body_util::BodyExt;
use tower::ServiceExt;

/// One that always answers what `app` answers now to a request with this cookie: what is left to
/// pay where nothing is decided and nothing is written, but as many bytes are sent.
pub(super) async fn ready_made(app: &Router, types: &str, cookie: &str) -> Result<Router> {
    let request = Request::get("/").header(header::ACCEPT, types).header(header::COOKIE, cookie);
    let Ok(response) = app.clone().oneshot(request.body(Body::empty())?).await;
    let (mut head, body) = response.into_parts();
    // The server sets it, and would find it twice.
    head.headers.remove(header::CONTENT_LENGTH);
    let answer: Response<Bytes> = Response::from_parts(head, body.collect().await?.to_bytes());
    let repeat = move || std::future::ready(answer.clone().map(Body::from));
    Ok(Router::new().route("/", get(repeat)))
}
