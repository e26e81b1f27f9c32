//! The pages of the shop, its router, and the layers in front of it.
//!
//! The checkout ends the session: its slot goes to the next visitor in the line. Its two handlers show
//! both ways to end a session. Code that knows the waiting room uses the [`Visit`]. Code that does not,
//! such as an application in another language behind a proxy, sends a response header.

#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{Path, Request},
    http::StatusCode,
    middleware::{Next, from_fn},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use serde::Serialize;
use tokio::time::sleep;
use tower::ServiceBuilder;
use tower_http::{compression::CompressionLayer, trace::TraceLayer};
use tower_waiting_room::{
    WaitingRoomLayer,
    respond::{COMMAND_HEADER, reason_of},
    room::Visit,
};
use tracing::Span;

/// The shop behind its waiting room.
///
/// Tracing is the outermost layer, so that it also sees waiting visitors. The room comes before
/// compression: its answers are small, and visitors who wait must not cost CPU time for
/// compression.
pub fn app(room: WaitingRoomLayer) -> Router {
    app_that_works(room, Duration::ZERO)
}

/// The shop behind its waiting room, with pages that take the time `work` to make.
pub fn app_that_works(room: WaitingRoomLayer, work: Duration) -> Router {
    let worked = move |request: Request, next: Next| async move {
        if !work.is_zero() {
            sleep(work).await;
        }
        next.run(request).await
    };
    let layers = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http().on_response(log).on_failure(()))
        .layer(room)
        .layer(CompressionLayer::new());
    Router::new()
        .route("/", get(home))
        .route("/products/{id}", get(product))
        .route("/again", post(wait_again))
        .route("/checkout", post(check_out))
        .route("/api/products", get(products))
        .route("/api/checkout", post(check_out_by_api))
        .layer(from_fn(worked))
        .route("/healthz", get(async || "fine\n"))
        .layer(layers)
}

/// Logs every response at the same level, with its reason. The 503 that a waiting visitor gets is
/// not a failure.
fn log<B>(response: &Response<B>, latency: Duration, _: &Span) {
    let status = response.status().as_u16();
    let reason = reason_of(response);
    tracing::info!(status, reason = reason.map(tracing::field::display), ?latency, "answered");
}

/// `GET /`: all products, and the way back to the waiting room.
async fn home() -> Html<String> {
    let cards: String = CATALOGUE.iter().map(card).collect();
    Html(page("Slow Goods", &format!("{INSIDE}<ul>{cards}</ul>")))
}

/// `GET /products/{id}`: one product.
async fn product(Path(id): Path<String>) -> Result<Html<String>, (StatusCode, &'static str)> {
    let product = CATALOGUE.iter().find(|product| product.id == id);
    let product = product.ok_or((StatusCode::NOT_FOUND, "There is no such product.\n"))?;
    Ok(Html(page(product.name, &format!("<ul class=\"one\">{}</ul>", card(product)))))
}

/// `GET /api/products`: all products.
async fn products() -> Json<&'static [Product]> {
    Json(&CATALOGUE)
}

/// `POST /again`: ends the session, so that the visitor joins the line like any newcomer.
async fn wait_again(visit: Option<Visit>) -> Redirect {
    end(visit);
    Redirect::to("/")
}

/// `POST /checkout`: for browsers. Ends the session through the [`Visit`].
async fn check_out(visit: Option<Visit>) -> Html<String> {
    end(visit);
    Html(page("Thank you", THANKS))
}

/// `POST /api/checkout`: for programs. Ends the session by a response header.
async fn check_out_by_api() -> impl IntoResponse {
    [(COMMAND_HEADER, "revoke")]
}

/// Ends the session. The `Visit` is missing while the room is suspended.
fn end(visit: Option<Visit>) {
    if let Some(visit) = visit {
        visit.end();
    }
}

fn card(Product { id, name, picture, text, price }: &Product) -> String {
    format!(
        "<li><a href=\"/products/{id}\"><span aria-hidden=\"true\">{picture}</span>\
         <h2>{name}</h2></a><p>{text}</p><form method=\"post\" action=\"/checkout\">\
         <b>€ {price}</b><button class=\"go\">Buy</button></form></li>",
    )
}

fn page(title: &str, body: &str) -> String {
    FRAME.replace("{title}", title).replace("{body}", body)
}

const FRAME: &str = include_str!("frame.html");

const INSIDE: &str = "<form class=\"inside\" method=\"post\" action=\"/again\"><p>You are inside: the \
                      waiting room has let you in.</p><button>Leave, and wait in line again</button>\
                      </form>";

const THANKS: &str = "<p class=\"soft\">Your visit is over, and your place in the shop is free for \
                      the next in line.</p><p><a href=\"/\">Come again</a></p>";

/// One product. Its price is in euros.
#[derive(Debug, Serialize)]
struct Product {
    id: &'static str,
    name: &'static str,
    picture: &'static str,
    price: u32,
    text: &'static str,
}

const fn goods(
    id: &'static str,
    name: &'static str,
    picture: &'static str,
    price: u32,
    text: &'static str,
) -> Product {
    Product { id, name, picture, price, text }
}

/// All products.
const CATALOGUE: [Product; 4] = [
    goods("kettle", "Slow kettle", "🫖", 69, "Boils when it is ready, and whistles two notes."),
    goods("lamp", "Reading lamp", "💡", 84, "Warm light, and an arm that stays where it is put."),
    goods("chair", "Waiting chair", "🪑", 249, "The most comfortable way to stand in line."),
    goods("radio", "Kitchen radio", "📻", 52, "One knob for the volume, one for the station."),
];
