//! The catalogue, and a visitor's cart, kept in a cookie of its own.
//!
//! The cookie holds ids of products and nothing else, so it needs no seal: whoever changes it changes a
//! cart that they could as well have filled.

use axum::{Form, response::Redirect};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use serde::{Deserialize, Serialize};

/// The products in a cart, in the order in which they were put there.
#[derive(Debug, Default)]
pub(crate) struct Cart(Vec<&'static Product>);

/// A wish to put something into the cart.
#[derive(Debug, Deserialize)]
pub(crate) struct Wish {
    pub(crate) product: String,
}

/// A cart as the API tells it.
#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    items: Vec<&'static Product>,
    total_cents: u32,
}

/// Why something cannot be put into the cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The cart holds as much as it can.
    Full,
    /// There is no such product.
    Unknown,
}

impl Cart {
    /// The most items in a cart: its cookie stays far below what browsers keep.
    pub(crate) const MAX_ITEMS: usize = 20;

    /// The cart of the visitor who sent these cookies. What is not for sale is not in it.
    pub(crate) fn of(jar: &CookieJar) -> Self {
        let ids = jar.get(COOKIE).map(Cookie::value).unwrap_or_default();
        Self(ids.split('.').filter_map(Product::find).take(Self::MAX_ITEMS).collect())
    }

    /// Puts one more product into it.
    pub(crate) fn add(&mut self, id: &str) -> Result<(), Refusal> {
        let product = Product::find(id).ok_or(Refusal::Unknown)?;
        if self.0.len() >= Self::MAX_ITEMS {
            return Err(Refusal::Full);
        }
        self.0.push(product);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn total_cents(&self) -> u32 {
        self.0.iter().map(|product| product.price_cents).sum()
    }

    /// The cookie that keeps it. Not `Secure`, since the shop also runs on plain HTTP.
    pub(crate) fn cookie(&self) -> Cookie<'static> {
        let ids: Vec<_> = self.0.iter().map(|product| product.id).collect();
        Cookie::build((COOKIE, ids.join(".")))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .build()
    }

    /// The same for the API.
    pub(crate) fn contents(self) -> Contents {
        Contents { total_cents: self.total_cents(), items: self.0 }
    }
}

/// `POST /cart`: the button of a product. What cannot be added is not; the page shows the cart.
pub(crate) async fn add_by_form(jar: CookieJar, Form(wish): Form<Wish>) -> (CookieJar, Redirect) {
    let mut cart = Cart::of(&jar);
    let jar = match cart.add(&wish.product) {
        Ok(()) => jar.add(cart.cookie()),
        Err(_) => jar,
    };
    (jar, Redirect::to("/"))
}

/// Forgets the cart.
pub(crate) fn emptied(jar: CookieJar) -> CookieJar {
    jar.remove(Cookie::build((COOKIE, "")).path("/").build())
}

const COOKIE: &str = "cart";

/// One product.
#[derive(Debug, Serialize)]
pub(crate) struct Product {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) picture: &'static str,
    pub(crate) text: &'static str,
    pub(crate) price_cents: u32,
}

impl Product {
    /// The product with this id.
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        CATALOGUE.iter().find(|product| product.id == id)
    }
}

/// An amount as it is shown.
pub(crate) fn price(cents: u32) -> String {
    format!("€ {}.{:02}", cents / 100, cents % 100)
}

/// All products.
pub(crate) const CATALOGUE: [Product; 4] = [
    Product {
        id: "kettle",
        name: "Slow kettle",
        picture: "🫖",
        text: "Boils when it is ready. Whistles two notes, a minor third apart.",
        price_cents: 6_900,
    },
    Product {
        id: "lamp",
        name: "Reading lamp",
        picture: "💡",
        text: "Warm light, and an arm that stays where it is put.",
        price_cents: 8_450,
    },
    Product {
        id: "chair",
        name: "Waiting chair",
        picture: "🪑",
        text: "Ash and wool. The most comfortable way to stand in line.",
        price_cents: 24_900,
    },
    Product {
        id: "radio",
        name: "Kitchen radio",
        picture: "📻",
        text: "One knob for the volume, one for the station, and that is all.",
        price_cents: 5_200,
    },
];
