//! Requests that are sent repeatedly without a network, with their expected status.

use std::{
    fmt::Debug,
    hint::black_box,
    net::{IpAddr, SocketAddr},
};

use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header,
};
use tokio::runtime::{Builder, Runtime};
use tower::{Service, ServiceExt};

use crate::{browsers::Preferences, case::Repeat};

/// Other cookies that a visitor of a shop may have: two before ours, and one after it.
const OTHER_COOKIES: [&str; 3] = [
    "session=0b9d7f2c-54e1-4d6a-9f0e-6c1a2b3d4e5f",
    "_ga=GA1.2.1937467128.1700000000",
    "theme=dark",
];

/// Requests of browsers that take turns, as a template for clones.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    uri: Uri,
    turns: Vec<Turn>,
    status: StatusCode,
}

/// The request of one turn.
#[derive(Clone, Debug)]
struct Turn {
    headers: HeaderMap,
    extensions: Extensions,
}

impl Turn {
    /// Creates a request with these cookies among others.
    fn new<'a>(cookies: impl IntoIterator<Item = &'a str>) -> Self {
        let [first, second, last] = OTHER_COOKIES;
        let cookies: Vec<&str> = [first, second].into_iter().chain(cookies).chain([last]).collect();
        let mut headers = HeaderMap::new();
        for (name, value) in BROWSER {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let cookies = cookies.join("; ");
        headers.insert(
            header::COOKIE,
            HeaderValue::try_from(cookies).expect("cookies are visible ASCII"),
        );
        Self { headers, extensions: Extensions::new() }
    }
}

impl Template {
    /// Creates a request with these cookies among others.
    pub(crate) fn new<'a>(cookies: impl IntoIterator<Item = &'a str>) -> Self {
        Self { uri: Uri::from_static("/"), turns: vec![Turn::new(cookies)], status: StatusCode::OK }
    }

    /// Creates the requests of visitors, each with a cookie and an address, which take turns.
    pub(crate) fn of_visitors<'a>(visitors: impl IntoIterator<Item = (&'a str, Peer)>) -> Self {
        let of_visitor = |(cookie, peer)| {
            let mut turn = Turn::new([cookie]);
            turn.extensions.insert(peer);
            turn
        };
        let turns = visitors.into_iter().map(of_visitor).collect();
        Self { uri: Uri::from_static("/"), turns, status: StatusCode::OK }
    }

    /// Sets the accepted types, and the expected status.
    pub(crate) fn accept(mut self, types: &'static str, status: StatusCode) -> Self {
        for turn in &mut self.turns {
            turn.headers.insert(header::ACCEPT, HeaderValue::from_static(types));
        }
        self.answered(status)
    }

    /// Makes it the request of a program, which accepts any type.
    pub(crate) fn of_a_program(self) -> Self {
        let status = self.status;
        self.accept("*/*", status)
    }

    /// Makes it the requests of clients with these preferences, which take turns.
    pub(crate) fn of_clients(mut self, clients: impl IntoIterator<Item = Preferences>) -> Self {
        let clients: Vec<Preferences> = clients.into_iter().collect();
        let turn = |number: usize| {
            let mut turn = self.turns[number % self.turns.len()].clone();
            let Preferences { types, languages } = clients[number % clients.len()].clone();
            turn.headers.insert(header::ACCEPT, types);
            turn.headers.insert(header::ACCEPT_LANGUAGE, languages);
            turn
        };
        self.turns = (0..clients.len().max(self.turns.len())).map(turn).collect();
        self
    }

    /// Adds a hundred headers whose names differ from those that the layer looks for only in their last
    /// bytes. Servers read about as many by default.
    pub(crate) fn with_many_headers(mut self) -> Self {
        for turn in &mut self.turns {
            for number in 0..100 {
                let name = HeaderName::try_from(format!("sec-fetch-d{number:03}"));
                turn.headers.insert(name.expect("it is a name"), HeaderValue::from_static("1"));
            }
        }
        self
    }

    /// Sets the expected status.
    pub(crate) fn answered(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds the address of the peer, as a server does that knows it.
    pub(crate) fn with_peer(mut self) -> Self {
        for turn in &mut self.turns {
            turn.extensions.insert(peer([127, 0, 0, 1]));
        }
        self
    }

    /// The expected status.
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the first request.
    pub(crate) fn request<B>(&self, body: B) -> Request<B> {
        self.request_of(0, body)
    }

    /// Returns the request of this number; after the last turn, the first follows again.
    fn request_of<B>(&self, number: usize, body: B) -> Request<B> {
        let turn = &self.turns[number % self.turns.len()];
        let mut request = Request::new(body);
        *request.method_mut() = Method::GET;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = turn.headers.clone();
        *request.extensions_mut() = turn.extensions.clone();
        request
    }
}

/// Returns the address of a peer, as a server adds it.
pub(crate) fn peer(address: impl Into<IpAddr>) -> Peer {
    ConnectInfo(SocketAddr::new(address.into(), 50_000))
}

/// The address of a peer.
pub(crate) type Peer = ConnectInfo<SocketAddr>;

const BROWSER: [(HeaderName, &str); 4] = [
    (header::HOST, "shop.example"),
    (header::USER_AGENT, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    (header::ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    (header::ACCEPT_LANGUAGE, "en-GB,en;q=0.7,de;q=0.3"),
];

/// Sends clones of a template to a service, and checks the status of each response.
pub(crate) fn drive<S, B, R>(
    mut service: S,
    template: Template,
    mut body: impl FnMut() -> B + 'static,
) -> Repeat
where
    S: Service<Request<B>, Response = Response<R>, Error: Debug> + 'static,
    B: 'static,
{
    let runtime = runtime();
    let status = template.status();
    let mut number = 0;
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                let request = template.request_of(number, body());
                number += 1;
                let service = service.ready().await.expect("no service here fails");
                let response = service.call(request).await.expect("no service here fails");
                assert_eq!(response.status(), status, "the case measures something else");
                black_box(response);
            }
        });
    })
}

/// Sends the same to a router, after 1 024 requests of programs that are not measured: a layer may
/// check the first ones more closely.
pub(crate) fn drive_router(router: Router, template: Template) -> Repeat {
    // As `axum::serve` does. Otherwise axum applies the layers to the handler for every request.
    let router = router.with_state::<()>(());
    let first = template.clone().of_a_program();
    runtime().block_on(async {
        for number in 0..1_024 {
            let Ok(_) = router.clone().oneshot(first.request_of(number, Body::empty())).await;
        }
    });
    drive(router, template, Body::empty)
}

/// Returns the smallest application with a response body.
pub(crate) fn hello() -> Router {
    Router::new().route("/", get(|| async { "Hello, world!" }))
}

/// Creates a runtime on this thread.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the machine has what a runtime needs")
}
