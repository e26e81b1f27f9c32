//! What is asked.

use http::StatusCode;

use super::{
    alone::{DATA, HTML, JSON, PAGE},
    house::Address,
};

/// One kind of request.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) port: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) status: StatusCode,
    /// How many of the bare application's requests a second are enough.
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

    /// For the answers that the bar is about.
    fn bar(mut self) -> Self {
        self.bar = Some(0.8);
        self
    }
}

/// All of them; the floor first.
pub(super) fn targets(address: &Address) -> Vec<Target> {
    let Address { hello, json, html, room, still, pass, early, due } = address;
    let ok = StatusCode::OK;
    vec![
        Target::new("hello-world (the floor)", *hello, ok),
        Target::new("hello-world, asked with a ticket", *hello, ok).accept(JSON).token(early),
        Target::new("hello-world behind the room, valid pass", *room, ok).accept(JSON).token(pass),
        Target::new("JSON, ready-made", *json, DATA).accept(JSON).token(early),
        Target::new("JSON, early ticket", *room, DATA).accept(JSON).token(early).bar(),
        Target::new("JSON, first touch", *room, DATA).accept(JSON).bar(),
        Target::new("JSON, check-in", *still, DATA).accept(JSON).token(due).bar(),
        Target::new("HTML, ready-made", *html, PAGE).accept(HTML).token(early),
        Target::new("HTML, early ticket", *room, PAGE).accept(HTML).token(early),
        Target::new("HTML, first touch", *room, PAGE).accept(HTML),
    ]
}
