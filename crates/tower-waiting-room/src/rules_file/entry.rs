//! The key and the value of a descriptor: which ones are valid, and how they name a rule.
//!
//! Values are checked as strictly as possible when the file is read. A rule for a value that no
//! request can have would look as if it protected something, so it is refused.

use std::sync::Arc;

use http::HeaderName;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{
    error::RulesFileError,
    fields::{Given, any_of},
};
use crate::rate::Literal;

/// One condition of a rule: a part of the request, and the values that it may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleEntry {
    /// The part of the request, by the name that the file gives to it.
    pub(crate) key: String,
    /// The value that the part must have. `None` for any value, each of them counted by itself.
    pub(crate) value: Option<Literal>,
    /// The values that a more specific neighbour names. Only an entry without a value has any: its
    /// rule does not apply to them.
    pub(crate) except: Arc<[Literal]>,
}

/// Reads a key. It must be built in, or registered by the application.
///
/// # Errors
///
/// If the key is unknown, or does not contain a valid name of a header or a cookie.
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
    // The name of a cookie is a token like that of a header (RFC 6265 section 4.1.1), so one parser
    // checks both. The name of a cookie is case-sensitive. That of a header is not, so only its
    // lower-case form is accepted: otherwise one header could have two rules.
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
/// If no request can have this value for this key.
pub(super) fn literal(key: &str, given: Given<'_>) -> Result<Literal, RulesFileError> {
    let place = given.place.clone();
    let text = given.text()?;
    let shown = format!("{text:?}");
    Literal::new(key, text).map_err(|expected| place.wrong(shown, expected))
}

/// Returns the name of a rule that the file does not name: the path to it, such as
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

/// The characters that are percent-encoded in a name: those that a quoted string in a header cannot
/// hold, and `%`, so that an encoded character and its encoded form stay different names.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'\\');
