//! The preferences that clients state in their headers: those of real browsers, and made-up ones.

use http::HeaderValue;

/// The headers by which a client chooses the form and the language of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Preferences {
    /// The `Accept` header.
    pub(crate) types: HeaderValue,
    /// The `Accept-Language` header.
    pub(crate) languages: HeaderValue,
}

/// Returns the preferences of a dozen browsers, all of which ask for a page.
///
/// Browsers add Fetch Metadata on HTTPS, which is cheaper to read than an `Accept` header. On plain
/// HTTP they send none, and an attacker may omit it anywhere, so these requests have none.
pub(crate) fn dozen() -> impl Iterator<Item = Preferences> {
    BROWSERS.into_iter().map(|(types, languages)| Preferences {
        types: HeaderValue::from_static(types),
        languages: HeaderValue::from_static(languages),
    })
}

/// Returns preferences that an attacker may send to make an answer expensive: as many parameters and
/// ranges as fit, in headers none of which is sent twice by a case. Of two dozen kinds of headers, these
/// took the layer the most instructions.
///
/// After [`MADE_UP`] of them, the first follows again, which a memory of the last headers that is
/// bounded has forgotten by then.
pub(crate) fn made_up() -> impl Iterator<Item = Preferences> {
    let types = repeated(", */* ; q = 1");
    let languages = repeated(",*;q=0.1");
    let value = |list: String| HeaderValue::try_from(list).expect("it is visible ASCII");
    (0..MADE_UP).map(move |client| Preferences {
        types: value(format!("text/html;v={client:04}{types}")),
        languages: value(format!("de;q=0.1{client:04}{languages}")),
    })
}

/// Repeats the rest of a list after the first range.
fn repeated(part: &str) -> String {
    part.repeat((LONGEST - FIRST) / part.len())
}

/// The number of made-up preferences.
const MADE_UP: usize = 4_096;

/// The number of bytes of each header that the layer reads.
const LONGEST: usize = 1_024;

/// The number of bytes of the longer of the two first ranges.
const FIRST: usize = "text/html;v=0000".len();

/// The `Accept` headers of browsers for a page, each with a usual `Accept-Language` header. The
/// `Accept` headers all differ.
const BROWSERS: [(&str, &str); 12] = [
    // Chrome, Edge and Opera: since 110, since 85, since 79, since 73, until 72.
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,\
         */*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        "en-US,en;q=0.9",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,\
         */*;q=0.8,application/signed-exchange;v=b3;q=0.9",
        "de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,image/apng,*/*;q=0.8,\
         application/signed-exchange;v=b3;q=0.9",
        "zh-CN,zh;q=0.9",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,image/apng,*/*;q=0.8,\
         application/signed-exchange;v=b3",
        "es-ES,es;q=0.9,en;q=0.8",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,image/apng,*/*;q=0.8",
        "pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7",
    ),
    // Brave.
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,\
         */*;q=0.8",
        "en-GB,en;q=0.6",
    ),
    // Firefox: since 132, which Safari shares; since 128; since 92; since 66.
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "fr,fr-FR;q=0.8,en-US;q=0.5,en;q=0.3",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,\
         image/svg+xml,*/*;q=0.8",
        "en-US,en;q=0.5",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "de,en-US;q=0.7,en;q=0.3",
    ),
    (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8",
        "ja,en-US;q=0.7,en;q=0.3",
    ),
    // Internet Explorer 11, and Edge before it was a Chrome.
    ("text/html, application/xhtml+xml, */*", "de-DE"),
    ("text/html, application/xhtml+xml, image/jxr, */*", "en-US, en; q=0.8, de; q=0.5"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_accept_header_occurs_twice() {
        let types = |client: Preferences| client.types;
        assert_eq!(dozen().map(types).collect::<HashSet<_>>().len(), BROWSERS.len());
        assert_eq!(made_up().map(types).collect::<HashSet<_>>().len(), MADE_UP);
    }

    #[test]
    fn a_made_up_header_is_as_long_as_the_layer_reads() {
        let lengths = made_up().flat_map(|client| [client.types.len(), client.languages.len()]);
        assert!(lengths.into_iter().all(|length| (LONGEST - 32..=LONGEST).contains(&length)));
    }
}
