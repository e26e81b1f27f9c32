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
use crate::rate::Literal;

/// One condition of a rule: a part of the request, and the values that this part may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleEntry {
    /// The name of the part of the request, as written in the file.
    pub(crate) key: String,
    /// The value that the part must have. `None` matches every value, and each value is counted
    /// separately.
    pub(crate) value: Option<Literal>,
    /// The values to which the rule does not apply, because more specific siblings name them. Only
    /// an entry without a value has exceptions.
    pub(crate) except: Arc<[Literal]>,
}

/// Reads a key, which must be built in or registered by the application.
///
/// # Errors
///
/// Returns an error if the key is unknown, or if it does not contain a valid header or cookie name.
pub(super) fn key(given: Given<'_>, registered: &[&str]) -> Result<String, RulesFileError> {
    let place = given.place.clone();
    let key = given.text()?;
    if BUILT_IN.contains(&&*key) || registered.contains(&&*key) {
        return Ok(key);
    }
    let Some((kind @ ("cookie" | "header"), name)) = key.split_once('.') else {
        let mut known = BUILT_IN.to_vec();
        known.extend(["cookie.<name>", "header.<name>"]);
        known.extend(registered);
        let expected = format!("{} (other keys have to be registered in code)", any_of(&known));
        return Err(place.wrong(format_args!("{key:?}"), expected));
    };
    // The name of a cookie is a token, like the name of a header (RFC 6265 section 4.1.1), so one
    // parser checks both. Cookie names are case-sensitive. Header names are case-insensitive, so
    // only the lower-case form of a header name is accepted. Otherwise, two keys could name the
    // same header.
    let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
    match parsed {
        Some(header) if kind == "cookie" || header.as_str() == name => Ok(key),
        Some(_) => {
            Err(place.wrong(format_args!("{key:?}"), "the name of the header in lower case"))
        }
        None => Err(place.wrong(format_args!("{key:?}"), format_args!("the name of a {kind}"))),
    }
}

/// Reads the value of a key.
///
/// # Errors
///
/// Returns an error if no request can have this value for this key.
pub(super) fn literal(key: &str, given: Given<'_>) -> Result<Literal, RulesFileError> {
    let place = given.place.clone();
    let text = given.text()?;
    let shown = format!("{text:?}");
    Literal::new(key, text).map_err(|expected| place.wrong(shown, expected))
}

/// Returns the name of a rule that has no name in the file: the path to the rule, such as
/// `shop/remote_address/path=/login`.
pub(super) fn path_of(domain: &str, entries: &[RuleEntry]) -> String {
    let mut path = domain.to_owned();
    for RuleEntry { key, value, .. } in entries {
        path.push('/');
        path.push_str(key);
        if let Some(value) = value {
            path.push('=');
            path.push_str(value.as_str());
        }
    }
    utf8_percent_encode(&path, ENCODED).to_string()
}

/// The keys that need no registration, apart from `cookie.<name>` and `header.<name>`.
const BUILT_IN: [&str; 4] = ["method", "path", "remote_address", "visitor"];

/// The characters that are percent-encoded in a name. A quoted string in a header cannot contain
/// control characters, or unescaped quotation marks and backslashes, and names must not contain
/// spaces. `%` is encoded so that a character and its encoded form remain different names.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'\\');
