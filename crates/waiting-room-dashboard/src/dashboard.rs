//! The dashboard and its routes.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::State,
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde_json::json;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tower_waiting_room::WaitingRoomHandle;

use super::{
    access::{Denied, Operator},
    board::Board,
    changes::{make_change, preview_change},
    export::{chart, table},
    feed::{Feed, NoStream},
    figures,
    guard::{Auth, guard, json, of_type, problem},
    history::{RoomHistory, columns},
    page,
    preview::told_to_newcomers,
};

/// The operator's page for one layer.
///
/// All clones and their routers belong to one dashboard with one history.
#[derive(Clone)]
pub struct Dashboard {
    board: Arc<Board>,
    auth: Auth,
}

impl Dashboard {
    /// Creates the dashboard of the layer with this handle.
    ///
    /// `auth` decides about every request, including those that only read. It receives the head of the
    /// request, and returns the operator, or a refusal with status 401 or 403. See the
    /// [crate's docs](crate) for an example, and [`basic_auth`](crate::basic_auth) for a check of a
    /// password.
    ///
    /// If this function is called outside of a tokio runtime, the recording of figures begins with the
    /// first request.
    #[must_use]
    pub fn new(
        handle: WaitingRoomHandle,
        auth: impl Fn(&Parts) -> Result<Operator, Denied> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Board::new(handle), auth)
    }

    /// Creates a dashboard that shows this board.
    pub(super) fn of(
        board: Arc<Board>,
        auth: impl Fn(&Parts) -> Result<Operator, Denied> + Send + Sync + 'static,
    ) -> Self {
        Self { board, auth: Arc::new(auth) }
    }

    /// Returns the router of the page.
    ///
    /// Mount the router with [`Router::nest_service`], or on a listener of its own, but not behind
    /// the layer. `nest_service` also serves the path with a trailing slash.
    pub fn router(&self) -> Router {
        let board = Arc::clone(&self.board);
        let guarded = (Arc::clone(&self.auth), Arc::clone(&self.board));
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
            .with_state(board)
            .layer(CsrfLayer::new().with_rejection_response(|_: ProtectionError| from_elsewhere()))
            // The guard is the outermost layer: it sees every request first, and every response last.
            .layer(from_fn_with_state(guarded, guard))
    }

    /// Ends the event streams of all open pages, and refuses further streams with 503.
    ///
    /// A server that shuts down gracefully completes its running responses first, and the stream of
    /// an open page would delay the shutdown by up to a minute. Call this method when the shutdown
    /// begins. Pages, previews, changes and exports are answered as before.
    ///
    /// ```no_run
    /// # use tower_waiting_room::WaitingRoomLayer;
    /// # use waiting_room_dashboard::{Dashboard, Operator};
    /// # async fn serve(layer: WaitingRoomLayer, listener: tokio::net::TcpListener) -> std::io::Result<()> {
    /// let dashboard = Dashboard::new(layer.handle(), |_| Ok(Operator::new("ann")));
    /// let app = axum::Router::new().nest_service("/admin", dashboard.router());
    /// let stop = async move {
    ///     // Wait for the signal here.
    ///     dashboard.end_streams();
    /// };
    /// axum::serve(listener, app).with_graceful_shutdown(stop).await
    /// # }
    /// ```
    ///
    /// Streams of other dashboards of the same layer do not end: clone a dashboard instead of creating
    /// two.
    pub fn end_streams(&self) {
        self.board.feed.end_all();
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").field("board", &self.board).finish_non_exhaustive()
    }
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
    let state = board.state();
    let minutes = state.history.minutes();
    let day = minutes.iter().skip(minutes.len().saturating_sub(RoomHistory::MINUTES / 2));
    let history =
        json!({ "seconds": columns(state.history.seconds().iter()), "minutes": columns(day) });
    drop(state);
    json(StatusCode::OK, &history)
}

async fn audit(State(board): State<Arc<Board>>) -> Response {
    let changes = json!({ "changes": board.state().audit.entries().collect::<Vec<_>>() });
    json(StatusCode::OK, &changes)
}

async fn status(State(board): State<Arc<Board>>) -> Response {
    match board.snapshot().await {
        Some(Ok(room)) => {
            let nodes = board.nodes(usize::MAX);
            json(StatusCode::OK, &figures::status(&room, told_to_newcomers(&room), nodes))
        }
        Some(Err(error)) => problem(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", &error),
        None => problem(StatusCode::NOT_FOUND, "no_room", "the layer has no room"),
    }
}

async fn csv(State(board): State<Arc<Board>>) -> Response {
    let table = table(board.state().history.minutes());
    download("text/csv; charset=utf-8", "attachment; filename=\"waiting-room.csv\"", table)
}

async fn svg(State(board): State<Arc<Board>>) -> Response {
    let chart = chart(board.handle.name(), board.state().history.minutes());
    download("image/svg+xml", "attachment; filename=\"waiting-room.svg\"", chart)
}

fn download(content_type: &'static str, disposition: &'static str, text: String) -> Response {
    let mut response = of_type(content_type, StatusCode::OK, text.into());
    let disposition = HeaderValue::from_static(disposition);
    response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    response
}

/// Answers a request whose method the path does not support.
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
