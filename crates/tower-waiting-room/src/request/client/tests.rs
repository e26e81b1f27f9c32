use http::{HeaderValue, header::ACCEPT};
use proptest::prelude::*;

use super::*;

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn kind_of(lines: &[(&'static str, &str)]) -> ClientKind {
    Client::classify(&Method::GET, &headers(lines)).kind
}

const MODE: &str = "sec-fetch-mode";
const DEST: &str = "sec-fetch-dest";
const CHROME: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,\
                      image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";
const FIREFOX: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const AXIOS: &str = "application/json, text/plain, */*";
const IMAGES: &str = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";

#[test]
fn real_clients_get_a_form_that_they_can_use() {
    use ClientKind::{Json, Navigation, Problem, Text};
    type Lines = &'static [(&'static str, &'static str)];
    let clients: [(&str, Lines, ClientKind); 35] = [
        ("chrome", &[("accept", CHROME), (MODE, "navigate"), (DEST, "document")], Navigation),
        ("chrome, plain http", &[("accept", CHROME)], Navigation),
        ("firefox", &[("accept", FIREFOX), (MODE, "navigate"), (DEST, "document")], Navigation),
        ("safari 15, googlebot", &[("accept", FIREFOX)], Navigation),
        ("iframe", &[("accept", CHROME), (MODE, "navigate"), (DEST, "iframe")], Navigation),
        ("navigation, no accept", &[(MODE, "navigate"), (DEST, "document")], Navigation),
        ("curl -H", &[("accept", "text/html")], Navigation),
        ("lynx", &[("accept", "text/html, text/plain, text/css, */*;q=0.01")], Navigation),
        ("chrome 78, iframe", &[("accept", CHROME), (MODE, "nested-navigate")], Navigation),
        ("navigation, no mode", &[("accept", CHROME), (DEST, "document")], Navigation),
        ("frame, no mode", &[("accept", CHROME), (DEST, "iframe")], Navigation),
        (
            "android web view, plain http",
            &[("accept", CHROME), ("x-requested-with", "com.facebook.katana")],
            Navigation,
        ),
        ("web view of no name", &[("accept", CHROME), ("x-requested-with", "")], Navigation),
        ("not htmx", &[("accept", CHROME), ("hx-request", "false")], Navigation),
        ("curl, wget, requests", &[("accept", "*/*")], Json),
        ("go, nothing said", &[], Json),
        ("node fetch", &[("accept", "*/*"), (MODE, "cors")], Json),
        ("axios in node", &[("accept", AXIOS)], Json),
        ("axios in chrome", &[("accept", AXIOS), (MODE, "cors"), (DEST, "empty")], Json),
        (
            "htmx",
            &[("accept", "*/*"), (MODE, "cors"), (DEST, "empty"), ("hx-request", "true")],
            Json,
        ),
        ("htmx, plain http", &[("accept", "text/html, */*"), ("hx-request", "true")], Json),
        (
            "jquery load, plain http",
            &[("accept", "text/html, */*; q=0.01"), ("x-requested-with", "XMLHttpRequest")],
            Json,
        ),
        ("java", &[("accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")], Json),
        ("json module", &[("accept", "*/*"), (MODE, "cors"), (DEST, "json")], Json),
        ("fetch of html", &[("accept", "text/html"), (MODE, "cors"), (DEST, "empty")], Text),
        (
            "fetch of html, same origin",
            &[("accept", "text/html"), (MODE, "same-origin"), (DEST, "empty")],
            Text,
        ),
        (
            "event source",
            &[("accept", "text/event-stream"), (MODE, "cors"), (DEST, "empty")],
            Problem,
        ),
        ("github client", &[("accept", "application/vnd.github+json")], Problem),
        ("img", &[("accept", IMAGES), (MODE, "no-cors"), (DEST, "image")], Text),
        ("css", &[("accept", "text/css,*/*;q=0.1"), (MODE, "no-cors"), (DEST, "style")], Text),
        ("script", &[("accept", "*/*"), (MODE, "no-cors"), (DEST, "script")], Text),
        ("module", &[("accept", "*/*"), (MODE, "cors"), (DEST, "script")], Text),
        ("font", &[("accept", "*/*"), (MODE, "cors"), (DEST, "font")], Text),
        ("worker", &[("accept", "*/*"), (MODE, "same-origin"), (DEST, "worker")], Text),
        ("beacon", &[("accept", "*/*"), (MODE, "no-cors"), (DEST, "empty")], Text),
    ];
    for (client, lines, kind) in clients {
        assert_eq!(kind_of(lines), kind, "{client}");
    }
}

#[test]
fn the_weights_of_accept_decide() {
    use ClientKind::{Json, Navigation, Problem, Text};
    let cases = [
        ("application/problem+json", Problem),
        ("application/problem+json, application/json;q=0.9", Problem),
        ("application/json;q=0.9, application/problem+json", Problem),
        ("application/json; charset=utf-8", Json),
        ("application/json;charset=utf-8;q=0.1, text/plain;q=0.5", Text),
        ("application/json;q=0.5, text/plain", Text),
        ("text/plain;q=0.5, application/json", Json),
        ("text/*", Text),
        ("text/plain", Text),
        ("TEXT/HTML", Navigation),
        ("text/html;level=1", Navigation),
        ("text/html;q=0.5, application/json;q=0.4", Navigation),
        ("text/html;q=0.4, application/json;q=0.5", Json),
        ("text/html;q=0, */*", Json),
        ("text/*, */*;q=0.1", Text),
        ("image/png", Problem),
        ("*/*;q=0", Problem),
        ("application/json;q=0, text/plain;q=0.1", Text),
        ("", Json),
        (" , ;;", Json),
        ("garbage", Json),
    ];
    for (accept, kind) in cases {
        assert_eq!(kind_of(&[("accept", accept)]), kind, "{accept:?}");
    }
}

#[test]
fn at_equal_weights_the_order_of_the_client_decides() {
    assert_eq!(kind_of(&[("accept", "text/html, application/json")]), ClientKind::Navigation);
    assert_eq!(kind_of(&[("accept", "application/json, text/html")]), ClientKind::Json);
}

#[test]
fn accept_is_read_only_up_to_its_bound() {
    let range = format!("image/{},", "x".repeat(25));
    let filler = range.repeat(MAX_ACCEPT_LEN / range.len());
    assert_eq!(kind_of(&[("accept", &format!("{filler}text/plain"))]), ClientKind::Problem);
    let short = &filler[..filler.len() - range.len()];
    assert_eq!(kind_of(&[("accept", &format!("{short}text/plain"))]), ClientKind::Text);
    let lines = vec![("accept", short); 40];
    let list = combined(&headers(&lines), &ACCEPT, MAX_ACCEPT_LEN, <[u8]>::to_vec).unwrap();
    assert!(list.len() <= MAX_ACCEPT_LEN);
    assert!(list.strip_suffix(b",").unwrap_or(&list).ends_with(b"x"));
    assert_eq!(
        ["a,b", "a,b,c", "a,bc"].map(|list| cut(list.as_bytes(), 3)),
        ["a,b", "a", "a"].map(str::as_bytes)
    );
}

#[test]
fn grpc_is_recognized_by_its_content_type() {
    for content_type in ["application/grpc", "application/grpc+proto", "Application/gRPC-Web+proto"]
    {
        assert_eq!(kind_of(&[("content-type", content_type)]), ClientKind::Grpc);
    }
    for other in ["application/grp", "application/grpcx", "application/graphql"] {
        assert_eq!(kind_of(&[("content-type", other)]), ClientKind::Json, "{other}");
    }
}

#[test]
fn the_polling_page_gets_json() {
    let lines = [("accept", CHROME), ("waiting-room-poll", "1"), (MODE, "cors")];
    let client = Client::classify(&Method::GET, &headers(&lines));
    assert_eq!((client.kind, client.is_poll), (ClientKind::Json, true));
}

#[test]
fn only_get_and_head_are_safe() {
    let of = |method| {
        let client = Client::classify(&method, &HeaderMap::new());
        (client.is_safe, client.is_head)
    };
    assert_eq!(of(Method::GET), (true, false));
    assert_eq!(of(Method::HEAD), (true, true));
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS] {
        assert_eq!(of(method), (false, false));
    }
}

/// The naive implementation of [`Clues::kind`], which looks up each header by its name.
fn looked_up(headers: &HeaderMap) -> ClientKind {
    let first = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let mode = first("sec-fetch-mode");
    let dest = first("sec-fetch-dest");
    let lines: Vec<_> = headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes).collect();
    let asked = match lines[..] {
        [] => AcceptHeader::Nothing,
        [line] => AcceptHeader::Line(line),
        _ => AcceptHeader::Lines,
    };
    let is_scripted = [("x-requested-with", "xmlhttprequest"), ("hx-request", "true")].iter().any(
        |(name, value)| {
            headers
                .get_all(*name)
                .iter()
                .any(|line| line.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
        },
    );
    match Fetch::of(mode, dest) {
        _ if first("content-type").is_some_and(is_grpc) => ClientKind::Grpc,
        _ if first("waiting-room-poll").is_some() => ClientKind::Json,
        Fetch::Navigation => ClientKind::Navigation,
        Fetch::Resource => ClientKind::Text,
        Fetch::Script => negotiate(headers, asked, false),
        Fetch::Unsaid => negotiate(headers, asked, !is_scripted),
    }
}

proptest! {
    #[test]
    fn several_lines_are_read_as_one_list(
        lines in prop::collection::vec("[ab,]{0,9}", 1..5),
        limit in 0_usize..20,
    ) {
        let read = |lines: &[String]| {
            let lines: Vec<_> = lines.iter().map(|line| ("accept", line.as_str())).collect();
            combined(&headers(&lines), &ACCEPT, limit, <[u8]>::to_vec).unwrap()
        };
        prop_assert_eq!(read(&lines), read(&[lines.join(",")]));
    }

    #[test]
    fn one_pass_over_the_headers_equals_separate_lookups(
        lines in prop::collection::vec(
            prop_oneof![
                (Just("accept"), prop_oneof![Just("*/*"), Just(CHROME), Just("text/plain")]),
                (
                    Just("content-type"),
                    prop_oneof![Just("application/grpc"), Just("application/json")],
                ),
                (Just(MODE), prop_oneof![Just("navigate"), Just("cors"), Just("no-cors")]),
                (Just(DEST), prop_oneof![Just("document"), Just("empty"), Just("image")]),
                (Just("x-requested-with"), prop_oneof![Just("XMLHttpRequest"), Just("org.app")]),
                (Just("hx-request"), Just("true")),
                (
                    prop_oneof![
                        Just("waiting-room-poll"),
                        Just("accept-language"),
                    ],
                    Just("1"),
                ),
            ],
            0..6,
        ),
    ) {
        let headers = headers(&lines);
        prop_assert_eq!(Clues::of(&headers).kind(&headers), looked_up(&headers), "{:?}", lines);
    }

    #[test]
    fn no_range_is_preferred_to_html_at_the_beginning(
        rest in r#"([a-z*]{1,4}/[a-z*+]{1,6}(;[qv]=["0-9.,]{0,4})?[, ]{0,2}){0,6}"#,
    ) {
        let line = [BROWSER, rest.as_bytes()].concat();
        let preference = Preference::of(&line);
        prop_assert!(preference.is_none_or(|preference| preference.any == Some(Offer::Html)));
    }

    #[test]
    fn any_headers_belong_to_some_kind_of_client(
        accept in prop::collection::vec("[ -~\t]{0,80}", 0..4),
        list in r#"([a-z*]{1,4}/[a-z*+]{1,6}(;[qv]=["0-9.,]{0,4})?[, ]{0,2}){0,6}"#,
        language in "[a-zA-Z*;=., 0-9-]{0,60}",
    ) {
        let mut lines: Vec<_> = accept.iter().map(|value| ("accept", value.as_str())).collect();
        lines.extend([("accept", list.as_str()), ("accept-language", language.as_str())]);
        let client = Client::classify(&Method::GET, &headers(&lines));
        prop_assert!(client.kind != ClientKind::Grpc);
    }
}
