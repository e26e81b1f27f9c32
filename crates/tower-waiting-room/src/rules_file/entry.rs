//! The key and the value of a descriptor: which there may be, and what a rule is called by them.

use std::sync::Arc;

use http::HeaderName;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{
    error::RulesFileError,
    fields::{Given, any_of},
};
use crate::rate::Literal;

/// What a request has to have for a rule to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The value, or with none any value, each by itself.
    pub(crate) value: Option<Literal>,
    /// Without a value: the ones to which a more specific neighbour applies instead.
    pub(crate) except: Arc<[Literal]>,
}

/// Reads a key. It has to be built in, or registered by the application.
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
    // The name of a cookie is a token as well (RFC 6265 section 4.1.1), but it has a case.
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
pub(super) fn literal(key: &str, given: Given<'_>) -> Result<Literal, RulesFileError> {
    let place = given.place.clone();
    let text = given.text()?;
    let shown = format!("{text:?}");
    Literal::new(key, text).map_err(|expected| place.wrong(shown, expected))
}

/// The name of a rule that has none: the way to it.
pub(super) fn path_of(domain: &str, entries: &[Entry]) -> String {
    let mut path = domain.to_owned();
    for Entry { key, value, .. } in entries {
        path.push('/');
        path.push_str(key);
        if let Some(value) = value {
            path.push('=');
            path.push_str(value.as_str());
        }
    }
    utf8_percent_encode(&path, ENCODED).to_string()
}

/// The keys that need no registration, besides those with a name in them.
const BUILT_IN: [&str; 4] = ["method", "path", "remote_address", "visitor"];

/// What a quoted string of a header cannot hold, and what would make two names alike.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'\\');
