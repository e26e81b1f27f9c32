//! The guard in front of all routes: refuses requests without an operator, and keeps responses out
//! of caches, frames and other sites.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde::Serialize;
use serde_json::json;

use super::{
    access::{Denied, Operator},
    board::Board,
};

/// The check that every request has to pass.
pub(super) type Auth = Arc<dyn Fn(&Parts) -> Result<Operator, Denied> + Send + Sync>;

/// Refuses a request before its body is read, or adds the operator to its extensions. Figures are
/// recorded before any request is answered.
pub(super) async fn guard(
    State((auth, board)): State<(Auth, Arc<Board>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match auth(&parts) {
        Ok(operator) => {
            parts.extensions.insert(operator);
            board.record().await;
            next.run(Request::from_parts(parts, body)).await
        }
        Err(denied) => {
            let mut response =
                problem(denied.status(), "denied", "this page is for the operators of the service");
            if let Some(challenge) = denied.into_challenge() {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The page has a policy of its own.
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

/// Returns a response with a JSON document.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Response {
    of_type("application/json", status, serde_json::to_vec(document).unwrap_or_default().into())
}

/// Returns a problem document (RFC 9457). The code is stable, and the detail is for people.
pub(super) fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let document = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "code": code,
        "detail": detail,
    });
    let body = document.to_string().into();
    of_type("application/problem+json", status, body)
}

/// Returns a response with this content type.
pub(super) fn of_type(
    content_type: &'static str,
    status: StatusCode,
    body: axum::body::Body,
) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let value = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}

const HEADERS: [(header::HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::VARY, "authorization, cookie"),
];
