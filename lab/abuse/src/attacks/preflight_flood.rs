//! Sends CORS preflights from one address, each as soon as the last one is answered. Preflights
//! bypass the room, but no limit: they are charged like the requests of a client with a pass, which
//! is measured as a control.
//!
//! The service answers every OPTIONS request itself, as behind a proxy or with axum's `any`.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::Empty;

use crate::{
    hammer::hammer,
    site::{Site, attacker},
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let half = site.scale.length() / 2;
    let mut inside = site.visitor(CONTROL);
    inside.enter(Duration::ZERO).await.context("getting a pass for the control")?;
    let jar = inside.jar;
    let beside = hammer(site, CONTROL, half, move |_| jar.get("/work")).await?;
    let tally = hammer(site, attacker(1), half, preflight).await?;
    let runs = site.runs(attacker(1)).await?;
    let control = site.runs(CONTROL).await?;
    let limit = site.settings.limit("per_ip")?;
    let most = limit.most(tally.elapsed);
    let most_beside = limit.most(beside.elapsed) + ENTRY;
    Ok(Strike::new(
        tally.sent,
        format!("{runs} handler runs, and {control} by GET with a pass"),
        format!("{most} runs, by the limit of its address"),
    )
    .asks_for_more_than(most)
    .needs(runs, "preflight ran the handler")
    .needs(control, "request with a pass ran the handler")
    .at_most(most, runs, "handler runs")
    .at_most(most_beside, control, "handler runs by GET with a pass"))
}

/// A preflight for one of the paths of the service, as a browser sends it.
fn preflight(number: u64) -> Request<Empty<Bytes>> {
    let path = match number % 3 {
        0 => "/",
        1 => "/work",
        _ => "/login",
    };
    Request::builder()
        .method(Method::OPTIONS)
        .uri(path)
        .header(header::HOST, "shop.test")
        .header(header::ORIGIN, "https://elsewhere.test")
        .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
        .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "x-api-key")
        .body(Empty::new())
        .expect("constants make a request")
}

const CONTROL: Ipv4Addr = attacker(2);
/// The request by which the control client got its pass.
const ENTRY: u64 = 1;
