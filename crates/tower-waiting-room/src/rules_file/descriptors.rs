//! Flattens the tree of descriptors into a list of rules.
//!
//! ```text
//!   remote_address          rate_limit   ─►  shop/remote_address
//!   └─ path = /login        rate_limit   ─►  shop/remote_address/path=/login
//!   remote_address = 192.0.2.7  unlimited ─►  shop/remote_address=192.0.2.7
//! ```
//!
//! Each rule becomes a [`RateLimit`], like a limit that is defined in code. It contains all entries
//! from the root down to its descriptor: entries with a value become conditions, and entries without
//! a value form the key. Dependencies between siblings are also resolved: the values that siblings
//! name become exceptions to the entry without a value.
//!
//! Reading stops at the first mistake. The depth, the number of rules and the length of names are
//! bounded, so that a file of valid size cannot use too much memory or produce headers that are too
//! long.

use std::{collections::HashMap, path::Path, sync::Arc};

use serde::{Deserialize, Deserializer, de::Error};

use super::{
    entry::{PATH_PREFIX, literals, part, path_of},
    error::RulesFileError,
    fields::{Fields, Given, Span},
    formats::format_of,
    limit::{self, rate_limit},
    node::Node,
    text::{self, Text},
};
use crate::{
    rate::{Condition, Literal, OverLimit, RateLimit},
    rate_headers::MAX_NAME_LEN,
    request::{Key, Part},
};

/// Reads a rules file, in which each key must be built in or listed in `registered`.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or for the first mistake in the file.
pub(super) fn load(path: &Path, registered: &[Part]) -> Result<Vec<RateLimit>, RulesFileError> {
    let bytes = text::read(path).map_err(|error| RulesFileError::unreadable(path, error))?;
    parse(path, &bytes, registered)
}

/// Reads the content of a file. The extension of `path` selects the format, and error messages name
/// the path.
pub(super) fn parse(
    path: &Path,
    bytes: &[u8],
    registered: &[Part],
) -> Result<Vec<RateLimit>, RulesFileError> {
    let read = format_of(path)?;
    let text = Text::new(path, bytes)?;
    let mut fields = Fields::root(text, read(text)?, &ROOT_FIELDS)?;
    let domain = fields.require("domain", "a name for all rules of the file")?.text()?;
    let descriptors = fields.require("descriptors", "a list")?;
    Reading::of(descriptors, Some(domain), registered)
}

/// The descriptors in the field `rate_limits` of a configuration file. Their limits have the same
/// default names as in a rules file, but without a domain.
#[derive(Default)]
pub(crate) struct Descriptors(pub(crate) Vec<RateLimit>);

impl<'de> Deserialize<'de> for Descriptors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Given::without_text("rate_limits", Node::deserialize(deserializer)?);
        Reading::of(given, None, &[]).map(Self).map_err(D::Error::custom)
    }
}

/// The state of a file that is being read.
struct Reading<'a> {
    registered: &'a [Part],
    /// The first part of the name of every rule that is not named in the file.
    domain: Option<String>,
    /// The limits in the order of the file. An outer limit precedes those that are nested in it.
    limits: Vec<RateLimit>,
    /// The name and the location of each rule, including those that limit nothing.
    names: HashMap<String, Span<'a>>,
}

/// A descriptor whose key and values have been read.
struct Descriptor<'a> {
    entry: Condition,
    /// The location of the key, for errors about the key.
    key: Span<'a>,
    /// The remaining fields, such as the limit and the nested descriptors.
    fields: Fields<'a>,
}

impl<'a> Reading<'a> {
    /// Reads all rules of a file from the list of its outermost descriptors.
    fn of(
        descriptors: Given<'a>,
        domain: Option<String>,
        registered: &'a [Part],
    ) -> Result<Vec<RateLimit>, RulesFileError> {
        let mut reading = Self { registered, domain, limits: Vec::new(), names: HashMap::new() };
        reading.descriptors(descriptors, &mut Vec::new())?;
        Ok(reading.limits)
    }

