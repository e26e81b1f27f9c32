use std::collections::HashSet;

use http::{HeaderMap, Request, header::ACCESS_CONTROL_EXPOSE_HEADERS};
use serde_json::{Value, json};
use waiting_room_core::{
    Quota, Reason, Timestamp,
    rate::{Algorithm, Decision},
};

use super::*;
use crate::rate_headers::{PolicyLine, PolicyState, QuotaUnit};

#[cfg(feature = "room")]
mod frequent;

const NOW: Timestamp = Timestamp::from_secs(1_795_248_000);
const WAIT: Duration = Duration::from_millis(1_900);

fn line(name: &str) -> PolicyLine {
    let quota = Quota::per_minute(100);
    PolicyLine::new(name, &quota, Algorithm::Gcra, QuotaUnit::Requests).unwrap()
}

fn decision(retry_after: Option<Duration>) -> Decision {
    Decision::new(100, 0, retry_after.unwrap_or_default(), retry_after)
}

fn request(lines: &[(&'static str, &'static str)]) -> Request<()> {
    let mut request = Request::new(());
    for (name, value) in lines {
        request.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    request
}

fn responder(page: Page, json: JsonProfile, profile: RateHeaders) -> Responder {
    let statuses = Statuses::default();
    Responder::new("shop".into(), page, Shapes::default(), statuses, json, profile)
}

fn refuse(
    profile: RateHeaders,
    request: &Request<()>,
    policies: &[(&PolicyLine, Decision)],
    retry_after: Option<Duration>,
) -> Response<Bytes> {
    let reason = Reason::RefusedRate(policies[0].0.name().into());
    let told: Vec<_> =
        policies.iter().map(|(line, decision)| PolicyState { line, decision: *decision }).collect();
    responder(Page::default(), JsonProfile::Compact, profile).respond(&Unforwarded {
        request: request.into(),
        outcome: Outcome::Refuse,
        reason: &reason,
        about: About::Limit,
        retry_after,
        told: &told,
        token: None,
        gets_cookie: false,
        plan: None,
        now: NOW,
    })
}

/// Refuses a request that exceeds only the limit `per_ip`, with the default headers.
fn refuse_one(request: &Request<()>) -> Response<Bytes> {
    refuse(RateHeaders::Combined, request, &[(&line("per_ip"), decision(Some(WAIT)))], Some(WAIT))
}

/// Formats all headers, sorted, one per line.
fn text(headers: &HeaderMap) -> String {
    let mut lines: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines.concat()
}

const PROGRAMS: [&[(&str, &str)]; 5] = [
    &[],
    &[("accept", "*/*")],
    &[("accept", "application/json")],
    &[("accept", "application/problem+json")],
    &[("accept", "image/png"), ("accept-language", "de")],
];

const DOCUMENT: &str = concat!(
    r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#,
    r#""title":"Request cannot be satisfied as assigned quota has been exceeded","#,
    r#""status":429,"detail":"The limit \"per_ip\" allows 100 per 60 s.","#,
    r#""reason":"refused:rate:per_ip","violated-policies":["per_ip"]}"#,
);

#[test]
fn a_program_gets_the_prepared_document_and_no_extra_header() {
    for lines in PROGRAMS {
        let response = refuse_one(&request(lines));
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.body(), DOCUMENT);
        assert_eq!(
            text(response.headers()),
            "cache-control: no-store\n\
             content-length: 275\n\
             content-type: application/problem+json\n\
             ratelimit-policy: \"per_ip\";q=100;w=60\n\
             ratelimit: \"per_ip\";r=0;t=2;wr-limit=100;wr-remaining=0;wr-reset=2\n\
             retry-after: 2\n\
             x-ratelimit-limit: 100\n\
             x-ratelimit-remaining: 0\n\
             x-ratelimit-reset: 1795248002\n\
             x-ratelimit-retry-after: 2\n"
        );
    }
}

#[test]
fn every_profile_states_when_to_return() {
    for profile in RateHeaders::ALL {
        for lines in [&[] as &[_], &[("accept", "text/plain")]] {
            let policies = [(&line("per_ip"), decision(Some(WAIT)))];
            let response = refuse(profile, &request(lines), &policies, Some(WAIT));
            let headers = response.headers();
            assert_eq!(headers[RETRY_AFTER], "2", "{profile:?}");
            let is_told = matches!(
                profile,
                RateHeaders::XRateLimit | RateHeaders::Combined | RateHeaders::Common
            );
            assert_eq!(headers.contains_key("x-ratelimit-retry-after"), is_told, "{profile:?}");
        }
    }
}

#[test]
fn a_wait_of_zero_is_sent_as_a_second() {
    let policies = [(&line("per_ip"), decision(Some(Duration::ZERO)))];
    let response = refuse(RateHeaders::XRateLimit, &request(&[]), &policies, Some(Duration::ZERO));
    assert_eq!(response.headers()[RETRY_AFTER], "1");
    assert_eq!(response.headers()["x-ratelimit-retry-after"], "1");
}

