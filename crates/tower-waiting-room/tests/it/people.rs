//! What some visitors are granted: head starts, crawlers, and sessions that have lapsed.

mod crawlers;
mod grace;
mod priority;

use http::{Request, request::Builder};

use crate::support::{House, Seen, Visitor};

/// A program's request of this class, which stands for what the application has verified.
fn of(class: &str) -> Builder {
    Request::get("/").header("accept", "application/json").header("x-class", class)
}

/// A client without a token gets a ticket, and a place with it. Returns the client and the position.
async fn queued(house: &House, class: &str) -> (Visitor, u64) {
    let mut client = Visitor::default();
    let first = client.send(house, of(class)).await;
    house.advance(first.header("retry-after").unwrap().parse().unwrap());
    let seen = client.send(house, of(class)).await;
    (client, position(&seen))
}

#[track_caller]
fn position(seen: &Seen) -> u64 {
    let position = seen.json()["waitingRoom"]["position"].as_u64();
    position.unwrap_or_else(|| panic!("{} {}", seen.reason, seen.body))
}

/// Waits for the longest check-in interval, and returns what the visitor then sees.
async fn again(client: &mut Visitor, house: &House, class: &str) -> Seen {
    house.advance(27);
    client.send(house, of(class)).await
}
