//! A client with a valid pass sends a new API key and a made-up `X-Forwarded-For` address with each
//! request, so that no limit by key ever refuses it. Only the limit by its real address does. A
//! control client sends the same requests with one key.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::{Context, Result};
use http::{HeaderValue, header};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::{
    client::FORWARDED_FOR,
    hammer::{Tally, hammer},
    site::{Site, attacker},
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let seed = site.seed;
    let control = send(site, CONTROL, move |_| seed).await?;
    let tally = send(site, attacker(1), move |number| seed ^ number).await?;
    let runs = site.runs(attacker(1)).await?;
    let by_one = site.runs(CONTROL).await?;
    let of_address = site.settings.limit("per_ip")?.most(tally.elapsed);
    let of_key = site.settings.limit("per_key")?.most(control.elapsed);
    Ok(Strike::new(
        tally.sent,
        format!("{runs} handler runs with {} keys, and {by_one} with one", tally.sent),
        format!("{of_address} runs, by the limit of its address; {of_key} with one key"),
    )
    .asks_for_more_than(of_address)
    .needs(runs, "request ran the handler")
    .needs(by_one, "request with one key ran the handler")
    .at_most(of_address + ENTRY, runs, "handler runs")
    .at_most(of_key + ENTRY, by_one, "handler runs with one key"))
}

/// Sends requests with a valid pass, and with a key that is derived from the number of the request.
async fn send(
    site: &Site,
    from: Ipv4Addr,
    key: impl Fn(u64) -> u64 + Send + Sync + 'static,
) -> Result<Tally> {
    let mut inside = site.visitor(from);
    inside.enter(Duration::ZERO).await.context("getting a pass for the attacker")?;
    let jar = inside.jar;
    let make = move |number| {
        let mut chance = Pcg64::seed_from_u64(key(number));
        let key = format!("{:032x}", chance.random::<u128>());
        let made_up_address = Ipv4Addr::from_bits(chance.random());
        // Made-up tokens, before the sealed ones.
        let made_up: Vec<_> = jar.names().map(|name| format!("{name}={key}; ")).collect();
        let cookies = made_up.concat() + &jar.line();
        let mut request = jar.get("/");
        let headers = request.headers_mut();
        let line = HeaderValue::try_from(made_up_address.to_string());
        headers.insert(FORWARDED_FOR, line.expect("an address is ASCII"));
        headers.insert("x-api-key", HeaderValue::try_from(key).expect("digits"));
        headers.insert(header::COOKIE, HeaderValue::try_from(cookies).expect("tokens are ASCII"));
        request
    };
    hammer(site, from, site.scale.length() / 2, make).await
}

const CONTROL: Ipv4Addr = attacker(2);
/// The request by which a client got its pass. It carried no key.
const ENTRY: u64 = 1;
