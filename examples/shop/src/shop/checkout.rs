//! The checkout: the purchase is done, and the slot goes to the next in line.
//!
//! Each of the two handlers shows one way to end a session. Code that knows the waiting room uses
//! the [`Visit`]; code that does not, in whatever language behind a proxy, sends a header.

use axum::{
    Extension, Json,
    response::{Html, IntoResponse},
};
use axum_extra::extract::CookieJar;
use serde::Serialize;
use tower_waiting_room::{COMMAND_HEADER, Visit};

use super::{
    cart::{Cart, emptied},
    pages,
};

/// `POST /checkout`: for browsers. Ends the session by the [`Visit`].
///
/// There is none while the room is suspended.
pub(super) async fn by_form(
    visit: Option<Extension<Visit>>,
    jar: CookieJar,
) -> (CookieJar, Html<String>) {
    if let Some(Extension(visit)) = visit {
        visit.end();
    }
    let page = pages::thanks(&Cart::of(&jar));
    (emptied(jar), Html(page))
}

/// `POST /api/checkout`: for programs. Ends the session by a response header.
pub(super) async fn by_api(jar: CookieJar) -> impl IntoResponse {
    let total_cents = Cart::of(&jar).total_cents();
    ([(COMMAND_HEADER, "revoke")], emptied(jar), Json(Receipt { total_cents }))
}

#[derive(Serialize)]
struct Receipt {
    total_cents: u32,
}
