use std::fmt::Write;

use proptest::prelude::*;
use serde_json::Value;

use super::{
    tags::{MAX_DEPTH, MAX_TAGS},
    *,
};
use crate::{
    config::ConfigErrorKind,
    respond::{Page, sample},
};

fn render(source: &str, answer: &Answer) -> String {
    MustachePage::parse(source).unwrap().render(answer)
}

fn mistake(source: &str) -> String {
    match MustachePage::parse(source) {
        Ok(_) => panic!("{source:?} is accepted"),
        Err(mistake) => mistake.to_string(),
    }
}

#[test]
fn the_sections_that_cloudflare_documents_show_the_wait() {
    let source = "<h2>{{#waitTimeKnown}}Your wait is {{waitTimeFormatted}}.{{/waitTimeKnown}}\
                  {{^waitTimeKnown}}{{#queueIsFull}}Over a day.{{/queueIsFull}}\
                  {{^queueIsFull}}Unavailable.{{/queueIsFull}}{{/waitTimeKnown}}</h2>\n\
                  <script>var wait = {{waitTime}}, known = {{waitTimeKnown}};</script>";
    let page = |answer: Answer| render(source, &answer).replace('\n', "");
    assert_eq!(
        page(sample::placed()),
        "<h2>Your wait is 6 minutes.</h2><script>var wait = 6, known = true;</script>"
    );
    assert_eq!(
        page(sample::paused()),
        "<h2>Unavailable.</h2><script>var wait = 0, known = false;</script>"
    );
    let full = sample::refusal(waiting_room_core::Reason::RefusedLineFull);
    assert_eq!(page(full), "<h2>Over a day.</h2><script>var wait = 0, known = false;</script>");
}

/// Returns the fields of `cfWaitingRoom` as JSON.
fn fields(answer: &Answer) -> serde_json::Map<String, Value> {
    match serde_json::to_value(CfWaitingRoom::new(answer)).unwrap() {
        Value::Object(fields) => fields,
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => panic!("{other}"),
    }
}

#[test]
fn every_field_of_the_json_response_is_a_variable_with_the_same_value() {
    for answer in sample::answers().chain([sample::lottery()]) {
        let fields = fields(&answer);
        assert_eq!(fields.len() + 2, CfWaitingRoom::VARIABLES.len());
        let object = CfWaitingRoom::new(&answer);
        for (name, value) in &fields {
            let expected = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let variable = object.variable(name).unwrap();
            assert_eq!(variable.text(), expected, "{name}");
            let is_truthy = !["false", "0", ""].contains(&&*expected);
            assert_eq!(variable.is_truthy(), is_truthy, "{name}");
        }
    }
}

#[test]
fn every_name_in_the_list_is_a_variable_and_short() {
    let longest = Answer {
        wait: Some(waiting_room_core::room::WaitEstimate::new(
            std::time::Duration::MAX,
            std::time::Duration::MAX,
            std::time::Duration::MAX,
        )),
        ..sample::lottery()
    };
    for answer in sample::answers().chain([longest]) {
        for name in CfWaitingRoom::VARIABLES {
            let object = CfWaitingRoom::new(&answer);
            let value = object.variable(name).unwrap_or_else(|| panic!("{name}"));
            assert!(value.text().len() <= MustachePage::MAX_VALUE_LEN, "{name}");
        }
    }
}

#[test]
fn hours_and_minutes_are_those_of_the_wait() {
    let mut answer = sample::placed();
    let [p25, p50, p75] = [60, 125 * 60, 300 * 60].map(std::time::Duration::from_secs);
    answer.wait = Some(waiting_room_core::room::WaitEstimate::new(p25, p50, p75));
    assert_eq!(render("{{waitTimeHours}}:{{waitTimeHourMinutes}}", &answer), "2:5");
}

#[test]
fn a_section_of_0_or_of_an_empty_text_is_not_rendered() {
    let source = "{{#turnstile}}a{{/turnstile}}{{^turnstile}}b{{/turnstile}}\
                  {{#waitTime}}c{{/waitTime}}{{^waitTime}}d{{/waitTime}}\
                  {{#waitTimeFormatted}}e{{/waitTimeFormatted}}";
    assert_eq!(render(source, &sample::paused()), "bde");
    assert_eq!(render(source, &sample::placed()), "bce");
}

#[test]
fn a_tag_may_have_spaces_lines_and_three_braces_and_a_comment_is_left_out() {
    let source = "{{ waitTime }}|{{&waitTime}}|{{{ waitTime }}}|{{! a }}{{!}}{{!\n b }}\
                  {{#\n queueAll }}x{{/ queueAll\t}}{{^queueAll}}y{{/queueAll}}|{a:{{waitTime}}}";
    assert_eq!(render(source, &sample::placed()), "6|6|6|y|{a:6}");
}

