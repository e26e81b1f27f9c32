//! The endpoints: quotes that cost little, essays that cost more, and a login.

use axum::{
    Extension, Json,
    extract::{Path, Query},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};
use tower_waiting_room::rate::{ChargeHandle, OverSoftLimit};

use crate::limits::{PLAN, USERS};

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

/// `GET /quotes`: all quotes, or only the first for a client that lists them too often.
pub(crate) async fn list(over: Option<Extension<OverSoftLimit>>) -> Json<List> {
    let complete = over.is_none();
    let quotes = if complete { &QUOTES } else { &QUOTES[..1] };
    Json(List { complete, quotes })
}

/// `GET /quotes/{id}`: one quote.
pub(crate) async fn one(Path(id): Path<usize>) -> Result<Json<Quote>, StatusCode> {
    QUOTES.get(id).copied().map(Json).ok_or(StatusCode::NOT_FOUND)
}

const QUOTES: [Quote; 3] = [
    Quote { by: "Ovid", text: "The drop hollows the stone." },
    Quote { by: "Horace", text: "Whoever has begun has half done." },
    Quote { by: "Seneca", text: "While we are postponing, life speeds by." },
];

#[derive(Deserialize)]
pub(crate) struct Wish {
    words: u16,
}

#[derive(Serialize)]
pub(crate) struct Essay {
    cost: u64,
    text: String,
}

/// `POST /essays?words=N`: writes an essay of N words, and settles its cost: one unit for every
/// twenty words. The response contains the cost.
pub(crate) async fn write(
    Query(wish): Query<Wish>,
    spend: Option<Extension<ChargeHandle>>,
) -> Json<Essay> {
    let words = usize::from(wish.words).clamp(1, MAX_WORDS);
    let text: Vec<_> = WORDS.into_iter().cycle().take(words).collect();
    let cost = words.div_ceil(WORDS_FOR_ONE) as u64;
    if let Some(Extension(spend)) = spend {
        spend.settle_limit(PLAN, cost);
    }
    Json(Essay { cost, text: text.join(" ") })
}

const MAX_WORDS: usize = 1_000;
const WORDS_FOR_ONE: usize = 20;
const WORDS: [&str; 7] = ["well", "begun", "is", "half", "done", "and", "so"];

#[derive(Deserialize)]
pub(crate) struct Credentials {
    name: String,
    password: String,
}

#[derive(Serialize)]
pub(crate) struct Session {
    key: &'static str,
}

/// `POST /login`: returns the key of a user, given the name and the password.
pub(crate) async fn log_in(
    Json(credentials): Json<Credentials>,
) -> Result<Json<Session>, StatusCode> {
    let Credentials { name, password } = credentials;
    let user = USERS.iter().find(|user| user.name == name && user.password == password);
    user.map(|user| Json(Session { key: user.key })).ok_or(StatusCode::UNAUTHORIZED)
}
