//! The requests of a measurement, and their figures.

use http::StatusCode;

use super::{
    rooms::{DATA, HTML, JSON, PAGE},
    server::Address,
};
use crate::limits::{REFUSING, Refusing};

/// One kind of request.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) port: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) status: StatusCode,
    /// The least ratio of its requests per second to those of the floor, if it has a bar.
    pub(super) bar: Option<f64>,
}

impl Target {
    fn new(name: &'static str, port: u16, status: StatusCode) -> Self {
        Self { name, port, headers: Vec::new(), status, bar: None }
    }

    fn accept(self, types: &str) -> Self {
        self.header("accept", types.to_owned())
    }

    fn token(self, token: &str) -> Self {
        self.header("cookie", format!("__Host-wr-shop={token}"))
    }

    fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets the least ratio of the CPU times per request, that of the floor to this one.
    fn bar(mut self, ratio: f64) -> Self {
        self.bar = Some(ratio);
        self
    }
}

/// The figures of one target under load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) requests: f64,
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Requests that are refused: by a bare layer, which is the floor, by ours, and by others.
pub(super) fn refusals(address: &Address) -> Vec<Target> {
    let target = |(refusing, port): (&Refusing, &u16)| {
        let target = Target::new(refusing.name, *port, StatusCode::TOO_MANY_REQUESTS);
        if refusing.name.starts_with("ours") { target.bar(0.9) } else { target }
    };
    REFUSING.iter().zip(&address.refusing).map(target).collect()
}

/// Requests of waiting visitors, after the floor.
pub(super) fn targets(address: &Address) -> Vec<Target> {
    let Address { hello, json, html, room, still, guarded, pass, early, due, .. } = address;
    let ok = StatusCode::OK;
    vec![
        Target::new("hello-world (the floor)", *hello, ok),
        Target::new("hello-world, asked with a ticket", *hello, ok).accept(JSON).token(early),
        Target::new("hello-world behind the room, valid pass", *room, ok).accept(JSON).token(pass),
        Target::new("… behind a limit and a gate, too", *guarded, ok)
            .accept(JSON)
            .token(&address.guarded_pass)
            .bar(0.9),
        Target::new("JSON, ready-made", *json, DATA).accept(JSON).token(early),
        Target::new("JSON, early ticket", *room, DATA).accept(JSON).token(early).bar(0.85),
        Target::new("JSON, first touch", *room, DATA).accept(JSON).bar(0.85),
        Target::new("JSON, check-in", *still, DATA).accept(JSON).token(due).bar(0.85),
        Target::new("HTML, ready-made", *html, PAGE).accept(HTML).token(early),
        Target::new("HTML, early ticket", *room, PAGE).accept(HTML).token(early),
        Target::new("HTML, first touch", *room, PAGE).accept(HTML),
    ]
}
