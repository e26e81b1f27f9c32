//! Which keys and values a descriptor may have.

use http::HeaderName;

use super::{
    error::RulesFileError,
    fields::{Given, any_of},
};
use crate::rate::Literal;

/// A key of which somebody knows the values.
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

/// The keys that need nobody to register them, besides those with a name in them.
const BUILT_IN: [&str; 3] = ["method", "path", "remote_address"];
