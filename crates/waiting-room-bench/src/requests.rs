//! Requests that are sent repeatedly without a network, with their expected status.

use std::{fmt::Debug, hint::black_box, net::SocketAddr};

use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
use http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use tokio::runtime::{Builder, Runtime};
use tower::{Service, ServiceExt};

use crate::case::Repeat;

/// Other cookies that a visitor of a shop may have: two before ours, and one after it.
const OTHER_COOKIES: [&str; 3] = [
    "session=0b9d7f2c-54e1-4d6a-9f0e-6c1a2b3d4e5f",
    "_ga=GA1.2.1937467128.1700000000",
    "theme=dark",
];

/// A request of a browser, as a template for clones.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    uri: Uri,
    headers: HeaderMap,
    extensions: Extensions,
    status: StatusCode,
}

impl Template {
    /// Creates a request with these cookies among others.
    pub(crate) fn new<'a>(cookies: impl IntoIterator<Item = &'a str>) -> Self {
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
        let (uri, extensions, status) = (Uri::from_static("/"), Extensions::new(), StatusCode::OK);
        Self { uri, headers, extensions, status }
    }

    /// Sets the accepted types, and the expected status.
    pub(crate) fn accept(mut self, types: &'static str, status: StatusCode) -> Self {
        self.headers.insert(header::ACCEPT, HeaderValue::from_static(types));
        self.status = status;
        self
    }

    /// Makes it the request of a program, which accepts any type.
    pub(crate) fn of_a_program(mut self) -> Self {
        self.headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        self
    }

    /// Sets the expected status.
    pub(crate) fn answered(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds the address of the peer, as a server does that knows it.
    pub(crate) fn with_peer(mut self) -> Self {
        let peer = SocketAddr::from(([127, 0, 0, 1], 50_000));
        self.extensions.insert(ConnectInfo(peer));
        self
    }

    /// The expected status.
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the next request.
    pub(crate) fn request<B>(&self, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::GET;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        request
    }
}

const BROWSER: [(header::HeaderName, &str); 4] = [
    (header::HOST, "shop.example"),
    (header::USER_AGENT, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    (header::ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    (header::ACCEPT_LANGUAGE, "en-GB,en;q=0.7,de;q=0.3"),
];

/// Sends clones of one request to a service, and checks the status of each response.
pub(crate) fn drive<S, B, R>(mut service: S, template: Template, body: fn() -> B) -> Repeat
where
    S: Service<Request<B>, Response = Response<R>, Error: Debug> + 'static,
    B: 'static,
{
    let (runtime, status) = (runtime(), template.status());
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                let request = template.request(body());
                let service = service.ready().await.expect("no service here fails");
                let response = service.call(request).await.expect("no service here fails");
                assert_eq!(response.status(), status, "the case measures something else");
                black_box(response);
            }
        });
    })
}

/// Sends the same to a router, after 1 024 requests that are not measured: a layer may check the
/// first ones more closely.
pub(crate) fn drive_router(router: Router, template: Template) -> Repeat {
    // As `axum::serve` does. Otherwise axum applies the layers to the handler for every request.
    let mut repeat = drive(router.with_state::<()>(()), template, Body::empty);
    repeat.run(1_024);
    repeat
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
