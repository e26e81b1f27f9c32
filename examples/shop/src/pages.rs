//! The HTML pages.
//!
//! All values that are inserted come from the catalogue, so nothing needs to be escaped.

use std::fmt::Write;

use axum::{extract::Path, http::StatusCode, response::Html};
use axum_extra::extract::CookieJar;

use crate::goods::{CATALOGUE, Cart, Product, price};

/// `GET /`: all products, and the cart.
pub(crate) async fn home(jar: CookieJar) -> Html<String> {
    let cards: String = CATALOGUE.iter().map(card).collect();
    Html(page("Slow Goods", &format!("<ul>{cards}</ul>{}", summary(&Cart::of(&jar)))))
}

/// `GET /products/{id}`: one product.
pub(crate) async fn product(
    jar: CookieJar,
    Path(id): Path<String>,
) -> Result<Html<String>, (StatusCode, &'static str)> {
    let product =
        Product::find(&id).ok_or((StatusCode::NOT_FOUND, "There is no such product.\n"))?;
    let body = format!("<ul class=\"one\">{}</ul>{}", card(product), summary(&Cart::of(&jar)));
    Ok(Html(page(product.name, &body)))
}

/// The page after the checkout.
pub(crate) fn thanks(cart: &Cart) -> String {
    let body = match cart.len() {
        0 => "<p>You bought nothing, and that took no time at all.</p>".to_owned(),
        _ => format!("<p>That was {}.</p>", price(cart.total_cents())),
    };
    let note = "<p class=\"soft\">Your visit is over, and your place in the shop is free for the \
                next in line.</p><p><a href=\"/\">Come again</a></p>";
    page("Thank you", &format!("{body}{note}"))
}

fn card(product: &Product) -> String {
    let Product { id, name, picture, text, price_cents } = product;
    format!(
        "<li><a href=\"/products/{id}\"><span aria-hidden=\"true\">{picture}</span>\
         <h2>{name}</h2></a><p>{text}</p><form method=\"post\" action=\"/cart\">\
         <b>{}</b><button name=\"product\" value=\"{id}\">Add to cart</button></form></li>",
        price(*price_cents),
    )
}

fn summary(cart: &Cart) -> String {
    let mut summary = String::from("<section aria-label=\"Cart\">");
    let written = match cart.len() {
        0 => write!(summary, "<p class=\"soft\">Your cart is empty.</p>"),
        items => write!(
            summary,
            "<p>{items} in your cart, {}.</p><form method=\"post\" action=\"/checkout\">\
             <button class=\"go\">Check out</button></form>",
            price(cart.total_cents()),
        ),
    };
    written.expect("a string takes whatever is written to it");
    summary.push_str("</section>");
    summary
}

fn page(title: &str, body: &str) -> String {
    FRAME.replace("{title}", title).replace("{body}", body)
}

const FRAME: &str = include_str!("frame.html");
