//! The key and the value of a descriptor: their valid forms, and the default name of a rule, which
//! consists of keys and values.
//!
//! Values are checked as strictly as possible when the file is read. A rule for a value that no
//! request can have would only appear to protect something, so such a rule is rejected.

use std::sync::Arc;

use http::HeaderName;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{
    error::RulesFileError,
    fields::{Given, any_of},
};
use crate::{
    rate::{Condition, Literal},
    request::Part,
};

/// Reads a key, which must be built in or registered by the application.
///
/// # Errors
///
/// Returns an error if the key is unknown, or if it does not contain a valid header or cookie name.
pub(super) fn part(given: Given<'_>, registered: &[Part]) -> Result<Part, RulesFileError> {
    let place = given.place.clone();
    let key = given.text()?;
    let part = registered.iter().find(|part| part.name() == Some(&*key)).cloned();
    let part = part.or_else(|| Part::named(&key));
    let Some((kind @ ("cookie" | "header"), name)) = key.split_once('.') else {
        return part.ok_or_else(|| {
            let mut known = Part::BUILT_IN.to_vec();
            known.extend([PATH_PREFIX, "cookie.<name>", "header.<name>"]);
            known.extend(registered.iter().filter_map(Part::name));
            let expected = format!("{} (other keys have to be registered in code)", any_of(&known));
            place.wrong(format_args!("{key:?}"), expected)
        });
    };
    // The name of a cookie is a token, like the name of a header (RFC 6265 section 4.1.1), so one
    // parser checks both. Cookie names are case-sensitive. Header names are case-insensitive, so
    // only the lower-case form of a header name is accepted. Otherwise, two keys could name the
    // same header.
    let wrong = |expected: &str| place.wrong(format_args!("{key:?}"), expected);
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(header) if kind == "header" && header.as_str() != name => {
            Err(wrong("the name of the header in lower case"))
        }
        Ok(_) => part.ok_or_else(|| wrong(&format!("the name of a {kind}"))),
        Err(_) => Err(wrong(&format!("the name of a {kind}"))),
    }
}

/// Reads the value of a key, or a list of values, and calls `literal` for each value.
///
/// # Errors
///
/// Returns an error if no request can have one of the values for this key, or if the list is empty.
pub(super) fn literals(
    given: Given<'_>,
    literal: impl Fn(String) -> Result<Literal, String>,
) -> Result<Arc<[Literal]>, RulesFileError> {
    let literal = |given: Given<'_>| {
        let place = given.place.clone();
        let text = given.text()?;
        let shown = format!("{text:?}");
        literal(text).map_err(|expected| place.wrong(shown, expected))
    };
    given.one_or_more()?.into_iter().map(literal).collect()
}

/// Returns the name of a rule that has no name in the file: the path to the rule, such as
/// `shop/remote_address/path=/login`.
///
/// Spaces, quotation marks, `%`, backslashes, and all characters except printable ASCII are
/// percent-encoded.
pub(super) fn path_of(domain: Option<&str>, entries: &[Condition]) -> String {
    let steps = entries.iter().map(|Condition { part, is, .. }| {
        let values: Vec<_> = is.iter().map(Literal::as_str).collect();
        let sign = if is.is_empty() { "" } else { "=" };
        format!("{part}{sign}{}", values.join(","))
    });
    let path: Vec<_> = domain.map(str::to_owned).into_iter().chain(steps).collect();
    utf8_percent_encode(&path.join("/"), ENCODED).to_string()
}

/// The key of descriptors whose values are prefixes of the path.
pub(super) const PATH_PREFIX: &str = "path_prefix";

/// The characters that are percent-encoded in a name. A quoted string in a header cannot contain
/// control characters, or unescaped quotation marks and backslashes, and names must not contain
/// spaces. `%` is encoded so that a character and its encoded form remain different names.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'\\');
