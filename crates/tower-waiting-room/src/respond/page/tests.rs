use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, StatusCode};
use sha2::{Digest, Sha256};

use waiting_room_core::Reason;

use super::*;
use crate::{
    request::Language,
    respond::{form::respond, sample},
};

fn html(page: &Page, answer: &Answer) -> String {
    String::from_utf8(page.response(answer, &head(&Request::new(()))).unwrap().into_body().to_vec())
        .unwrap()
}

/// Returns every sample answer with every language.
fn every_answer() -> impl Iterator<Item = (Language, Answer)> {
    Language::ALL
        .into_iter()
        .flat_map(|language| sample::answers().map(move |answer| (language, answer)))
}

fn error(template: impl Into<String>) -> String {
    Page::template(template).unwrap_err().to_string()
}

#[test]
fn a_waiting_visitor_sees_its_place_its_wait_and_the_retention() {
    let html = html(&Page::default(), &sample::placed());
    assert!(html.contains("<title>No. 12 in line · shop</title>"));
    assert!(html.contains("<span>You are number </span><b>12</b><span> in line</span>"));
    assert!(html.contains("Estimated wait: about 4 to 7 minutes."));
    assert!(html.contains("You may close this tab for 5 minutes without losing your place."));
    assert!(html.contains("datetime=\"2026-11-21T08:00:00.000Z\">08:00 UTC<"));
    assert!(html.contains("width=\"31%\""));
    assert!(!html.contains("data-unsent") && !html.contains("id=\"reload\""));
    let with_link = Answer { transfer: Some("/transfer".into()), ..sample::placed() };
    let moves =
        |html: &str| ["here", "link", "void"].map(|id| html.contains(&format!("id=\"{id}\"")));
    assert_eq!(
        (moves(&html), moves(&self::html(&Page::default(), &with_link))),
        ([false; 3], [true; 3])
    );
}

#[test]
fn after_a_post_the_page_offers_to_send_the_form_again() {
    let html = html(&Page::default(), &sample::unsent());
    assert!(html.contains("What you entered has not been sent yet."));
    assert!(html.contains("id=\"reload\" hidden>Send again</button>"));
    assert!(html.contains(" data-unsent>"));
}

#[test]
fn a_refusal_offers_to_return_unless_that_is_pointless() {
    let page = Page::default();
    assert!(
        html(&page, &sample::refusal(Reason::RefusedLineFull)).contains("href=\"\">Try again<")
    );
    let rejected = html(&page, &sample::refusal(Reason::RefusedReject));
    assert!(rejected.contains("Sorry, we are full") && !rejected.contains("href=\"\""));
}

#[test]
fn filled_in_values_are_escaped() {
    let answer = Answer { room: "<script>\"&'".into(), ..sample::placed() };
    let html = html(&Page::default(), &answer);
    assert!(!html.contains("<script>\"") && html.contains("&lt;script&gt;&quot;&amp;&#x27;"));
    let own = Page::template("<a title=\"{{ room }}\">").unwrap();
    assert_eq!(self::html(&own, &answer), "<a title=\"&lt;script&gt;&quot;&amp;&#x27;\">");
}

/// Returns the page of a response, and its policy.
fn governed(page: &Page, answer: &Answer) -> (String, String) {
    let response = page.response(answer, &head(&Request::new(()))).unwrap();
    let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    (String::from_utf8(response.into_body().to_vec()).unwrap(), policy)
}

/// Returns the only element of this name in a page, up to its end tag.
fn element<'a>(html: &'a str, name: &str) -> &'a str {
    let parts: Vec<_> = html.split(&format!("<{name}")).collect();
    assert_eq!(parts.len(), 2, "{name}");
    parts[1].split_once(&format!("</{name}>")).unwrap().0
}