    /// Reads a list of sibling descriptors that are nested in the `outer` entries.
    ///
    /// On success, `outer` is unchanged, because each entry that is pushed is popped again.
    fn descriptors(
        &mut self,
        given: Given<'a>,
        outer: &mut Vec<Condition>,
    ) -> Result<(), RulesFileError> {
        if outer.len() == MAX_DEPTH {
            let depth = format!("at depth {}", MAX_DEPTH + 1);
            return Err(given.place.wrong(depth, format_args!("at most {MAX_DEPTH}")));
        }
        for Descriptor { entry, key, mut fields } in self.siblings(given)? {
            // A rule that named a key twice would match only requests with two values for the key,
            // but most keys have only one value.
            if outer.iter().any(|outer| outer.part == entry.part) {
                let given = format!("{:?}", entry.part.to_string());
                return Err(key.wrong(given, "a key that no outer descriptor has"));
            }
            outer.push(entry);
            let rules = self.names.len();
            self.rule(&mut fields, outer)?;
            if let Some(inner) = fields.take("descriptors") {
                self.descriptors(inner, outer)?;
            }
            // Neither this descriptor nor any nested descriptor has a `rate_limit`. This is most
            // likely a mistake, such as wrong indentation, so it is not ignored.
            if self.names.len() == rules {
                return Err(fields.place.wrong("without effect", EFFECTS));
            }
            outer.pop();
        }
        Ok(())
    }

