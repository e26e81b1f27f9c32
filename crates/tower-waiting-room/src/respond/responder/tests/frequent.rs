//! Answers with prepared headers, compared with the same answers rendered on demand.

use http::Method;
use waiting_room_core::{RoomRules, Ticket, VisitorId};

use super::*;
use crate::respond::sample;

const BROWSER: (&str, &str) = ("accept", "text/html,*/*;q=0.8");
const GERMAN: (&str, &str) = ("accept-language", "de");
const ORIGIN: (&str, &str) = ("origin", "https://shop.example");

/// Calls `check` with each kind of decision that the layer answers.
fn every_decision(request: &Request<()>, check: impl Fn(&Unforwarded<'_>)) {
    let line = line("per_ip");
    let gate = PolicyLine::concurrent("works", 10).unwrap();
    let decision = decision(Some(WAIT));
    let told = [PolicyState { line: &line, decision }];
    let told_by_gate = [PolicyState { line: &gate, decision }];
    let rules = RoomRules::new("shop", 1);
    let first = Ticket::new(VisitorId::new(1), NOW, NOW, NOW + WAIT);
    let placed = sample::ticket();
    let room = |ticket| About::Room(&rules, ticket);
    let rate = Reason::RefusedRate("per_ip".into());
    let wait = Outcome::Wait;
    let refuse = Outcome::Refuse;
    let none: &[PolicyState<'_>] = &[];
    for (about, outcome, reason, told, retry_after) in [
        (About::Limit, refuse, &rate, &told[..], Some(WAIT)),
        (About::Limit, refuse, &rate, &told, None),
        (About::Limit, refuse, &rate, &told, Some(Duration::MAX)),
        (
            About::Gate(StatusCode::SERVICE_UNAVAILABLE),
            refuse,
            &Reason::RefusedGateFull,
            &told_by_gate,
            Some(WAIT),
        ),
        (
            About::Service(StatusCode::TOO_MANY_REQUESTS),
            refuse,
            &Reason::RefusedKeyMissing("per_ip".into()),
            none,
            None,
        ),
        (room(Some(&first)), wait, &Reason::QueuedRate, none, Some(WAIT)),
        (room(Some(&placed)), wait, &Reason::QueuedEarly, none, Some(9 * WAIT)),
        (room(None), wait, &Reason::StoreUnavailable, none, Some(WAIT)),
        (room(None), refuse, &Reason::RefusedLineFull, none, Some(WAIT)),
        (room(None), refuse, &Reason::RefusedReject, none, None),
        (room(None), Outcome::Admit, &Reason::AdmittedSlot, none, None),
    ] {
        for token in [None, Some("shop=sealed")] {
            let request = request.into();
            let now = NOW;
            check(&Unforwarded {
                request,
                outcome,
                reason,
                about,
                retry_after,
                told,
                token,
                gets_cookie: false,
                plan: None,
                now,
            });
        }
    }
}

/// Renders an answer on demand.
fn on_demand(responder: &Responder, it: &Unforwarded<'_>) -> Response<Bytes> {
    let client = Client::classify(it.request.method(), it.request.headers());
    let answer = responder.answer(
        it,
        &client,
        crate::request::Languages::built_in().of(it.request.headers()),
    );
    responder.told(respond(&answer, &responder.page, &it.request), it)
}

#[test]
fn an_answer_with_prepared_headers_is_the_same_as_on_demand() {
    let template = || Page::template("{{ room }} {{ reason }} {{ status }} {{ token }} {{ now }}");
    let pages = [
        Page::default(),
        Page::default().title("Tom & Jerry"),
        template().unwrap(),
        template().unwrap().content_security_policy("default-src 'none'"),
        Page::from_fn(|answer, _| Response::new(answer.message().headline.into_owned())),
    ];
    let requests: [&[(&str, &str)]; 8] = [
        &[BROWSER],
        &[BROWSER, GERMAN],
        &[BROWSER, ORIGIN],
        &[("accept", "application/json"), GERMAN],
        &[("accept", "application/json"), ORIGIN],
        &[("waiting-room-poll", "1"), GERMAN],
        &[("accept", "text/plain"), GERMAN],
        &[("content-type", "application/grpc")],
    ];
    for page in pages {
        for profile in [RateHeaders::Combined, RateHeaders::None, RateHeaders::Draft7] {
            let responder = responder(page.clone(), JsonProfile::Cloudflare, profile);
            for (lines, method) in requests.iter().flat_map(|lines| {
                [Method::GET, Method::HEAD, Method::POST].map(move |method| (lines, method))
            }) {
                let mut request = request(lines);
                *request.method_mut() = method;
                every_decision(&request, |answer| {
                    let client =
                        Client::classify(answer.request.method(), answer.request.headers());
                    let is_document = matches!(answer.about, About::Gate(_) | About::Limit);
                    if is_document && client.is_program() {
                        return;
                    }
                    let given = responder.respond(answer);
                    let expected = on_demand(&responder, answer);
                    let case = format!("{lines:?} {answer:?}");
                    assert_eq!(given.status(), expected.status(), "{case}");
                    assert_eq!(text(given.headers()), text(expected.headers()), "{case}");
                    assert_eq!(given.body(), expected.body(), "{case}");
                });
            }
        }
    }
}

/// Refuses a request, and another a little later in the same second.
fn refuse_twice(page: Page, lines: &[(&'static str, &'static str)]) -> [Response<Bytes>; 2] {
    let responder = responder(page, JsonProfile::Cloudflare, RateHeaders::Common);
    let request = request(lines);
    let line = line("per_ip");
    let decision = decision(Some(WAIT));
    [0, 600].map(|millis| {
        responder.respond(&Unforwarded {
            request: (&request).into(),
            outcome: Outcome::Refuse,
            reason: &Reason::RefusedRate("per_ip".into()),
            about: About::Limit,
            retry_after: Some(WAIT),
            told: &[PolicyState { line: &line, decision }],
            token: None,
            gets_cookie: false,
            plan: None,
            now: NOW + Duration::from_millis(millis),
        })
    })
}

#[test]
fn a_refusal_page_is_reused_for_a_second() {
    let [first, second] = refuse_twice(Page::default(), &[BROWSER]);
    assert_eq!(first.body().as_ptr(), second.body().as_ptr());
    let [first, second] = refuse_twice(Page::template("{{ now }}").unwrap(), &[BROWSER]);
    assert_eq!((first.body(), second.body()), (&"2026-11-21T08:00:00.000Z".into(), first.body()));
}

#[test]
fn a_page_with_a_nonce_is_rendered_for_each_request() {
    let page = Page::template("<script nonce=\"{{ nonce }}\">").unwrap();
    let with_policy = page.clone().content_security_policy("script-src 'nonce-{nonce}'");
    for page in [page, with_policy] {
        let [first, second] = refuse_twice(page, &[BROWSER]);
        assert_ne!(first.body(), second.body());
    }
}

#[test]
fn a_refusal_that_carries_a_token_is_rendered_for_its_visitor() {
    let page = Page::template("{{ token }}").unwrap();
    let responder = responder(page, JsonProfile::Cloudflare, RateHeaders::None);
    for token in ["shop=a", "shop=b"] {
        let response = responder.respond(&Unforwarded {
            request: (&request(&[BROWSER])).into(),
            outcome: Outcome::Refuse,
            reason: &Reason::RefusedGateFull,
            about: About::Gate(StatusCode::SERVICE_UNAVAILABLE),
            retry_after: Some(WAIT),
            told: &[],
            token: Some(token),
            gets_cookie: false,
            plan: None,
            now: NOW,
        });
        assert_eq!(response.body(), token);
    }
}

#[test]
fn a_waiting_visitor_gets_a_cookie_to_fill_and_a_refused_one_none() {
    let responder = responder(Page::default(), JsonProfile::Cloudflare, RateHeaders::Common);
    for line in [BROWSER, ("accept", "application/json")] {
        let request = request(&[line]);
        every_decision(&request, |answer| {
            let response = responder.respond(&Unforwarded { gets_cookie: true, ..*answer });
            let values: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
            assert_eq!(
                values.len(),
                usize::from(answer.outcome == Outcome::Wait),
                "{}",
                answer.reason
            );
            assert!(values.iter().all(|value| value.is_empty()));
        });
    }
}

#[test]
fn only_an_answer_to_a_request_with_an_origin_exposes_its_headers() {
    let responder = responder(Page::default(), JsonProfile::Cloudflare, RateHeaders::Common);
    for (lines, is_exposed, varies) in [
        (&[("accept", "application/json")] as &[_], false, false),
        (&[("accept", "application/json"), ORIGIN], true, true),
        (&[BROWSER], false, true),
        (&[BROWSER, ORIGIN], true, true),
    ] {
        every_decision(&request(lines), |answer| {
            let client = Client::classify(answer.request.method(), answer.request.headers());
            let headers = responder.respond(answer).headers().clone();
            assert_eq!(headers.contains_key(ACCESS_CONTROL_EXPOSE_HEADERS), is_exposed);
            if matches!(answer.about, About::Room(..)) || !client.is_program() {
                assert_eq!(headers.contains_key("vary"), varies);
            }
        });
    }
}

#[test]
fn a_waiting_program_gets_five_headers_and_a_short_object() {
    let responder = responder(Page::default(), JsonProfile::default(), RateHeaders::default());
    let rules = RoomRules::new("shop", 1);
    let ticket = sample::ticket();
    let response = responder.respond(&Unforwarded {
        request: (&request(&[("accept", "application/json")])).into(),
        outcome: Outcome::Wait,
        reason: &Reason::QueuedEarly,
        about: About::Room(&rules, Some(&ticket)),
        retry_after: Some(9 * WAIT),
        told: &[],
        token: None,
        gets_cookie: false,
        plan: None,
        now: NOW,
    });
    assert_eq!(
        text(response.headers()),
        "cache-control: no-store\n\
         content-length: 269\n\
         content-type: application/json\n\
         retry-after: 18\n\
         waiting-room: wait\n"
    );
    assert!(response.body().len() <= 300, "{:?}", response.body());
}
