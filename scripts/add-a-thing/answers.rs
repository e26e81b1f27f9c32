//! A fact of the page with a sentence, and a form of answer.

use axum::{
    body::{Body, to_bytes},
    http::{Request, Response},
};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};

/// Sends a request with these headers to a room that admits no visitors, and returns the content type and
/// the body of the answer. `page` is the page of a configuration file.
async fn answer(page: &str, headers: &[(&str, &str)]) -> (String, String) {
    let file = format!(
        r#"{{ "name": "shop", "total_active_users": 1, "mode": "queue_all", "line_capacity": 1234,
              "page": {page} }}"#
    );
    let config: WaitingRoomConfig = serde_json::from_str(&file).unwrap();
    let request = headers
        .iter()
        .fold(Request::get("/"), |request, (name, value)| request.header(*name, *value));
    let inner =
        service_fn(async |_: Request<Body>| Ok::<_, std::io::Error>(Response::new(Body::empty())));
    let service = WaitingRoomLayer::new(config).layer(inner);
    let answer = service.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let body = to_bytes(Body::new(answer.into_body()), 1 << 20).await.unwrap();
    (content_type, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn the_page_and_templates_show_the_fact() {
    let (_, page) = answer("{}", &[("accept", "text/html")]).await;
    assert!(
        page.contains("<p class=\"soft\" id=\"places\">The line has 1,234 places.</p>"),
        "{page}"
    );
    let (_, page) = answer(r#""{{ line_capacity }}""#, &[("accept", "text/html")]).await;
    assert_eq!(page, "1234");
}

#[tokio::test]
async fn a_language_without_the_sentence_has_it_in_english() {
    let (_, page) = answer("{}", &[("accept", "text/html"), ("accept-language", "de")]).await;
    assert!(page.contains("<html lang=\"de\""), "{page}");
    assert!(page.contains("The line has 1.234 places."), "{page}");
}

#[tokio::test]
async fn a_program_that_prefers_the_form_gets_it() {
    let accept = "text/plain;q=0.5, text/csv";
    let (content_type, body) = answer("{}", &[("accept", accept)]).await;
    assert_eq!(content_type, "text/csv; charset=utf-8");
    assert_eq!(body, "reason,position\nqueue_all,\n");
    let (content_type, _) = answer("{}", &[("accept", "text/*")]).await;
    assert_eq!(content_type, "text/plain; charset=utf-8");
}
