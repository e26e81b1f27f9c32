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
    let is_html = |it: &MediaTypeBuf| it.ty() == names::TEXT && it.subty() == names::HTML;
    let best = |offers: &'static [MediaType<'static>]| {
        let chosen = accept.negotiate(offers)?;
        Offer::ALL.into_iter().find(|form| OFFERS[*form as usize] == *chosen)
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
fn the_headers_of_browsers_and_programs_mean_what_the_crate_says() {
    for accept in [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,\
         */*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, application/xhtml+xml, image/jxr, */*",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        "text/html, */*; q=0.01",
        "application/json, text/plain, */*",
        "application/vnd.github+json",
        "text/turtle,application/ld+json;q=0.8,application/rdf+xml;q=0.7,*/*;q=0.3",
        "application/*;q=0.5, text/*;q=0.5",
        "text/html;level=\"a,b\\\"\\\\\";q=0.4, application/json;q=0.5;",
        "application/json;q=0.5;Q=0.7, text/plain;q=0.6",
        "application/json;q=\"0.1\", text/plain;q=0.5",
        "*/json, text/plain;q=0.9",
        "text/*+xml, application/*;q=0.2",
        "text/html+x, text/plain;q=0.2",
    ] {
        compare(accept);
    }
}

#[test]
fn a_malformed_element_makes_the_header_malformed_as_in_the_crate() {
    for accept in [
        "",
        " ",
        ",",
        " ,",
        "a",
        "a/",
        "/b",
        "a/b,",
        "a/b,,c/d",
        "a/b, ,c/d",
        ",a/b",
        "a/b;",
        "a/b; ",
        "a/b;;",
        "a/b;c",
        "a/b;c=",
        "a/b;=c",
        "a/b;c =d",
        "a/b;c= d",
        "a/b;c=\"",
        "a/b;c=\"\\\"",
        "a/b;c=\"d\"e",
        "a/b;c=\"d\" ;q=0",
        "a/b+",
        "a/b+c",
        "a/b+cd",
        "a/b+-d",
        "a/b+c-",
        "a/b++cd",
        "a+b/c",
        "-a/b",
        "a/-b",
        "a/b c/d",
        "a/b\tc",
        "*/*/*",
        "*",
        "a/b\"",
        "a/b;c=d\"e,f\"",
    ] {
        compare(accept);
    }
    for len in [127, 128, 129] {
        let name = "a".repeat(len);
        for accept in [
            format!("{name}/b"),
            format!("a/{name}"),
            format!("a/b+{name}"),
            format!("a/b;{name}=c"),
            format!("a/b;c={name}"),
        ] {
            compare(&accept);
        }
    }
}

#[test]
fn a_byte_beyond_ascii_is_malformed() {
    for accept in [&b"text/html;a=\"\xc3\xa9\""[..], b"text/html,\xff/a", b"text/html;a=\xe9"] {
        assert_eq!(Preference::of(accept), None);
    }
}

/// Generates ranges that often match a form, with parameters that are often weights.
fn range() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "*/*",
        "*/json",
        "text/*",
        "TEXT/Html",
        "text/html",
        "text/plain",
        "application/*",
        "application/json",
        "application/problem+json",
        "application/problem",
        "text/html+x",
        "text/*+xml",
        "application/json+json",
        "image/png",
        "application/vnd.x+json",
        "a+b/c+de",
    ]);
    let value = prop_oneof![
        "[01](\\.[0-9]{0,4})?",
        "\"[ -~]{0,6}\"",
        "[a-z0-9+.]{0,6}",
        Just("0.5".to_owned()),
    ];
    let name = prop::sample::select(vec!["q", "q", "q", "Q", "charset", "level", "v"]);
    let parameter = (prop::sample::select(vec![";", "; ", " ;\t"]), name, value)
        .prop_map(|(before, name, value)| format!("{before}{name}={value}"));
    let end = prop::sample::select(vec!["", "", "", " ", ";", "; "]);
    (kind, prop::collection::vec(parameter, 0..3), end)
        .prop_map(|(kind, parameters, end)| [kind, &parameters.concat(), end].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_list_of_ranges_means_what_the_crate_says(
        ranges in prop::collection::vec(range(), 0..7),
        separator in prop::sample::select(vec![",", ", ", ",, ", "\t,"]),
    ) {
        let accept = ranges.join(separator);
        prop_assert_eq!(Preference::of(accept.as_bytes()), expected(&accept), "{:?}", accept);
    }

    #[test]
    fn any_text_means_what_the_crate_says(
        accept in prop_oneof![
            "[ -~\t]{0,40}",
            "([a-z*]{1,4}/[a-z*+]{1,6}(;[qv]=[\"0-9.,\\\\]{0,4})?[, ;]{0,2}){0,6}",
            "(text|application)/(html|json|[*])[ -~]{0,12}",
        ],
    ) {
        prop_assert_eq!(Preference::of(accept.as_bytes()), expected(&accept), "{:?}", accept);
    }
}
