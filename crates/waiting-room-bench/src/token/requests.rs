//! Requests that differ in their tokens, to a service that is always ready.
//!
//! The functions that open and seal are private to the layer. What they take is the difference of
//! two requests: of one with three tickets and a pass, of which each is opened, and one with the
//! pass alone.

use http::Request;
use tower::{Layer, ServiceExt};
use tower_waiting_room::{KeyRing, WaitingRoomLayer};

use crate::{
    case::{Case, Group, Repeat},
    setting::{Ready, Template, config, drive, key, runtime, token},
};

/// The requests, in the order of the constants of the table.
pub(crate) const TOKENS: Group = Group::new(
    "tokens",
    &[
        Case { name: "a pass", set_up: || with_tickets(0) },
        Case { name: "three tickets and a pass", set_up: || with_tickets(TICKETS) },
        Case { name: "a pass of an old key", set_up: of_an_old_key },
    ],
);

/// So many tickets stand before the pass: with it, as many tokens as the layer looks at.
pub(super) const TICKETS: usize = 3;

fn with_tickets(count: usize) -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let tokens: Vec<String> = runtime().block_on(async {
        let pass = token(&layer).await;
        let mut tokens = Vec::new();
        for _ in 0..count {
            tokens.push(token(&layer).await);
        }
        tokens.push(pass);
        tokens
    });
    drive(layer.layer(Ready), template(&tokens), || ())
}

/// The pass has been renewed by an earlier request, so each gets the renewed one, newly sealed.
fn of_an_old_key() -> Repeat {
    let (old, new) = (KeyRing::new(key(2)), KeyRing::new(key(3)).also_opens(key(2)));
    let layer =
        |keys| WaitingRoomLayer::new(config().keys(keys).build().expect("the config is right"));
    let (earlier, layer) = (layer(old), layer(new));
    let template = template(&[runtime().block_on(token(&earlier))]);
    let first: Request<()> = template.request(());
    let Ok(_) = runtime().block_on(layer.layer(Ready).oneshot(first));
    drive(layer.layer(Ready), template, || ())
}

fn template(tokens: &[String]) -> Template {
    let cookies: Vec<String> =
        tokens.iter().map(|token| format!("__Host-wr-shop={token}")).collect();
    Template::new(cookies.iter().map(String::as_str))
}
