use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, header::CONTENT_TYPE};
use waiting_room_core::Reason;

use super::*;
use crate::{request::Language, respond::sample};

/// Renders an answer to a request without headers.
fn respond(answer: &Answer, page: &Page, is_head: bool) -> Response<Bytes> {
    let mut request = Request::new(());
    *request.method_mut() = if is_head { Method::HEAD } else { Method::GET };
    super::respond(answer, page, &RequestHead::from(&request))
}

const KINDS: [ClientKind; 5] = [
    ClientKind::Grpc,
    ClientKind::Json,
    ClientKind::Navigation,
    ClientKind::Problem,
    ClientKind::Text,
];

#[test]
fn every_kind_of_client_gets_its_form_with_the_status_and_the_length() {
    let types = KINDS.map(|kind| {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let answer = Answer { kind, status, ..sample::placed() };
        let response = respond(&answer, &Page::default(), false);
        let headers = response.headers();
        let length = response.body().len().to_string();
        if kind == ClientKind::Grpc {
            assert_eq!((response.status(), length.as_str()), (StatusCode::OK, "0"));
        } else {
            assert_eq!(response.status(), status);
            assert_eq!(headers[CONTENT_LENGTH], *length);
        }
        headers[CONTENT_TYPE].to_str().unwrap().to_owned()
    });
    assert_eq!(
        types,
        [
            "application/grpc",
            "application/json",
            "text/html; charset=utf-8",
            "application/problem+json",
            "text/plain; charset=utf-8",
        ]
    );
}

#[test]
fn a_refusal_is_a_problem_document_for_every_program_but_our_own_script() {
    for reason in [
        Reason::RefusedRate("per_ip".into()),
        Reason::RefusedGateFull,
        Reason::RefusedLineFull,
        Reason::RefusedLimitsUnavailable,
    ] {
        let refusal = sample::refusal(reason);
        let type_of = |is_poll| {
            let answer = Answer { kind: ClientKind::Json, is_poll, ..refusal.clone() };
            respond(&answer, &Page::default(), false).headers()[CONTENT_TYPE].clone()
        };
        assert_eq!(type_of(false), "application/problem+json");
        assert_eq!(type_of(true), "application/json");
    }
}

#[test]
fn a_head_request_gets_the_same_headers_without_the_body() {
    for kind in KINDS {
        let answer = Answer { kind, ..sample::placed() };
        let policy = Page::template("<p>{{ position }}</p>").unwrap();
        let [whole, head] = [false, true].map(|is_head| respond(&answer, &policy, is_head));
        assert_eq!(whole.headers(), head.headers());
        assert!(head.body().is_empty());
    }
}

#[test]
fn a_grpc_web_client_gets_the_trailers_in_the_body() {
    let answer = Answer { kind: ClientKind::Grpc, ..sample::placed() };
    let of = |content_type: &str, accept: &str| {
        let request =
            Request::post("/").header(CONTENT_TYPE, content_type).header("accept", accept);
        let request = request.body(()).unwrap();
        super::respond(&answer, &Page::default(), &RequestHead::from(&request))
    };
    let native = of("application/grpc+proto", "*/*");
    assert_eq!((native.headers()["grpc-status"].as_bytes(), native.body().len()), (&b"8"[..], 0));
    let web = of("application/grpc-web+proto; charset=x", "*/*");
    assert_eq!(web.headers()[CONTENT_TYPE], "application/grpc-web+proto");
    assert!(!web.headers().keys().any(|name| name.as_str().starts_with("grpc-")));
    let (head, trailers) = web.body().split_at(5);
    assert_eq!(head[0], 0x80);
    assert_eq!(u32::from_be_bytes(head[1..].try_into().unwrap()) as usize, trailers.len());
    for name in ["grpc-status", "grpc-message", "grpc-retry-pushback-ms", "grpc-status-details-bin"]
    {
        let line = format!("{name}:{}\r\n", native.headers()[name].to_str().unwrap());
        assert!(std::str::from_utf8(trailers).unwrap().contains(&line), "{line}");
    }
    for (content_type, accept) in [
        ("application/grpc-web-text", "application/grpc-web-text"),
        ("application/grpc-web-text", "*/*"),
        ("application/grpc-web+proto", "application/grpc-web-text, */*"),
    ] {
        let text = of(content_type, accept);
        assert_eq!(text.headers()[CONTENT_TYPE], "application/grpc-web-text");
        assert_eq!(STANDARD.decode(text.body()).unwrap(), *web.body());
    }
}

#[test]
fn a_failing_template_falls_back_to_text_with_the_same_status() {
    // No sample answer is about this room, so the template passes the check at start-up.
    let source = "{% if room == 'unlucky' %}{{ 1 // 0 }}{% endif %}";
    let page = Page::template(source).unwrap();
    let answer = Answer { room: "unlucky".into(), ..sample::placed() };
    let response = respond(&answer, &page, false);
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(response.headers()["refresh"], "9");
    assert!(response.body().starts_with(b"You are number 12 in line."));
}

#[test]
fn a_terminal_gets_a_line_of_sentences() {
    let english = super::text(&sample::placed()).into_body();
    assert_eq!(
        english,
        "You are number 12 in line. Estimated wait: about 4 to 7 minutes. \
         Please try again in 9 seconds.\n"
    );
    let chinese = Answer { language: Language::CHINESE_SIMPLIFIED, ..sample::placed() };
    let body = super::text(&chinese).into_body();
    assert_eq!(body, "您排在第 12 位。预计等待时间：约 4 至 7 分钟。请在 9 秒后重试。\n");
}
