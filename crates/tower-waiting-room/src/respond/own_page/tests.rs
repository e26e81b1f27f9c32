use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use waiting_room_core::{Reason, room::WaitEstimate};

use super::*;
use crate::{
    request::ClientKind,
    respond::{
        html::{Template, Variables},
        sample,
    },
};

thread_local! {
    /// The page as a template.
    static TEMPLATE: Template = Template::parse(SOURCE.clone()).unwrap();
}

/// Renders the page with the template engine.
fn expected(answer: &Answer, title: &str) -> String {
    let variables = Arc::new(Variables::new(answer, &Arc::from(title)));
    TEMPLATE.with(|template| template.render(&variables).unwrap())
}

#[test]
fn the_page_is_that_of_the_template_engine_for_every_sample_in_every_language() {
    for language in Language::ALL {
        for answer in sample::answers() {
            let answer = Answer { language, ..answer };
            let title = "Tom & \"Jerry\"'s </title>";
            assert_eq!(render(&answer, title), expected(&answer, title), "{answer:?}");
        }
    }
}

/// Returns answers with any combination of facts, including combinations that never occur.
fn answers() -> impl Strategy<Value = Answer> {
    let samples: Vec<_> = sample::answers().collect();
    let count = || prop::option::of(prop_oneof![0u32..3, 0u32..2_000, any::<u32>()]);
    let seconds = || prop_oneof![0u64..200, 0u64..100_000].prop_map(Duration::from_secs);
    let wait = (seconds(), seconds(), seconds());
    let wait = wait.prop_map(|(p25, p50, p75)| WaitEstimate::new(p25, p50, p75));
    let outcome = prop_oneof![Just(Outcome::Admit), Just(Outcome::Refuse), Just(Outcome::Wait)];
    let kind = prop_oneof![Just(ClientKind::Navigation), Just(ClientKind::Text)];
    let (times, flags) = ((seconds(), prop::option::of(seconds())), any::<[bool; 4]>());
    (
        (prop::sample::select(samples), prop::sample::select(Language::ALL.to_vec())),
        (outcome, kind, count(), count()),
        (prop::option::of(wait), prop::option::of(seconds()), times, flags),
    )
        .prop_map(|((sample, language), (outcome, kind, position, ahead), rest)| {
            let (wait, retry_after, (since, retention), flags) = rest;
            let [is_approximate, is_placed, is_queue_all, is_safe] = flags;
            Answer {
                language,
                outcome,
                kind,
                position,
                ahead,
                wait,
                retry_after,
                waiting_since: Some(sample.now.before(since)),
                place_retention: retention.unwrap_or(sample.place_retention),
                is_approximate,
                is_placed,
                is_queue_all,
                is_safe,
                push: is_safe.then(|| "/a/b".into()),
                ..sample
            }
        })
}

proptest! {
    #[test]
    fn the_page_is_that_of_the_template_engine(answer in answers(), title in "[ -~é]{0,12}") {
        prop_assert_eq!(render(&answer, &title), expected(&answer, &title));
    }
}

#[test]
fn the_buffer_of_a_page_is_large_enough() {
    for answer in sample::answers() {
        let page = page_in(answer.language);
        assert!(render(&answer, "Midsummer Festival").len() <= page.len + ROOM);
    }
}

#[test]
fn a_text_after_the_end_of_a_block_is_in_no_block() {
    let source = "a{% if labels.unsent %}b{% elif message.number %}c{% else %}d{% endif %}{e{# f #} {{- lang }}\n";
    let PageSteps { steps, len } = split(source, Language::GERMAN);
    let text = format!("{steps:?}");
    assert_eq!(
        text,
        "[Text(\"a\"), Unless(IsUnsent, 4), Text(\"b\"), Jump(8), Unless(HasNumber, 7), \
         Text(\"c\"), Jump(8), Text(\"d\"), Text(\"{ede\")]"
    );
    assert_eq!(len, 8);
}

#[test]
#[should_panic(expected = "is not a slot of the page")]
fn an_unknown_expression_is_found_at_once() {
    split("{{ message.titel }}", Language::ENGLISH);
}

#[test]
fn a_refusal_without_a_time_offers_no_link() {
    let rejected = render(&sample::refusal(Reason::RefusedReject), "shop");
    assert!(!rejected.contains("class=\"button\"") && rejected.contains("data-retry=\"20\""));
}