#[test]
fn a_refusal_page_retries_unless_that_is_pointless_or_repeats_a_post() {
    let again = |answer: &Answer| {
        let html = html(&Page::default(), answer);
        let refreshes = html.contains("<noscript><meta http-equiv=\"refresh\" content=\"120\">");
        let says_so = html.contains("This page tries again by itself.");
        assert_eq!(html.contains("id=\"retry\""), says_so);
        (refreshes, says_so)
    };
    let limit = sample::refusal(Reason::RefusedRate("per_ip".into()));
    for answer in [&limit, &sample::refusal(Reason::RefusedGateFull)] {
        assert_eq!(again(answer), (true, true));
    }
    assert_eq!(again(&Answer { is_safe: false, ..limit }), (false, false));
    assert_eq!(again(&sample::refusal(Reason::RefusedReject)), (false, false));
    assert_eq!(again(&sample::placed()), (false, false));
}

#[test]
fn the_page_contains_the_settings_of_the_operator_and_no_others() {
    let logo = "data:image/svg+xml,%3Csvg/%3E";
    let page = Page::default().title("A <b>").logo(logo).notice("<i> & co");
    let page = page.support("https://shop.example/help");
    let flawed = page.clone().accent("#0b6", "#5fd3a8").notice("");
    assert!(flawed.checked().unwrap_err().to_string().contains("#00bb66"));
    let page = page.accent("#0b6e4f", "#5fd3a8").checked().unwrap();
    let full = html(&page, &sample::placed());
    for part in [
        "<p class=\"room\">A &lt;b&gt;</p>",
        "<img class=\"logo\" src=\"data:image&#x2f;svg+xml,%3Csvg&#x2f;%3E\" alt=\"\">",
        "id=\"notice\">&lt;i&gt; &amp; co</p>",
        "href=\"https:&#x2f;&#x2f;shop.example&#x2f;help\"",
        ">Help and contact</a>",
        ":root { --accent: #0b6e4f; --accent-end: #0b6e4f; --on-accent: #ffffff; }",
        "{ :root { --accent: #5fd3a8; --accent-end: #5fd3a8; --on-accent: #000000; } }",
    ] {
        assert!(full.contains(part), "{part}");
    }
    let bare = html(&Page::default(), &sample::placed());
    for absent in ["<img", "id=\"notice\"", "class=\"support\"", "#0b6e4f"] {
        assert!(!bare.contains(absent), "{absent}");
    }
}

#[test]
fn a_setting_keeps_the_policy_that_was_configured_before() {
    let page = Page::default().content_security_policy("style-src 'nonce-{nonce}'");
    let (html, policy) = governed(&page.accent("#0b6e4f", "#5fd3a8"), &sample::placed());
    let style = element(&html, "style").strip_prefix('>').unwrap();
    let hash = STANDARD.encode(Sha256::digest(style));
    assert_eq!(policy, format!("style-src 'sha256-{hash}'"));
}

#[test]
fn the_policy_of_the_default_page_allows_its_own_style_and_script_only() {
    let page = Page::default().accent("#0b6e4f", "#5fd3a8");
    for (language, answer) in every_answer() {
        let (html, policy) = governed(&page, &Answer { language, ..answer });
        let [style, script] = ["style", "script"].map(|name| {
            let content = element(&html, name).strip_prefix('>').unwrap();
            format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)))
        });
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; \
                 img-src data:; base-uri 'none'; form-action 'self'"
            )
        );
        // No hash allows the style attribute of an element.
        assert!(!html.contains(" style="));
    }
}

#[test]
fn another_policy_for_the_default_page_allows_its_style_and_its_script_too() {
    let strict = Page::default().content_security_policy(Page::STRICT_POLICY);
    let (html, policy) = governed(&strict, &sample::placed());
    assert_eq!((html, policy.clone()), governed(&Page::default(), &sample::placed()));
    let sources = |of: &str| {
        let directive =
            policy.split("; ").find_map(|directive| directive.strip_prefix(of)).unwrap();
        directive.trim().to_owned()
    };
    let style = sources("style-src");
    let script = sources("script-src");
    let both = "default-src 'nonce-{nonce}' https:; frame-ancestors 'none'";
    let page = Page::default().content_security_policy(both);
    let expected = format!("default-src {style} {script} https:; frame-ancestors 'none'");
    assert_eq!(governed(&page, &sample::placed()).1, expected);
}

