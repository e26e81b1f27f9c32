//! The requests with which an operator changes the room.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::to_bytes,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use tokio::time::timeout;
use tower_waiting_room::handle::RoomHandle;
use waiting_room_core::{RoomRules, StoreError, error::StoreErrorKind};

use super::{
    access::Operator,
    audit::ChangeRecord,
    board::Board,
    change::{Change, Order},
    guard::{json, problem},
    preview::preview,
};

/// Answers with the effect of a change, in words, without making it.
pub(super) async fn preview_change(
    State(board): State<Arc<Board>>,
    request: Request,
) -> Result<Response, Response> {
    let (room, order) = requested(&board, request).await?;
    let rules = room.rules();
    let Some(Ok(snapshot)) = board.snapshot().await else {
        let detail = "the store does not answer, so the effect is unknown";
        return Err(problem(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", detail));
    };
    let after = order.change.apply(RoomRules::clone(&rules));
    Ok(json(
        StatusCode::OK,
        &json!({
            "room": rules.name,
            "action": order.change.action(),
            "from": order.change.describe(&rules),
            "to": order.change.describe(&after),
            "words": preview(order.change, &snapshot),
        }),
    ))
}

/// Makes a change, and records it.
pub(super) async fn make_change(
    State(board): State<Arc<Board>>,
    request: Request,
) -> Result<Response, Response> {
    // The guard in front of all routes has inserted the operator.
    let Some(operator) = request.extensions().get::<Operator>().cloned() else {
        return Err(problem(StatusCode::FORBIDDEN, "denied", "there is no operator"));
    };
    let (room, order) = requested(&board, request).await?;
    order.check_confirmation(board.handle.name()).map_err(|error| bad(&error))?;
    // Even if the client disconnects, the change is completed and recorded.
    let task = tokio::spawn(carry_out(board, room, operator, order));
    Ok(task.await.unwrap_or_else(|_| {
        let detail = "the change failed; the log of changes shows whether it was made";
        problem(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail)
    }))
}

/// Makes a change, and records it.
async fn carry_out(
    board: Arc<Board>,
    room: RoomHandle,
    operator: Operator,
    order: Order,
) -> Response {
    let change = order.change;
    let (from, to, result) = apply(&room, change, order.from.as_deref()).await;
    let outcome = match &result {
        Ok(true) => "done".to_owned(),
        Ok(false) => "not made: the room had changed since the preview".to_owned(),
        Err(error) => explained(error),
    };
    let entry = ChangeRecord {
        at: board.handle.now().as_secs(),
        operator: operator.name().into(),
        action: change.action(),
        from,
        to,
        outcome,
    };
    let answer = json!({ "change": entry });
    board.state().audit.push(board.handle.name(), entry);
    match result {
        Ok(true) => json(StatusCode::OK, &answer),
        Ok(false) => {
            let detail = "the room has changed since the preview; look at the preview again";
            problem(StatusCode::CONFLICT, "changed_meanwhile", detail)
        }
        Err(error) => {
            let (status, code) = match error.kind() {
                StoreErrorKind::Rules => (StatusCode::UNPROCESSABLE_ENTITY, "not_changed"),
                // The store may have made the change.
                StoreErrorKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "perhaps_changed"),
                StoreErrorKind::Busy
                | StoreErrorKind::Unavailable
                | StoreErrorKind::Unsupported => (StatusCode::SERVICE_UNAVAILABLE, "not_changed"),
            };
            problem(status, code, &explained(&error))
        }
    }
}

/// Makes a change, if the rules are still those of the preview. Returns the rules before and after
/// the change, as the audit log describes them, and whether it was made.
async fn apply(
    room: &RoomHandle,
    change: Change,
    previewed: Option<&str>,
) -> (String, String, Result<bool, StoreError>) {
    // Another operator may change the rules at the same time. The closure receives the rules that
    // this change applies to.
    let is_as_previewed =
        |rules: &RoomRules| previewed.is_none_or(|from| from == change.describe(rules));
    let before = Mutex::new(RoomRules::clone(&room.rules()));
    let result = room
        .change(|rules| {
            *before.lock().unwrap_or_else(PoisonError::into_inner) = rules.clone();
            if is_as_previewed(&rules) { change.apply(rules) } else { rules }
        })
        .await;
    let before = before.into_inner().unwrap_or_else(PoisonError::into_inner);
    let from = change.describe(&before);
    let result = result.map(|()| is_as_previewed(&before));
    (from, change.describe(&change.apply(before)), result)
}

/// Reads the change that a request asks for, and the room that it concerns.
async fn requested(board: &Board, request: Request) -> Result<(RoomHandle, Order), Response> {
    let Some(room) = board.handle.room() else {
        let detail = "the layer has no room to change";
        return Err(problem(StatusCode::NOT_FOUND, "no_room", detail));
    };
    let body = body(request).await?;
    let order = Order::parse(&body, &room.rules()).map_err(|error| bad(&error))?;
    Ok((room, order))
}

/// Reads the body of a request, which has to be a short JSON document.
async fn body(request: Request) -> Result<Bytes, Response> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        let detail = "the content type is not application/json";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", detail));
    }
    match timeout(MAX_READ, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let detail = format!("the body is too long, expected at most {MAX_BODY} bytes");
            Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "too_long", &detail))
        }
        Err(_) => {
            let detail = format!("the body did not arrive within {MAX_READ:?}");
            Err(problem(StatusCode::REQUEST_TIMEOUT, "too_slow", &detail))
        }
    }
}

/// Returns whether the content type is JSON. A page of another site can send such a request only
/// with the consent of this server (Fetch standard, "CORS-safelisted request-header").
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn bad(error: &str) -> Response {
    problem(StatusCode::UNPROCESSABLE_ENTITY, "invalid", error)
}

/// Returns the message of an error, with the message of its cause.
fn explained(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The maximum length of a body, in bytes. A change takes less than 200.
const MAX_BODY: usize = 4_096;

/// The time within which a body has to arrive.
const MAX_READ: Duration = Duration::from_secs(5);
