//! The routes of the dashboard.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde_json::json;
use tower_http::csrf::{CsrfLayer, ProtectionError};

use super::{
    access::{Denied, Operator},
    board::Board,
    changes::{make_change, preview_change},
    export::{chart, table},
    feed::{Feed, NoStream},
    guard::{Auth, guard, json, of_type, problem},
    history::{Columns, RoomHistory},
    page,
    status::Status,
};
use crate::handle::WaitingRoomHandle;

/// Returns a router with the operator's dashboard for the layer of this handle.
///
/// `auth` decides about every request, including those that only read. It receives the head of the
/// request, and returns the operator, or a refusal with status 401 or 403. See the
/// [module docs](super) for an example, and [`basic_auth`](super::basic_auth) for a check of a
/// password.
///
/// Mount the router with [`Router::nest_service`], which also serves the path with a slash at its
/// end, or on a listener of its own, but not behind the layer.
/// If this function is called outside of a tokio runtime, the recording of figures begins with the
/// first request.
pub fn dashboard(
    handle: WaitingRoomHandle,
    auth: impl Fn(&Parts) -> Result<Operator, Denied> + Send + Sync + 'static,
) -> Router {
    routes(Board::new(handle), Arc::new(auth))
}

/// The routes of a board, behind the guard.
pub(super) fn routes(board: Arc<Board>, auth: Auth) -> Router {
    Router::new()
        .route("/", get(page::show))
        .route("/events", get(events))
        .route("/history.json", get(history))
        .route("/audit.json", get(audit))
        .route("/status", get(status))
        .route("/export.csv", get(csv))
        .route("/export.svg", get(svg))
        .route("/preview", post(preview_change))
        .route("/change", post(make_change))
        .fallback(elsewhere)
        .method_not_allowed_fallback(not_with_this_method)
        .with_state(Arc::clone(&board))
        .layer(from_fn_with_state(board, recording))
        .layer(CsrfLayer::new().with_rejection_response(|_: ProtectionError| from_elsewhere()))
        // The guard is the outermost layer: it sees every request first, and every response last.
        .layer(from_fn_with_state(auth, guard))
}

/// Starts the recording of figures before any request is answered, unless it is running.
async fn recording(State(board): State<Arc<Board>>, request: Request, next: Next) -> Response {
    board.start();
    next.run(request).await
}

/// Opens a stream of events.
async fn events(State(board): State<Arc<Board>>) -> Response {
    let stream = match board.feed.open() {
        Ok(stream) => stream,
        Err(why) => return no_stream(why),
    };
    let mut response = of_type("text/event-stream", StatusCode::OK, Body::new(stream));
    // nginx would buffer the events otherwise.
    let name = header::HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(name, HeaderValue::from_static("no"));
    response
}

fn no_stream(why: NoStream) -> Response {
    let (code, detail) = match why {
        NoStream::TooMany => (
            "too_many_streams",
            format!("{} dashboards are open, expected fewer than {0}", Feed::MAX),
        ),
        NoStream::Ended => ("stopping", "the server is shutting down".to_owned()),
    };
    let mut response = problem(StatusCode::SERVICE_UNAVAILABLE, code, &detail);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

async fn history(State(board): State<Arc<Board>>) -> Response {
    board.sample_if_empty().await;
    let state = board.state();
    let minutes = state.history.minutes();
    let day = minutes.len().saturating_sub(RoomHistory::MINUTES / 2);
    let seconds: Columns = state.history.seconds().iter().collect();
    let minutes: Columns = minutes.iter().skip(day).collect();
    drop(state);
    json(StatusCode::OK, &json!({ "seconds": seconds, "minutes": minutes }))
}

async fn audit(State(board): State<Arc<Board>>) -> Response {
    let entries: Vec<_> = board.state().audit.entries().cloned().collect();
    json(StatusCode::OK, &json!({ "changes": entries }))
}

async fn status(State(board): State<Arc<Board>>) -> Response {
    match board.snapshot().await {
        Some(Ok(room)) => json(StatusCode::OK, &Status::new(&room, board.nodes())),
        Some(Err(error)) => problem(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", &error),
        None => problem(StatusCode::NOT_FOUND, "no_room", "the layer has no room"),
    }
}

async fn csv(State(board): State<Arc<Board>>) -> Response {
    board.sample_if_empty().await;
    let table = table(board.state().history.minutes());
    download("text/csv; charset=utf-8", "attachment; filename=\"waiting-room.csv\"", table)
}

async fn svg(State(board): State<Arc<Board>>) -> Response {
    board.sample_if_empty().await;
    let chart = chart(&board.name(), board.state().history.minutes());
    download("image/svg+xml", "attachment; filename=\"waiting-room.svg\"", chart)
}

fn download(content_type: &'static str, disposition: &'static str, text: String) -> Response {
    let mut response = of_type(content_type, StatusCode::OK, text.into());
    let disposition = HeaderValue::from_static(disposition);
    response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    response
}

/// Answers a request with a method that the path does not have.
async fn not_with_this_method() -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, "method", "the path does not have this method")
}

/// Answers a request that a page of another site has sent.
fn from_elsewhere() -> Response {
    let detail = "the request seems to come from another site; a reverse proxy must pass on Host, \
                  Origin and Sec-Fetch-Site unchanged";
    problem(StatusCode::FORBIDDEN, "cross_site", detail)
}

/// Answers a request to a path that does not exist.
async fn elsewhere() -> Response {
    problem(StatusCode::NOT_FOUND, "not_found", "the dashboard has no such page")
}
