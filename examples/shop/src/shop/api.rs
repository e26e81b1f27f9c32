//! The JSON API.

use axum::{Json, http::StatusCode};
use axum_extra::extract::CookieJar;

use super::{
    cart::{Cart, Contents, Refusal, Wish},
    catalogue::{CATALOGUE, Product},
};

/// `GET /api/products`: everything that is for sale.
pub(super) async fn products() -> Json<&'static [Product]> {
    Json(&CATALOGUE)
}

/// `GET /api/cart`: what is in the cart.
pub(super) async fn cart(jar: CookieJar) -> Json<Contents> {
    Json(Cart::of(&jar).contents())
}

/// `POST /api/cart`: puts `{"product": "<id>"}` into it.
pub(super) async fn add_to_cart(
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
