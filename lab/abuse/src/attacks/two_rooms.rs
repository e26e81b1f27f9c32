//! A client without a cookie jar passes through two rooms, one inside the other. It sends all its
//! tokens by header: in one line, in a line each, and in the reverse order.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use http_body_util::Empty;
use tokio::time::{Instant, sleep};
use tower_waiting_room::token::TOKEN_HEADER;

use crate::{
    client::{Answer, Client, get},
    hammer::Tally,
    people::PEOPLE,
    site::{Site, attacker},
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let mut client = Client::new(attacker(1), site.address());
    let mut tokens = Tokens::default();
    let mut tally = Tally::default();
    let start = Instant::now();
    while start.elapsed() < site.scale.length() {
        let mut request = get("/");
        for line in tokens.lines(tally.sent) {
            request = request.header(TOKEN_HEADER, line);
        }
        let answer = client.send(request.body(Empty::new())?).await;
        tally.note(answer.as_ref().ok());
        if let Ok(answer) = &answer {
            tokens.keep(answer);
        }
        sleep(PAUSE).await;
    }
    let rooms = site.numbers().await?.rooms;
    let people = u32::try_from(PEOPLE)?;
    let slots = |name: &str| rooms.get(name).map_or(0, |room| room.active.saturating_sub(people));
    let shop = slots("shop");
    let checkout = slots("checkout");
    Ok(Strike::new(
        tally.sent,
        format!("{} requests served, slots: {shop} and {checkout}", tally.served),
        "1 slot in each room",
    )
    .needs(tally.served, "request was served")
    .needs(u64::from(shop.min(checkout)), "slot was taken in one of the rooms")
    .at_most(1, u64::from(shop), "slots in the outer room")
    .at_most(1, u64::from(checkout), "slots in the inner room"))
}

/// The latest token line of each room.
#[derive(Debug, Default)]
struct Tokens(BTreeMap<String, String>);

impl Tokens {
    fn keep(&mut self, answer: &Answer) {
        for line in answer.headers.get_all(TOKEN_HEADER) {
            let line = line.to_str().unwrap_or_default();
            if let Some((room, _)) = line.split_once('=') {
                self.0.insert(room.to_owned(), line.to_owned());
            }
        }
    }

    /// The token lines in one of three forms, chosen by `number`. A single empty line at first,
    /// which requests a token.
    fn lines(&self, number: u64) -> Vec<String> {
        let all: Vec<_> = self.0.values().cloned().collect();
        match number % 3 {
            0 => vec![all.join(", ")],
            1 => all,
            _ => all.into_iter().rev().collect(),
        }
    }
}

/// The time between two requests: an attack of 10 s stays within the limit by address.
const PAUSE: Duration = Duration::from_millis(80);
