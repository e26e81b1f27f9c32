use std::{collections::HashSet, time::Duration};

use proptest::prelude::*;
use waiting_room_core::room::WaitEstimate;

use super::*;
use crate::{request::ClientKind, respond::sample};

/// Returns the page with this title, and with every other setting if `is_full`.
fn page(title: &str, is_full: bool) -> OwnPage {
    let mut look = Look { title: Some(title.into()), ..Look::default() };
    if is_full {
        look.set_logo("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E").unwrap();
        look.set_accent("#0b6e4f", "#5fd3a8").unwrap();
        look.set_notice("Doors open at <ten> & \"close\" at six.").unwrap();
        look.set_support("https://shop.example/help?a=b&c='d'").unwrap();
    }
    OwnPage::new(look)
}

/// Checks that every element of a page ends in the right order, and that no id occurs twice.
fn check(html: &str) {
    let (body, script) = html.split_once("<script>").unwrap();
    let (head, rest) = body.split_once("<style>").unwrap();
    let markup = [head, rest.split_once("</style>").unwrap().1].concat();
    let mut open = Vec::new();
    let mut ids = HashSet::new();
    for tag in markup.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        let name = tag.split([' ', '/']).next().unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !matches!(name, "!doctype" | "br" | "img" | "input" | "link" | "meta" | "rect") {
            open.push(name);
        }
        if let Some((_, id)) = tag.split_once(" id=\"") {
            assert!(ids.insert(id.split('"').next().unwrap()), "{tag}");
        }
    }
    assert_eq!(open, ["html", "body"]);
    assert!(script.ends_with("</script>\n</body>\n</html>"));
}

#[test]
fn every_sample_is_a_whole_page_with_its_sentences_in_every_language() {
    for page in [false, true].map(|is_full| page("Tom & \"Jerry\"'s </title>", is_full)) {
        for language in Language::ALL {
            for answer in sample::answers() {
                let answer = Answer { language, ..answer };
                let html = page.render(&answer);
                check(&html);
                let dir = if language.is_right_to_left() { "rtl" } else { "ltr" };
                let root = format!("<html lang=\"{}\" dir=\"{dir}\">", language.tag());
                assert!(html.contains(&root), "{root}");
                let Message { title, detail, wait, keep, again, .. } = answer.message();
                let event = answer.event.as_deref();
                let digits =
                    event.and_then(|event| event.seed.as_ref().or(event.commitment.as_ref()));
                let detail = match (detail, digits) {
                    (Some(detail), Some(digits)) if detail.contains(digits) => {
                        assert!(html.contains(&format!("</summary><code>{digits}</code>")));
                        Some(detail.replace(digits, &format!("{}…", &digits[..8])).into())
                    }
                    (detail, _) => detail,
                };
                for text in [Some(title), detail, wait, keep, again].into_iter().flatten() {
                    assert!(html.contains(&escaped(&text)), "{text}");
                }
            }
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
    let times = (seconds(), prop::option::of(seconds()));
    let flags = any::<[bool; 4]>();
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
    fn any_answer_is_a_whole_page(answer in answers(), title in "[ -~é]{0,12}", is_full: bool) {
        check(&page(&title, is_full).render(&answer));
    }
}

#[test]
fn the_buffer_of_a_page_is_large_enough() {
    for answer in sample::answers() {
        let page = page("Midsummer Festival", true);
        let rendered = page.render(&answer);
        let frame = page.frames[answer.language.index()].get().unwrap();
        assert!(rendered.len() <= frame.len + ROOM);
    }
}

/// Returns the CSP source expression of the only element of this name in a page.
fn source_of(html: &str, name: &str) -> String {
    let [begin, end] = [format!("<{name}>"), format!("</{name}>")];
    let content = html.split_once(&begin).unwrap().1.split_once(&end).unwrap().0;
    source(content)
}

#[test]
fn the_constant_hashes_are_those_of_the_style_and_the_script() {
    let html = OwnPage::new(Look::default()).render(&sample::placed());
    assert_eq!(source_of(&html, "style"), STYLE_SOURCE);
    assert_eq!(source_of(&html, "script"), SCRIPT_SOURCE);
}

#[test]
fn a_character_is_escaped_wherever_it_is_in_a_text() {
    let escaped = |text: &str| {
        let mut html = String::new();
        escape(text, &mut html);
        html
    };
    for len in 0..20 {
        let text = "a\u{e9}0.".chars().cycle().take(len).collect::<String>();
        assert_eq!(escaped(&text), text);
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (before, after) = text.split_at(at);
            assert_eq!(escaped(&[before, "<", after].concat()), [before, "&lt;", after].concat());
        }
    }
    assert_eq!(escaped("\"&'/<>"), "&quot;&amp;&#x27;&#x2f;&lt;&gt;");
}
