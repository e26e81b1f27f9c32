use headers_accept::Accept;
use mediatype::{MediaType, MediaTypeBuf, Name, ReadParams, names};
use proptest::prelude::*;

use super::*;

static OFFERS: [MediaType<'static>; 4] = [
    MediaType::new(names::TEXT, names::HTML),
    MediaType::new(names::APPLICATION, names::JSON),
    MediaType::from_parts(
        names::APPLICATION,
        Name::new_unchecked("problem"),
        Some(names::JSON),
        &[],
    ),
    MediaType::new(names::TEXT, names::PLAIN),
];

/// Determines the preference with the `headers-accept` crate.
fn expected(accept: &str) -> Option<Preference> {
    let accept: Accept = accept.parse().ok()?;
    accept.media_types().next()?;
    let accept = without_parameters(accept);
    let is_html = |media_type: &MediaTypeBuf| {
        media_type.ty() == names::TEXT && media_type.subty() == names::HTML
    };
    let best = |offers: &'static [MediaType<'static>]| {
        let chosen = accept.negotiate(offers)?;
        let forms = FORMS.into_iter().map(|(form, _)| form);
        forms.zip(&OFFERS).find(|(_, offer)| *offer == chosen).map(|(form, _)| form)
    };
    let data = best(&OFFERS[1..]);
    let any = if accept.media_types().any(is_html) { best(&OFFERS) } else { data };
    Some(Preference { any, data })
}

/// Returns the list without parameters other than weights. `headers-accept` would compare such
/// parameters with those of the offers.
fn without_parameters(accept: Accept) -> Accept {
    let range = |range: &MediaTypeBuf| match range.get_param(names::Q) {
        Some(weight) => format!("{};q={weight}", range.essence()),
        None => range.essence().to_string(),
    };
    let ranges: Vec<String> = accept.media_types().map(range).collect();
    ranges.join(",").parse().unwrap()
}

fn compare(accept: &str) {
    assert_eq!(Preference::of(accept.as_bytes()), expected(accept), "{accept:?}");
}

#[test]
fn real_accept_headers_agree_with_the_reference_crate() {
    for accept in [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,\
         */*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, application/xhtml+xml, image/jxr, */*",
        "text/html, */*; q=0.01",
        "application/json, text/plain, */*",
        "application/vnd.github+json",
        "text/turtle,application/ld+json;q=0.8,application/rdf+xml;q=0.7,*/*;q=0.3",
        "application/*;q=0.5, text/*;q=0.5",
        "text/html;level=\"a,b\\\"\\\\\";q=0.4, application/json;q=0.5;",
        "application/json;q=\"0.1\", text/plain;q=0.5",
        "application/json;charset=utf-8",
        "",
        " ",
        ",",
    ] {
        compare(accept);
    }
}

#[test]
fn an_element_without_a_slash_makes_the_header_malformed() {
    for accept in [
        // The default of the HTTP client in Java 8.
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        "*",
        "json",
        "text/html,q=1",
        "text/html,\u{e9}",
    ] {
        assert_eq!(Preference::of(accept.as_bytes()), None, "{accept:?}");
    }
}

#[test]
fn a_range_that_matches_no_form_is_ignored() {
    let json = Preference::of(b"application/json");
    let text = Preference::of(b"text/plain;q=0.5,a/b");
    for (accept, expected) in [
        ("text/html/*, ,application/json,/", json),
        ("text/ html, /html, text/, application/json", json),
        ("application/jsonp, text/htm, application/json", json),
        ("text/plain;;q=0.5;q=1", text),
        ("text/plain ; a=\";q=0\" ; Q=0.5 , image/png", text),
        ("text/plain;q=0.5;a=\",application/json", text),
    ] {
        assert_eq!(Preference::of(accept.as_bytes()), expected, "{accept:?}");
    }
}

#[test]
fn ranges_beyond_the_bound_are_not_read() {
    let behind = |ranges: usize| Preference::of(("a/b,".repeat(ranges) + "text/html").as_bytes());
    let limit = MAX_ELEMENTS;
    assert_eq!(behind(limit - 1), Preference::of(b"text/html"));
    assert_eq!(behind(limit), Preference::of(b"a/b"));
}

/// Generates ranges that often match a form, with at most one weight. A range that matches a form
/// has no other parameters: `headers-accept` prefers ranges with many parameters.
fn range() -> impl Strategy<Value = String> {
    let matching = prop::sample::select(vec![
        "*/*",
        "text/*",
        "TEXT/Html",
        "text/html",
        "text/plain",
        "application/*",
        "application/json",
        "Application/Problem+json",
    ]);
    let other = (
        prop::sample::select(vec!["application/problem", "text/htmlx", "image/png", "a+b/c+de"]),
        prop::sample::select(vec!["", ";v=1", "; v=\",;\\\"*/*\""]),
    );
    let range = prop_oneof![
        2 => matching.prop_map(str::to_owned),
        1 => other.prop_map(|(range, parameter)| format!("{range}{parameter}")),
    ];
    let weight =
        prop_oneof!["", "[;] ?[qQ]=(0(\\.[0-9]{0,3})?|1(\\.0{0,3})?)", Just("; q=x".to_owned())];
    let end = prop::sample::select(vec!["", "", "", " ", ";", "; "]);
    (range, weight, end).prop_map(|(range, weight, end)| format!("{range}{weight}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_list_of_ranges_agrees_with_the_reference_crate(
        ranges in prop::collection::vec(range(), 0..7),
        separator in prop::sample::select(vec![",", ", ", ",, ", "\t,"]),
    ) {
        let accept = ranges.join(separator);
        prop_assert_eq!(Preference::of(accept.as_bytes()), expected(&accept), "{:?}", accept);
    }

    #[test]
    fn bytes_after_a_list_only_add_ranges(
        ranges in prop::collection::vec(range(), 1..7),
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let accept = ranges.join(",");
        let longer = [accept.as_bytes(), b",a/b;", &rest].concat();
        if let Some(longer) = Ranges::of(&longer) {
            let alone = Ranges::of(accept.as_bytes()).unwrap();
            let ranks = alone.ranks.into_iter().zip(longer.ranks);
            prop_assert!(ranks.into_iter().all(|(alone, longer)| alone <= longer));
        }
    }
}