#[test]
fn an_error_is_named_with_its_line() {
    for (source, message) in [
        ("<p>\n{{waitTimes}}", "line 2 (no variable has the name \"waitTimes\")"),
        ("{{!\n\n}}\n{{.}}", "line 4 (no variable has the name \".\")"),
        ("{{}}", "line 1 (no variable has the name \"\")"),
        ("\n\n{{#queueAll}} open", "line 3 (the section \"queueAll\" does not end)"),
        ("{{/queueAll}}", "line 1 ({{/queueAll}} closes no section)"),
        (
            "{{#queueAll}}\n{{^queueIsFull}}\n{{/queueAll}}",
            "line 3 ({{/queueAll}} inside the section \"queueIsFull\" that begins on line 2)",
        ),
        ("{{waitTime", "line 1 (a tag without }})"),
        ("{{{turnstile}}", "line 1 (a tag without }}})"),
        ("{{> footer}}", "line 1 (a partial)"),
        ("{{=<% %>=}}", "line 1 (a tag that changes the delimiters)"),
    ] {
        assert_eq!(mistake(source), message, "{source:?}");
    }
    let error = Page::mustache("<p>\n{{waitTimes}}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "page is a template with a mistake on line 2 (no variable has the name \"waitTimes\"), \
         expected a Mustache template with the variables of Cloudflare Waiting Room"
    );
}

#[test]
fn a_template_that_nests_or_repeats_without_end_is_refused() {
    let nested =
        |times: usize| "{{#queueAll}}".repeat(times) + "x" + &"{{/queueAll}}".repeat(times);
    assert!(MustachePage::parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(mistake(&nested(MAX_DEPTH + 1)), "line 1 (more than 16 nested sections)");
    // Without the bound on nesting, this template would need a stack frame for each section.
    assert_eq!(mistake(&nested(40_000)), "line 1 (more than 16 nested sections)");
    let tags = "{{waitTime}}".repeat(MAX_TAGS);
    let page = MustachePage::parse(&tags).unwrap().render(&sample::placed());
    assert_eq!(page.len(), MAX_TAGS);
    assert_eq!(mistake(&(tags + "{{waitTime}}")), "line 1 (more than 10000 tags)");
    assert_eq!(mistake(&"{{!".repeat(300_000)), "line 1 (a tag without }})");
}

#[test]
fn a_template_of_1_mib_is_the_longest() {
    let page = Page::mustache("a".repeat(1024 * 1024)).unwrap();
    assert!(page.html(&sample::placed()).unwrap().unwrap().0.len() == 1024 * 1024);
    let error = Page::mustache("a".repeat(1024 * 1024 + 1)).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    assert_eq!(
        error.to_string(),
        "page is a template of 1048577 bytes, expected at most 1048576 bytes"
    );
}

#[test]
fn a_policy_with_a_nonce_is_refused() {
    let page = Page::mustache("x").unwrap();
    let error = page.clone().content_security_policy(Page::STRICT_POLICY).checked().unwrap_err();
    assert!(error.to_string().contains("has no nonces"), "{error}");
    assert!(page.content_security_policy("default-src 'unsafe-inline'").checked().is_ok());
}

/// A part of a template.
#[derive(Clone, Debug)]
enum Part {
    Section { name: &'static str, is_inverse: bool, inner: Vec<Part> },
    Text(String),
    Value(&'static str),
}

/// Returns a part that contains up to four levels of sections.
fn part() -> impl Strategy<Value = Part> {
    let name = || prop::sample::select(CfWaitingRoom::VARIABLES.to_vec());
    let leaf = prop_oneof!["[a-z<é \\n}]{0,4}".prop_map(Part::Text), name().prop_map(Part::Value)];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        (name(), any::<bool>(), prop::collection::vec(inner, 0..4))
            .prop_map(|(name, is_inverse, inner)| Part::Section { name, is_inverse, inner })
    })
}

/// Appends the source of a part to `source`, and its rendered text to `page`.
fn write_part(part: &Part, values: &CfWaitingRoom, source: &mut String, page: &mut String) {
    match part {
        Part::Section { name, is_inverse, inner } => {
            let sign = if *is_inverse { '^' } else { '#' };
            write!(source, "{{{{{sign}{name}}}}}").unwrap();
            let mut rendered = String::new();
            inner.iter().for_each(|part| write_part(part, values, source, &mut rendered));
            write!(source, "{{{{/{name}}}}}").unwrap();
            if values.variable(name).unwrap().is_truthy() != *is_inverse {
                page.push_str(&rendered);
            }
        }
        Part::Text(text) => {
            source.push_str(text);
            page.push_str(text);
        }
        Part::Value(name) => {
            write!(source, "{{{{{name}}}}}").unwrap();
            page.push_str(&values.variable(name).unwrap().text());
        }
    }
}

proptest! {
    #[test]
    fn sections_inside_sections_are_rendered_as_by_recursion(
        parts in prop::collection::vec(part(), 0..6),
        answer in prop::sample::select(sample::answers().collect::<Vec<_>>()),
    ) {
        let mut source = String::new();
        let mut page = String::new();
        let values = CfWaitingRoom::new(&answer);
        parts.iter().for_each(|part| write_part(part, &values, &mut source, &mut page));
        prop_assert_eq!(render(&source, &answer), page);
    }

    /// A template is either refused or rendered, and the page is never longer than its bound.
    #[test]
    fn any_template_is_refused_or_rendered_within_its_bounds(
        parts in prop::collection::vec(0usize..20, 0..60),
    ) {
        const PARTS: [&str; 20] = [
            "{{", "}}", "{{{", "}}}", "{", "}", "#", "^", "/", "!", "=", ">", "&", " ", "\n",
            "waitTime", "queueAll", "{{#queueAll}}", "{{/queueAll}}", "é",
        ];
        let source = parts.iter().fold(String::new(), |mut source, part| {
            write!(source, "{}", PARTS[*part]).unwrap();
            source
        });
        if let Ok(page) = MustachePage::parse(&source) {
            let html = page.render(&sample::placed());
            let tags = source.matches("{{").count();
            prop_assert!(html.len() <= source.len() + tags * MustachePage::MAX_VALUE_LEN);
            prop_assert!(!html.contains("{{"), "{}", html);
        }
    }
}
