//! `GET /quotes` and `GET /quotes/{id}`: what costs little.

use axum::{Extension, Json, extract::Path, http::StatusCode};
use serde::Serialize;
use tower_waiting_room::OverSoftLimit;

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Quote {
    by: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
pub(crate) struct List {
    complete: bool,
    quotes: &'static [Quote],
}

/// All of them; for who asks often, the first.
pub(crate) async fn list(over: Option<Extension<OverSoftLimit>>) -> Json<List> {
    let complete = over.is_none();
    let quotes = if complete { &QUOTES } else { &QUOTES[..1] };
    Json(List { complete, quotes })
}

/// One of them.
pub(crate) async fn one(Path(id): Path<usize>) -> Result<Json<Quote>, StatusCode> {
    QUOTES.get(id).copied().map(Json).ok_or(StatusCode::NOT_FOUND)
}

const QUOTES: [Quote; 3] = [
    Quote { by: "Ovid", text: "The drop hollows the stone." },
    Quote { by: "Horace", text: "Whoever has begun has half done." },
    Quote { by: "Seneca", text: "While we are postponing, life speeds by." },
];
