//! The JSON API, and the checkout, which ends the session: its slot goes to the next visitor in the
//! line.
//!
//! The two handlers of the checkout show both ways to end a session. Code that knows the waiting
//! room uses the [`Visit`]. Code that does not, such as an application in another language behind a
//! proxy, sends a response header.

use axum::{
    Json,
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

/// `GET /api/products`: all products.
pub(crate) async fn products() -> Json<&'static [Product]> {
    Json(&CATALOGUE)
}

/// `GET /api/cart`: the contents of the cart.
pub(crate) async fn cart(jar: CookieJar) -> Json<Contents> {
    Json(Cart::of(&jar).contents())
}

/// `POST /api/cart`: adds the product of `{"product": "<id>"}` to the cart.
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

/// `POST /checkout`: for browsers. Ends the session through the [`Visit`].
///
/// The `Visit` is missing while the room is suspended.
pub(crate) async fn by_form(visit: Option<Visit>, jar: CookieJar) -> (CookieJar, Html<String>) {
    if let Some(visit) = visit {
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
