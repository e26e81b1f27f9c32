//! `POST /essays`: what costs more, and nobody knows beforehand how much.

use axum::{Extension, Json, extract::Query};
use serde::{Deserialize, Serialize};
use tower_waiting_room::Spend;

use crate::limits::PLAN;

/// What a request for an essay is charged before it is written.
pub(crate) const ESTIMATE: u64 = 5;

#[derive(Deserialize)]
pub(crate) struct Wish {
    words: u16,
}

#[derive(Serialize)]
pub(crate) struct Essay {
    cost: u64,
    text: String,
}

/// Writes `?words=` so many, and says what it has cost: 1 for every twenty.
pub(crate) async fn write(
    Query(wish): Query<Wish>,
    spend: Option<Extension<Spend>>,
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
