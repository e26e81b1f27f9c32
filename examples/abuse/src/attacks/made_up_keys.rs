//! A client inside that makes up a new API key with each request, so that no limit by key ever
//! refuses it. Only the limit of its address does.

use anyhow::{Context, Result};
use http::{HeaderValue, header};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::time::Duration;

use crate::{
    hammer::hammer,
    site::{Site, attacker},
    strike::Strike,
};

pub(super) async fn strike(site: &Site) -> Result<Strike> {
    let mut inside = site.visitor(attacker(1));
    inside.enter(Duration::ZERO).await.context("the attacker gets a pass")?;
    let (jar, seed) = (inside.jar, site.seed);
    let tally = hammer(site, attacker(1), site.scale.length(), move |number| {
        let mut chance = Pcg64::seed_from_u64(seed ^ number);
        let mut request = jar.get("/");
        let key = format!("{:032x}", chance.random::<u128>());
        // A token that is made up, before the one that is sealed.
        let made_up: Vec<_> = jar.names().map(|name| format!("{name}={key}; ")).collect();
        let cookies = made_up.concat() + &jar.line();
        let headers = request.headers_mut();
        headers.insert("x-api-key", HeaderValue::try_from(key).expect("digits"));
        headers.insert(header::COOKIE, HeaderValue::try_from(cookies).expect("tokens are ASCII"));
        request
    });
    let tally = tally.await?;
    let (runs, most) =
        (site.runs(attacker(1)).await?, site.settings.limit("per_ip")?.most(tally.elapsed));
    Ok(Strike::new(
        tally.sent,
        format!("{runs} handler runs with {} keys", tally.sent),
        format!("{most} runs, by the limit of its address"),
    )
    .needs(runs, "request ran the handler")
    .at_most(most, runs, "handler runs"))
}
