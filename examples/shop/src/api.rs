//! The JSON API, and the checkout: the purchase is done, and the slot goes to the next in line.
//!
//! Each of the two handlers of the checkout shows one way to end a session. Code that knows the waiting
//! room uses the [`Visit`]; code that does not, in whatever language behind a proxy, sends a header.

use axum::{
    Extension, Json,
    http::StatusCode,
    response::{Html, IntoResponse},
};
use axum_extra::extract::CookieJar;
use serde::Serialize;
use tower_waiting_room::{respond::COMMAND_HEADER, room::Visit};

use crate::{
    goods::{CATALOGUE, Cart, Contents, Product, Refusal, Wish, emptied},
    pages::thanks,
};

/// `GET /api/products`: everything that is for sale.
pub(crate) async fn products() -> Json<&'static [Product]> {
    Json(&CATALOGUE)
}

/// `GET /api/cart`: what is in the cart.
pub(crate) async fn cart(jar: CookieJar) -> Json<Contents> {
    Json(Cart::of(&jar).contents())
}

/// `POST /api/cart`: puts `{"product": "<id>"}` into it.
pub(crate) async fn add_to_cart(
    jar: CookieJar,
    Json(wish): Json<Wish>,
) -> Result<(CookieJar, Json<Contents>), (StatusCode, &'static str)> {
    let mut cart = Cart::of(&jar);
    match cart.add(&wish.product) {
        Ok(()) => Ok((jar.add(cart.cookie()), Json(cart.contents()))),
        Err(Refusal::Full) => Err((StatusCode::CONFLICT, "the cart is full")),
        Err(Refusal::Unknown) => Err((StatusCode::NOT_FOUND, "there is no such product")),
    }
}

/// `POST /checkout`: for browsers. Ends the session by the [`Visit`].
///
/// There is none while the room is suspended.
pub(crate) async fn by_form(
    visit: Option<Extension<Visit>>,
    jar: CookieJar,
) -> (CookieJar, Html<String>) {
    if let Some(Extension(visit)) = visit {
        visit.end();
    }
    let page = thanks(&Cart::of(&jar));
    (emptied(jar), Html(page))
}

/// `POST /api/checkout`: for programs. Ends the session by a response header.
pub(crate) async fn by_api(jar: CookieJar) -> impl IntoResponse {
    let total_cents = Cart::of(&jar).total_cents();
    ([(COMMAND_HEADER, "revoke")], emptied(jar), Json(Receipt { total_cents }))
}

#[derive(Serialize)]
struct Receipt {
    total_cents: u32,
}