#[test]
fn a_request_that_can_never_be_allowed_gets_no_retry_time() {
    let policies = [(&line("per_ip"), decision(None))];
    let response = refuse(RateHeaders::Combined, &request(&[]), &policies, None);
    assert_eq!(
        text(response.headers()),
        "cache-control: no-store\n\
         content-length: 275\n\
         content-type: application/problem+json\n\
         ratelimit-policy: \"per_ip\";q=100;w=60\n\
         ratelimit: \"per_ip\";r=0;wr-limit=100;wr-remaining=0;wr-reset=0\n\
         x-ratelimit-limit: 100\n\
         x-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 1795248000\n"
    );
}

#[test]
fn the_longest_wait_fits_into_a_header() {
    let policies = [(&line("per_ip"), decision(Some(Duration::MAX)))];
    for lines in [&[] as &[_], &[("accept", "text/plain")]] {
        let response = refuse(RateHeaders::None, &request(lines), &policies, Some(Duration::MAX));
        assert_eq!(response.headers()[RETRY_AFTER], "999999999999999");
    }
}

/// Refuses a request at a gate that lets 10 requests run at once.
fn refuse_at_gate(
    status: StatusCode,
    request: &Request<()>,
    reason: &Reason,
    retry_after: Option<Duration>,
) -> Response<Bytes> {
    let line = PolicyLine::concurrent("works", 10).unwrap();
    let decision = Decision::new(0, 0, retry_after.unwrap_or_default(), retry_after);
    let profile = RateHeaders::Combined;
    responder(Page::default(), JsonProfile::Compact, profile).respond(&Unforwarded {
        request: request.into(),
        outcome: Outcome::Refuse,
        reason,
        about: About::Gate(status),
        retry_after,
        told: &[PolicyState { line: &line, decision }],
        token: None,
        gets_cookie: false,
        plan: None,
        now: NOW,
    })
}

#[test]
fn a_program_at_a_full_gate_gets_the_prepared_document_too() {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    for lines in PROGRAMS {
        let response =
            refuse_at_gate(status, &request(lines), &Reason::RefusedGateFull, Some(WAIT));
        assert_eq!(response.status(), status);
        assert_eq!(
            std::str::from_utf8(response.body()).unwrap(),
            concat!(
                r#"{"type":"https://iana.org/assignments/http-problem-types#"#,
                r#"temporary-reduced-capacity","title":"Request cannot be satisfied due to "#,
                r#"temporary server capacity constraints","status":503,"detail":"Many people "#,
                r#"are here right now. All places are taken at the moment.","#,
                r#""reason":"refused:gate_full"}"#,
            )
        );
        assert_eq!(
            text(response.headers()),
            "cache-control: no-store\n\
             content-length: 289\n\
             content-type: application/problem+json\n\
             ratelimit-policy: \"works\";q=10;qu=\"concurrent-requests\"\n\
             ratelimit: \"works\";r=0;t=2;wr-limit=10;wr-remaining=0;wr-reset=2\n\
             retry-after: 2\n\
             waiting-room: refuse\n\
             x-ratelimit-limit: 10\n\
             x-ratelimit-remaining: 0\n\
             x-ratelimit-reset: 1795248002\n\
             x-ratelimit-retry-after: 2\n"
        );
    }
}

#[test]
fn each_reason_of_a_gate_has_its_document_with_each_of_its_statuses() {
    use Reason::{RefusedGateDrained, RefusedGateFull, RefusedGateShed, RefusedGateTimeout};
    let mut documents = HashSet::new();
    for reason in [RefusedGateDrained, RefusedGateFull, RefusedGateShed, RefusedGateTimeout] {
        for status in [429, 503, 504] {
            let status = StatusCode::from_u16(status).unwrap();
            let response = refuse_at_gate(status, &request(&[]), &reason, None);
            assert_eq!(response.status(), status);
            assert!(!response.headers().contains_key(RETRY_AFTER));
            let problem: Value = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(problem["status"], status.as_u16());
            assert_eq!(problem["reason"], reason.to_string());
            documents.insert(response.into_body());
        }
    }
    assert_eq!(documents.len(), 12);
}

#[test]
fn several_violated_policies_are_all_named() {
    let burst = line("burst");
    let daily = line("da\"ily");
    let free = line("free");
    let fine = Decision::new(100, 9, WAIT, Some(Duration::ZERO));
    let policies =
        [(&burst, decision(Some(WAIT))), (&free, fine), (&daily, decision(Some(2 * WAIT)))];
    let response = refuse(RateHeaders::Combined, &request(&[]), &policies, Some(2 * WAIT));
    let problem: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(problem["violated-policies"], json!(["burst", "da\"ily"]));
    assert_eq!(
        problem["detail"],
        "The limit \"burst\" allows 100 per 60 s. The limit \"da\\\"ily\" allows 100 per 60 s."
    );
    assert_eq!(problem["reason"], "refused:rate:burst");
    assert_eq!(
        response.headers()["ratelimit-policy"],
        r#""burst";q=100;w=60, "free";q=100;w=60, "da\"ily";q=100;w=60"#
    );
    let one = refuse(RateHeaders::Combined, &request(&[]), &policies[..2], Some(WAIT));
    assert_eq!(one.body(), &burst.problem);
}