    /// Reads the descriptors of a list. The values that descriptors name become exceptions to their
    /// siblings without a value.
    fn siblings(&self, given: Given<'a>) -> Result<Vec<Descriptor<'a>>, RulesFileError> {
        let descriptors = given.list()?.into_iter().map(|given| self.descriptor(given));
        let mut descriptors = descriptors.collect::<Result<Vec<_>, _>>()?;
        let mut named: HashMap<String, Vec<Literal>> = HashMap::new();
        for Descriptor { entry, .. } in &descriptors {
            named.entry(entry.part.to_string()).or_default().extend_from_slice(&entry.is);
        }
        for Descriptor { entry, .. } in &mut descriptors {
            if entry.is.is_empty() {
                entry.is_not = named[&entry.part.to_string()].as_slice().into();
            }
        }
        Ok(descriptors)
    }

    /// Reads the key and the values of a descriptor.
    fn descriptor(&self, mut given: Given<'a>) -> Result<Descriptor<'a>, RulesFileError> {
        given.ignore(&METRICS);
        let mut fields = given.table(&FIELDS)?;
        let given = fields.require("key", "the part of a request to match")?;
        let key = given.place.clone();
        let is_prefix = given.is(PATH_PREFIX);
        let part = if is_prefix { Part::Path } else { part(given, self.registered)? };
        // The first published example of this format spells `value` with a capital letter.
        let is = match (fields.take("value"), fields.take("Value")) {
            (Some(_), Some(second)) => {
                return Err(second.wrong("either value or Value, but not both"));
            }
            (Some(given), None) | (None, Some(given)) if is_prefix => {
                literals(given, Literal::path_prefix)?
            }
            (Some(given), None) | (None, Some(given)) => {
                literals(given, |text| Literal::new(&part, text))?
            }
            (None, None) if is_prefix => {
                return Err(fields.missing("value", "the beginning of the paths"));
            }
            (None, None) => Arc::default(),
        };
        let entry = Condition { part, is, is_not: Arc::default() };
        Ok(Descriptor { entry, key, fields })
    }

    /// Adds the rule of a descriptor, if it has a `rate_limit`.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit or its name is invalid, if the name is already used, if the
    /// file has too many rules, or if `soft` or `shadow_mode` is set without a limit.
    fn rule(
        &mut self,
        fields: &mut Fields<'a>,
        entries: &[Condition],
    ) -> Result<(), RulesFileError> {
        let over_limit = over_limit(fields)?;
        let mut table = match fields.take("rate_limit") {
            Some(given) => given.table(&limit::FIELDS)?,
            None => match over_limit {
                Some((_, given)) => return Err(given.wrong("no value without a rate_limit")),
                None => return Ok(()),
            },
        };
        if self.names.len() == MAX_RULES {
            let expected = format!("at most {MAX_RULES} in a file");
            return Err(fields.place.wrong("one rule too many", expected));
        }
        let name = self.name(table.take("name"), &fields.place, entries)?;
        match (rate_limit(name, table)?, over_limit) {
            (Some(mut limit), over_limit) => {
                // Each value of these parts is counted separately. If every entry names a value, all
                // matching requests share one quota.
                let each = entries.iter().filter(|entry| entry.is.is_empty());
                let each: Vec<_> = each.map(|entry| entry.part.clone()).collect();
                limit.key = if each.is_empty() { Key::global() } else { Key::from(each) };
                let conditions = entries.iter().filter(|entry| !entry.is_trivial());
                limit.conditions = conditions.cloned().collect();
                limit.over_limit = over_limit.map(|(over, _)| over).unwrap_or_default();
                self.limits.push(limit);
            }
            (None, Some((_, given))) => return Err(given.wrong("no value together with unlimited")),
            // The rule has an effect if it names a value: the sibling without a value does not apply
            // to that value.
            (None, None) => {}
        }
        Ok(())
    }

    /// Returns the name of a rule: the given name, or the path to the rule. The path stays the same
    /// when other parts of the file change, so a limit keeps its state.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is malformed, too long, or not unique in the file.
    fn name(
        &mut self,
        given: Option<Given<'a>>,
        rule: &Span<'a>,
        entries: &[Condition],
    ) -> Result<String, RulesFileError> {
        let (name, place) = match given {
            Some(given) => {
                let place = given.place.clone();
                (called(given)?, place)
            }
            None => (path_of(self.domain.as_deref(), entries), rule.clone()),
        };
        if name.len() > MAX_NAME_LEN {
            let expected =
                format!("a name of at most {MAX_NAME_LEN} bytes; set one with the field name");
            return Err(place.wrong(format_args!("a rule called {name:?}"), expected));
        }
        if let Some(earlier) = self.names.insert(name.clone(), rule.clone()) {
            let given = format!("{name:?}, the name of the rule {}", earlier.reference());
            return Err(place.wrong(given, "a unique name"));
        }
        Ok(name)
    }
}

/// Reads the effect on requests that exceed the limit, and returns it with the field that sets it.
/// Returns `None` if neither `shadow_mode` nor `soft` is `true`.
///
/// # Errors
///
/// Returns an error if both fields are `true`, because a request cannot be forwarded both with and
/// without a mark.
fn over_limit<'a>(
    fields: &mut Fields<'a>,
) -> Result<Option<(OverLimit, Given<'a>)>, RulesFileError> {
    let mut said: Option<(OverLimit, Given<'a>)> = None;
    for (name, over_limit) in [("shadow_mode", OverLimit::Shadow), ("soft", OverLimit::Mark)] {
        let Some(given) = fields.take(name) else { continue };
        if !given.flag()? {
            continue;
        }
        if said.is_some() {
            return Err(given.wrong("no value together with shadow_mode"));
        }
        said = Some((over_limit, given));
    }
    Ok(said)
}

/// Reads the name that the file gives to a rule.
///
/// # Errors
///
/// Returns an error if a quoted string in a header cannot contain the name unescaped (RFC 9651
/// section 3.3.3), or if the name contains spaces.
fn called(given: Given<'_>) -> Result<String, RulesFileError> {
    let place = given.place.clone();
    let name = given.text()?;
    if name.bytes().all(|byte| matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b'\\')) {
        return Ok(name);
    }
    Err(place
        .wrong(format_args!("{name:?}"), "printable ASCII without spaces, quotes or backslashes"))
}

/// The ways in which a descriptor can have an effect. In the original service, a descriptor that names
/// a value and has no limit exempts that value.
const EFFECTS: &str = "a rate_limit, or descriptors that have one; \
                       an exemption is rate_limit: { unlimited: true }";

/// The maximum depth of nested descriptors.
const MAX_DEPTH: usize = 8;
/// The maximum number of rules in a file.
const MAX_RULES: usize = 1_000;

/// The fields of a file, in the order in which messages list them.
const ROOT_FIELDS: [&str; 2] = ["domain", "descriptors"];
/// The fields of a descriptor that only choose the names of metrics of the original service. They are
/// ignored, because they change no decision.
const METRICS: [&str; 2] = ["detailed_metric", "value_to_metric"];
/// The fields of a descriptor, in the order in which messages list them.
const FIELDS: [&str; 7] =
    ["key", "value", "Value", "rate_limit", "shadow_mode", "soft", "descriptors"];
