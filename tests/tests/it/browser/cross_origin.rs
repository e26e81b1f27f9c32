//! Requests by a script on a page of another origin.

use axum::{Router, routing::get};
use http::{HeaderName, Method};
use serde_json::json;
use tests::{Browser, House, config, workspace};
use tower_http::cors::{Any, CorsLayer};
use tower_waiting_room::respond::EXPOSED_HEADERS;

/// Sends a request as a script does, and returns what the script can read.
const ASK: &str = "async (address, headers) => {
    const answer = await fetch(address, {headers});
    const [retry, room, token] = ['retry-after', 'waiting-room', 'waiting-room-token']
        .map(name => answer.headers.get(name));
    return [answer.status, +retry > 0, room, token !== null];
}";

fn cors(app: Router) -> Router {
    app.layer(
        CorsLayer::new()
            .allow_origin(Any)
            .allow_methods([Method::GET])
            .allow_headers([HeaderName::from_static("waiting-room-token")])
            .expose_headers(EXPOSED_HEADERS),
    )
}

#[tokio::test]
async fn a_script_reads_the_waiting_answer_if_cors_is_outermost() {
    let house = House::open_at(0, config(), cors);
    let _guest = house.guest().await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;

    let address = house.url("/api");
    let seen = browser.promised(&format!("({ASK})('{address}', {{}})")).await;
    assert_eq!(seen, json!([429, true, "wait", false]));
    let by_header = format!("({ASK})('{address}', {{'waiting-room-token': ''}})");
    let seen = browser.promised(&by_header).await;
    assert_eq!(seen, json!([429, true, "wait", true]), "the header goes through a preflight");
}

#[tokio::test]
async fn the_waiting_answer_exposes_its_headers_by_itself() {
    let any_origin = |app: Router| app.layer(CorsLayer::new().allow_origin(Any));
    let house = House::open_at(0, config(), any_origin);
    let _guest = house.guest().await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    let seen = browser.promised(&format!("({ASK})('{}', {{}})", house.url("/api"))).await;
    assert_eq!(seen, json!([429, true, "wait", false]));
}

#[tokio::test]
async fn an_admitted_script_reads_the_token_on_the_applications_response() {
    let house = House::open_at(0, config(), cors);
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    let ask = format!("({ASK})('{}', {{'waiting-room-token': ''}})", house.url("/api"));
    assert_eq!(browser.promised(&ask).await, json!([200, false, null, true]));
}

/// What a page of another origin learns, by each way in which it can ask without `fetch`.
const WAYS: &str = "async address => {
    const answers = [
        done => Object.assign(new XMLHttpRequest(), {onloadend: event => {
            const {status, response} = event.target;
            done([status, event.target.getResponseHeader('retry-after') > 0, response[0]]);
        }}),
        done => { const it = new EventSource(address); it.onerror = () => done(it.readyState); },
        done => new WebSocket(address.replace('http', 'ws')).onclose = event => done(event.code),
        done => Object.assign(new Image(), {onload: done, onerror: () => done('error'), src: address}),
        done => import(address).then(done, () => done('error')),
        done => fetch(address, {mode: 'no-cors'}).then(answer => done(answer.type)),
        done => done(navigator.sendBeacon(address, '')),
    ].map((ask, number) => new Promise(done => {
        const it = ask(done);
        if (number === 0) { it.open('GET', address); it.send(); }
    }));
    return Promise.all(answers);
}";

#[tokio::test]
async fn each_other_way_to_ask_learns_that_there_is_no_content() {
    let house = House::open_at(0, config(), cors);
    let _guest = house.guest().await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    let seen = browser.promised(&format!("({WAYS})('{}')", house.url("/api"))).await;
    let expected = json!([[429, true, "{"], 2, 1006, "error", "error", "opaque", true]);
    assert_eq!(seen, expected);
    assert_eq!(house.snapshot().await.waiting, 0);
}

/// Calls a method with Google's gRPC-Web client, and returns what the caller learns.
const CALL: &str = "async (address, format) => {
    const {GrpcWebClientBase, MethodDescriptor, MethodType} = await import('/client.js');
    const path = '/shop.Shop/Buy', bytes = () => new Uint8Array(), message = function () {};
    const method = new MethodDescriptor(path, MethodType.UNARY, message, message, bytes, bytes);
    const client = new GrpcWebClientBase({format});
    return new Promise(done => client.rpcCall(address + path, new message(), {}, method, error =>
        done([error.code, error.message, +error.metadata['grpc-retry-pushback-ms'] > 0])));
}";

#[tokio::test]
async fn a_grpc_web_client_of_another_origin_reads_its_status() {
    let house = House::open_at(0, config(), |app| app.layer(CorsLayer::very_permissive()));
    let _guest = house.guest().await;
    let script = workspace("tests/node_modules/grpc-web/index.esm.js");
    let script = std::fs::read_to_string(script).unwrap();
    let elsewhere = House::open_at(0, config(), move |app| {
        let javascript = [("content-type", "text/javascript")];
        app.route("/client.js", get(async move || (javascript, script)))
    });
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    for format in ["binary", "text"] {
        let seen = browser.promised(&format!("({CALL})('{}', '{format}')", house.url(""))).await;
        assert_eq!((&seen[0], &seen[2]), (&json!(8), &json!(true)), "{format}: {seen}");
        assert!(seen[1].as_str().unwrap().contains("place"), "{format}: {seen}");
    }
}

#[tokio::test]
async fn without_cors_a_script_of_another_origin_learns_nothing() {
    let (house, _guest) = House::full(config()).await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    browser.goto(&elsewhere.url("/about")).await;
    let seen = browser.promised(&format!("({ASK})('{}', {{}})", house.url("/api"))).await;
    assert!(seen.as_str().unwrap().contains("TypeError: Failed to fetch"), "{seen}");
}
