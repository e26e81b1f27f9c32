//! Shows a page of another site, with pictures, frames and calls of the shop, to many readers.
//! Their browsers send no cookies with these requests, and keep none. The readers who follow the
//! page's link are visitors, and enter at once.

use std::net::Ipv4Addr;

use anyhow::Result;
use http::HeaderValue;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    client::{Answer, Client},
    hammer::Tally,
    site::{SHOP, Site, person},
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let start = Instant::now();
    let inside = site.room(SHOP).await?.active;
    let mut readers = JoinSet::new();
    for first in 0..site.scale.connections() {
        let connections = site.scale.connections();
        let length = site.scale.length();
        let to = site.address();
        readers.spawn(async move {
            let mut tally = Tally::default();
            let mut number = first;
            while start.elapsed() < length {
                let from = Ipv4Addr::from_bits(READERS.to_bits() + number);
                tally.add(read(Client::new(from, to)).await);
                number += connections;
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(one) = readers.join_next().await {
        tally.add(one?);
    }
    let taken = u64::from(site.room(SHOP).await?.active - inside);
    let mut let_in = 0;
    for number in 0..VISITORS {
        let mut client = Client::new(person(101 + number), site.address());
        let answer = ask(&mut client, LINK).await;
        let_in += u64::from(answer.is_ok_and(|answer| answer.is_served()));
    }
    Ok(Strike::new(
        tally.sent,
        format!("{taken} slots; {let_in} of {VISITORS} visitors let in at once"),
        format!("0 slots; {VISITORS} visitors let in"),
    )
    .asks_for_more_than(u64::from(site.settings.total_active_users))
    .at_most(0, taken, "slots")
    .at_most(0, u64::from(VISITORS) - let_in, "visitors who had to wait"))
}

/// Requests each part of the page once, from one reader.
async fn read(mut client: Client) -> Tally {
    let mut tally = Tally::default();
    for part in PARTS {
        tally.note(ask(&mut client, part).await.as_ref().ok());
    }
    tally
}

/// Sends a request of a newcomer's browser from a page of another site.
async fn ask(client: &mut Client, [mode, dest]: [&'static str; 2]) -> Result<Answer> {
    let mut request = Jar::default().get("/");
    let fields =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
    for (name, value) in fields {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    client.send(request).await
}

const LINK: [&str; 2] = ["navigate", "document"];
const PARTS: [[&str; 2]; 5] = [
    ["no-cors", "image"],
    ["no-cors", "style"],
    ["navigate", "iframe"],
    ["cors", "empty"],
    ["no-cors", "empty"],
];
const READERS: Ipv4Addr = Ipv4Addr::new(127, 64, 0, 0);
const VISITORS: u8 = 20;