#[test]
fn each_page_of_a_template_has_a_nonce_of_its_own() {
    let source = "<style nonce=\"{{ nonce }}\"></style><script nonce=\"{{ nonce }}\"></script>";
    let page = Page::template(source).unwrap();
    let page = page.content_security_policy(Page::STRICT_POLICY);
    let [(html, policy), (_, second)] = [(), ()].map(|()| governed(&page, &sample::placed()));
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!((nonce.len(), html.matches(&format!("nonce=\"{nonce}\"")).count()), (32, 2));
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("{nonce}"));
    assert_ne!(policy, second);
}

#[test]
fn a_template_has_our_variables_and_cloudflares() {
    let source = "{{ title }}|{{ position }}|{% if wait %}{{ wait.p50 }}{% endif %}|{{ reason }}|{{ message.keep }}|{{ nonce|length }}\
                  |{{ waitTime }}|{{ waitTimeHours }}:{{ waitTimeHourMinutes }}|{{ waitTimeFormatted }}\
                  |{{ isFIFOQueue }}|{{ refreshIntervalSeconds }}|{{ lastUpdated }}";
    let page = Page::template(source).unwrap().title("Shop");
    assert_eq!(
        html(&page, &sample::placed()),
        "Shop|12|330|queued:active_limit|You may close this tab for 5 minutes without losing your \
         place.|32|6|0:6|6 minutes|True|9|2026-11-21T08:00:00.000Z"
    );
}

#[test]
fn a_template_goes_out_without_a_policy_until_it_is_given_one() {
    let page = Page::template("hello").unwrap();
    let response = page.response(&sample::placed(), &head(&Request::new(()))).unwrap();
    assert!(!response.headers().contains_key(CONTENT_SECURITY_POLICY));
    let page = page.content_security_policy("script-src 'nonce-{nonce}'");
    let response = page.response(&sample::placed(), &head(&Request::new(()))).unwrap();
    assert!(response.headers().contains_key(CONTENT_SECURITY_POLICY));
    assert!(page.content_security_policy("a\nb").checked().is_err());
}

#[test]
fn a_template_that_cannot_be_rendered_is_refused_with_its_line() {
    let syntax = error("<p>\n{% if %}\n</p>");
    assert!(
        syntax.starts_with("page is a template that fails on line 2 (syntax error: "),
        "{syntax}"
    );
    let misspelt = error("<p>\n\n{{ positoin }}</p>");
    assert!(misspelt.contains("line 3") && misspelt.contains("undefined"), "{misspelt}");
    let in_one_case = error("{% if is_line_full %}\n{{ nothing }}{% endif %}");
    assert!(in_one_case.contains("line 2 for refused:line_full"), "{in_one_case}");
}

#[test]
fn a_template_that_is_too_long_or_does_not_end_is_refused() {
    let long = error(" ".repeat(Page::MAX_TEMPLATE_LEN + 1));
    assert_eq!(long, "page is a template of 1048577 bytes, expected at most 1048576 bytes");
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    assert!(error(endless).contains("fuel"));
}

#[test]
fn a_closure_provides_the_body_and_the_layer_the_rest() {
    let page = Page::from_fn(|answer, head| {
        let body = format!("number {} for {}", answer.position.unwrap_or_default(), head.uri());
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/css"));
        response
    });
    let request = Request::get("/vip?a").body(()).unwrap();
    let response = respond(&sample::placed(), &page, &head(&request));
    assert_eq!(response.body(), "number 12 for /vip?a");
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/css");
    assert_eq!(response.headers()["refresh"], "9");
}

fn head(request: &Request<()>) -> RequestHead<'_> {
    RequestHead::from(request)
}

#[test]
fn the_language_that_another_setting_adds_can_be_the_default_in_any_order() {
    let english = include_str!("../i18n/en.ftl");
    let page = Page::default().default_language("gsw").texts("gsw", english).checked().unwrap();
    assert_eq!(page.languages().default().tag(), "gsw");
    let error = Page::default().default_language("xx").checked().unwrap_err();
    assert!(error.to_string().starts_with("page.default_language is \"xx\", expected one of ar,"));
}
