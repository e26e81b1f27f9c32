//! The catalogue, and a visitor's cart, which is kept in a cookie.
//!
//! The cookie holds only ids of products, so it needs no seal: a visitor who changes it gets a cart
//! that could also have been filled by hand.

use axum::{Form, response::Redirect};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use serde::{Deserialize, Serialize};

/// The products in a cart, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Cart(Vec<&'static Product>);

/// A request to add a product to the cart.
#[derive(Debug, Deserialize)]
pub(crate) struct Wish {
    pub(crate) product: String,
}

/// The contents of a cart, as the API returns them.
#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    items: Vec<&'static Product>,
    total_cents: u32,
}

/// The reason why a product cannot be added to the cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The cart is full.
    Full,
    /// There is no such product.
    Unknown,
}

impl Cart {
    /// The maximum number of items in a cart. It keeps the cookie far below the size limit of
    /// browsers.
    pub(crate) const MAX_ITEMS: usize = 20;

    /// Reads the cart from the cookies of a request. Unknown products are ignored.
    pub(crate) fn of(jar: &CookieJar) -> Self {
        let ids = jar.get(COOKIE).map(Cookie::value).unwrap_or_default();
        Self(ids.split('.').filter_map(Product::find).take(Self::MAX_ITEMS).collect())
    }

    /// Adds a product to the cart.
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

    /// The cookie that holds the cart. It is not `Secure`, since the shop also runs on plain HTTP.
    pub(crate) fn cookie(&self) -> Cookie<'static> {
        let ids: Vec<_> = self.0.iter().map(|product| product.id).collect();
        Cookie::build((COOKIE, ids.join(".")))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .build()
    }

    /// The contents, for the API.
    pub(crate) fn contents(self) -> Contents {
        Contents { total_cents: self.total_cents(), items: self.0 }
    }
}

/// `POST /cart`: adds a product. A product that cannot be added is ignored; the page shows the
/// cart.
pub(crate) async fn add_by_form(jar: CookieJar, Form(wish): Form<Wish>) -> (CookieJar, Redirect) {
    let mut cart = Cart::of(&jar);
    let jar = match cart.add(&wish.product) {
        Ok(()) => jar.add(cart.cookie()),
        Err(_) => jar,
    };
    (jar, Redirect::to("/"))
}

/// Removes the cookie of the cart.
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

/// Formats an amount.
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
