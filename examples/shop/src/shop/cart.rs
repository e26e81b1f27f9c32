//! What a visitor is about to buy, kept in a cookie of its own.
//!
//! The cookie holds ids of products and nothing else, so it needs no seal: whoever changes it
//! changes a cart that they could as well have filled.

use axum::{Form, response::Redirect};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use serde::{Deserialize, Serialize};

use super::catalogue::Product;

/// The products in a cart, in the order in which they were put there.
#[derive(Debug, Default)]
pub(super) struct Cart(Vec<&'static Product>);

/// A wish to put something into the cart.
#[derive(Debug, Deserialize)]
pub(super) struct Wish {
    pub(super) product: String,
}

/// A cart as the API tells it.
#[derive(Debug, Serialize)]
pub(super) struct Contents {
    items: Vec<&'static Product>,
    total_cents: u32,
}

/// Why something cannot be put into the cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The cart holds as much as it can.
    Full,
    /// There is no such product.
    Unknown,
}

impl Cart {
    /// The most items in a cart: its cookie stays far below what browsers keep.
    pub(super) const MAX_ITEMS: usize = 20;

    /// The cart of the visitor who sent these cookies. What is not for sale is not in it.
    pub(super) fn of(jar: &CookieJar) -> Self {
        let ids = jar.get(COOKIE).map(Cookie::value).unwrap_or_default();
        Self(ids.split('.').filter_map(Product::find).take(Self::MAX_ITEMS).collect())
    }

    /// Puts one more product into it.
    pub(super) fn add(&mut self, id: &str) -> Result<(), Refusal> {
        let product = Product::find(id).ok_or(Refusal::Unknown)?;
        if self.0.len() >= Self::MAX_ITEMS {
            return Err(Refusal::Full);
        }
        self.0.push(product);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn total_cents(&self) -> u32 {
        self.0.iter().map(|product| product.price_cents).sum()
    }

    /// The cookie that keeps it. Not `Secure`, since the shop also runs on plain HTTP.
    pub(super) fn cookie(&self) -> Cookie<'static> {
        let ids: Vec<_> = self.0.iter().map(|product| product.id).collect();
        Cookie::build((COOKIE, ids.join(".")))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .build()
    }

    /// The same for the API.
    pub(super) fn contents(self) -> Contents {
        Contents { total_cents: self.total_cents(), items: self.0 }
    }
}

/// `POST /cart`: the button of a product. What cannot be added is not; the page shows the cart.
pub(super) async fn add_by_form(jar: CookieJar, Form(wish): Form<Wish>) -> (CookieJar, Redirect) {
    let mut cart = Cart::of(&jar);
    let jar = match cart.add(&wish.product) {
        Ok(()) => jar.add(cart.cookie()),
        Err(_) => jar,
    };
    (jar, Redirect::to("/"))
}

/// Forgets the cart.
pub(super) fn emptied(jar: CookieJar) -> CookieJar {
    jar.remove(Cookie::build((COOKIE, "")).path("/").build())
}

const COOKIE: &str = "cart";
