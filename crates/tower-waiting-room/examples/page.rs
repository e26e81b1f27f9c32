//! A waiting page and an API answer of your own.
//!
//! The page is a Jinja template. Its variable `message` contains the sentences of the default page
//! in the visitor's language. The page reloads itself by the `Refresh` header of the response.

use std::{error::Error, net::SocketAddr};

use axum::{Router, http::Response, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, respond::Page};

const PAGE: &str = r#"<!doctype html>
<html lang="{{ lang }}">
<meta charset="utf-8">
<title>{{ message.title }}</title>
<h1>{{ title }}: {{ message.headline }}</h1>
<p>{{ message.position or "" }} {{ message.wait or "" }}</p>
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = WaitingRoomConfig::builder("tickets")
        .total_active_users(1)
        .page(Page::template(PAGE)?.title("Midsummer Festival"))
        .waiting(|answer, _request| {
            let retry = answer.retry_after()?.as_secs();
            let response = Response::builder().status(answer.status);
            let response = response.header("content-type", "application/json");
            response.body(format!(r#"{{"queue":{{"retry":{retry}}}}}"#)).ok()
        })
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "Two tickets are left." }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
