//! CORS preflights from one address. They skip the room, and no limit.

use anyhow::Result;
use http::{Method, Request, header};
use http_body_util::Empty;

use crate::{
    hammer::hammer,
    site::{Site, attacker},
    strike::Strike,
};

pub(super) async fn strike(site: &Site) -> Result<Strike> {
    let tally = hammer(site, attacker(1), site.scale.length(), |_| {
        Request::builder()
            .method(Method::OPTIONS)
            .uri("/work")
            .header(header::HOST, "shop.test")
            .header(header::ORIGIN, "https://elsewhere.test")
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .body(Empty::new())
            .expect("constants make a request")
    });
    let tally = tally.await?;
    let (runs, most) =
        (site.runs(attacker(1)).await?, site.settings.limit("per_ip")?.most(tally.elapsed));
    Ok(Strike::new(
        tally.sent,
        format!("{runs} handler runs"),
        format!("{most} runs, by the limit of its address"),
    )
    .needs(runs, "preflight ran the handler")
    .at_most(most, runs, "handler runs"))
}
