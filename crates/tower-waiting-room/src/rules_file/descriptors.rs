//! Flattens the tree of descriptors into a list of rules.
//!
//! ```text
//!   remote_address          rate_limit   ─►  shop/remote_address
//!   └─ path = /login        rate_limit   ─►  shop/remote_address/path=/login
//!   remote_address = 192.0.2.7  unlimited ─►  shop/remote_address=192.0.2.7
//! ```
//!
//! A rule contains all entries from the root down to its descriptor, so it can be evaluated without
//! the tree. Dependencies between siblings are also resolved: the values that siblings name become
//! exceptions of the entry without a value.
//!
//! Reading stops at the first mistake. The depth, the number of rules and the length of names are
//! bounded, so that a file of valid size cannot use too much memory or produce headers that are too
//! long.

use std::{collections::HashMap, path::Path, sync::Arc};

use super::{
    entry::{RuleEntry, key, literal, path_of},
    error::RulesFileError,
    fields::{Fields, Given, Span},
    formats::format_of,
    limit::{FileLimit, RateLimit, rate_limit},
    node::Node,
    text::{self, Text},
};
use crate::{
    rate::{Literal, OverLimit},
    rate_headers::MAX_NAME_LEN,
};

/// The content of a valid file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RulesFile {
    /// The first part of the name of every rule that is not named in the file.
    pub(crate) domain: String,
    /// The rules in the order of the file. An outer rule precedes the rules that are nested in it.
    pub(crate) rules: Vec<FileRule>,
}

/// A descriptor with a `rate_limit`, together with the descriptors around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileRule {
    /// The name of the rule in the file, or the path to the rule, such as
    /// `shop/remote_address/path=/login`.
    ///
    /// The name is unique in the file. In a path, spaces, quotation marks, `%`, backslashes, and
    /// all characters except printable ASCII are percent-encoded. The name stays the same as long
    /// as the path does, so a limit keeps its state when other parts of the file change.
    pub(crate) name: String,
    /// The line on which the descriptor begins, starting at 1.
    pub(crate) line: usize,
    /// The entries from the root down to the descriptor. The rule applies to requests that match
    /// all entries.
    pub(crate) entries: Vec<RuleEntry>,
    /// The limit, or `None` if the rule limits nothing. Such a rule still has an effect if it names
    /// a value: the sibling without a value then does not apply to that value.
    pub(crate) limit: Option<FileLimit>,
}

impl RulesFile {
    /// Reads a file. Every key in the file must be built in or listed in `registered`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or for the first mistake in the file.
    pub(crate) fn load(path: &Path, registered: &[&str]) -> Result<Self, RulesFileError> {
        let bytes = text::read(path).map_err(|error| RulesFileError::unreadable(path, error))?;
        Self::parse(path, &bytes, registered)
    }

    /// Reads the content of a file. The extension of `path` selects the format, and error messages
    /// name the path.
    pub(super) fn parse(
        path: &Path,
        bytes: &[u8],
        registered: &[&str],
    ) -> Result<Self, RulesFileError> {
        let read = format_of(path)?;
        let text = Text::new(path, bytes)?;
        Reading::of(text, read(text)?, registered)
    }
}

/// The state of a file that is being read.
pub(super) struct Reading<'a> {
    registered: &'a [&'a str],
    domain: String,
    rules: Vec<FileRule>,
    /// The name and the line of each rule, for the error message about a duplicate name.
    names: HashMap<String, usize>,
}

/// A descriptor whose key and value have been read.
struct Descriptor<'a> {
    entry: RuleEntry,
    /// The location of the key, for errors about the key.
    key: Span<'a>,
    /// The remaining fields, such as the limit and the nested descriptors.
    fields: Fields<'a>,
}

impl<'a> Reading<'a> {
    /// Reads all rules of a file from its root node.
    pub(super) fn of(
        text: Text<'a>,
        root: Node,
        registered: &'a [&'a str],
    ) -> Result<RulesFile, RulesFileError> {
        let mut fields = Fields::root(text, root, &ROOT_FIELDS)?;
        let domain = fields.require("domain", "a name for all rules of the file")?.text()?;
        let descriptors = fields.require("descriptors", "a list")?;
        let mut reading = Self { registered, domain, rules: Vec::new(), names: HashMap::new() };
        reading.descriptors(descriptors, &mut Vec::new())?;
        Ok(RulesFile { domain: reading.domain, rules: reading.rules })
    }

    /// Reads a list of sibling descriptors that are nested in the `outer` entries.
    ///
    /// On success, `outer` is unchanged, because each entry that is pushed is popped again.
    fn descriptors(
        &mut self,
        given: Given<'a>,
        outer: &mut Vec<RuleEntry>,
    ) -> Result<(), RulesFileError> {
        if outer.len() == MAX_DEPTH {
            let depth = format!("at depth {}", MAX_DEPTH + 1);
            return Err(given.place.wrong(depth, format_args!("at most {MAX_DEPTH}")));
        }
        for mut descriptor in self.neighbours(given)? {
            // A rule that named a key twice would match only requests with two values for the key,
            // but most keys have only one value.
            if outer.iter().any(|entry| entry.key == descriptor.entry.key) {
                let given = format!("{:?}", descriptor.entry.key);
                return Err(descriptor.key.wrong(given, "a key that no outer descriptor has"));
            }
            outer.push(descriptor.entry.clone());
            let rules = self.rules.len();
            self.rule(&mut descriptor.fields, outer)?;
            if let Some(inner) = descriptor.fields.take("descriptors") {
                self.descriptors(inner, outer)?;
            }
            // Neither this descriptor nor any nested descriptor has a `rate_limit`. This is most
            // likely a mistake, such as wrong indentation, so it is not ignored.
            if self.rules.len() == rules {
                let expected = "a rate_limit, or descriptors that have one";
                return Err(descriptor.fields.place.wrong("without effect", expected));
            }
            outer.pop();
        }
        Ok(())
    }

    /// Reads the descriptors of a list. The values that descriptors name become exceptions of the
    /// sibling without a value.
    ///
    /// # Errors
    ///
    /// Returns an error if two descriptors have the same key and value. Values are compared after
    /// parsing, so different notations of the same address count as equal.
    fn neighbours(&self, given: Given<'a>) -> Result<Vec<Descriptor<'a>>, RulesFileError> {
        let mut indices = HashMap::new();
        let mut named: HashMap<String, Vec<Literal>> = HashMap::new();
        let mut descriptors: Vec<Descriptor<'a>> = Vec::new();
        for given in given.list()? {
            let descriptor = self.descriptor(given)?;
            let RuleEntry { key, value, .. } = &descriptor.entry;
            let text = value.as_ref().map(|value| value.as_str().to_owned());
            let index = descriptors.len();
            if let Some(earlier) = indices.insert((key.clone(), text), index) {
                let line = descriptors[earlier].fields.place.line();
                let given = format!("the same as the one on line {line}");
                return Err(descriptor.fields.place.wrong(given, "another key or value"));
            }
            if let Some(value) = value {
                named.entry(key.clone()).or_default().push(value.clone());
            }
            descriptors.push(descriptor);
        }
        // For each key, at most one sibling has no value, because duplicates were rejected above.
        for Descriptor { entry, .. } in &mut descriptors {
            if entry.value.is_none() {
                entry.except = named.remove(&entry.key).unwrap_or_default().into();
            }
        }
        Ok(descriptors)
    }

    /// Reads the key and the value of a descriptor.
    fn descriptor(&self, given: Given<'a>) -> Result<Descriptor<'a>, RulesFileError> {
        let mut fields = given.table(&FIELDS)?;
        let given = fields.require("key", "the part of a request to match")?;
        let place = given.place.clone();
        let key = key(given, self.registered)?;
        // The first published example of this format spells `value` with a capital letter.
        let value = match (fields.take("value"), fields.take("Value")) {
            (Some(_), Some(second)) => {
                return Err(second.wrong("either value or Value, but not both"));
            }
            (value, capital) => value.or(capital).map(|given| literal(&key, given)).transpose()?,
        };
        let entry = RuleEntry { key, value, except: Arc::default() };
        Ok(Descriptor { entry, key: place, fields })
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
        entries: &[RuleEntry],
    ) -> Result<(), RulesFileError> {
        let over_limit = over_limit(fields)?;
        let RateLimit { name, mut limit } = match fields.take("rate_limit") {
            Some(given) => rate_limit(given)?,
            None => match over_limit {
                Some((_, given)) => return Err(given.wrong("no value without a rate_limit")),
                None => return Ok(()),
            },
        };
        match (&mut limit, over_limit) {
            (Some(limit), Some((over_limit, _))) => limit.over_limit = over_limit,
            (None, Some((_, given))) => return Err(given.wrong("no value together with unlimited")),
            (_, None) => {}
        }
        if self.rules.len() == MAX_RULES {
            let expected = format!("at most {MAX_RULES} in a file");
            return Err(fields.place.wrong("one rule too many", expected));
        }
        let line = fields.place.line();
        let (name, place) = match name {
            Some(given) => {
                let place = given.place.clone();
                (called(given)?, place)
            }
            None => (path_of(&self.domain, entries), fields.place.clone()),
        };
        if name.len() > MAX_NAME_LEN {
            let expected =
                format!("a name of at most {MAX_NAME_LEN} bytes, which the field name can set");
            return Err(place.wrong(format_args!("a rule called {name:?}"), expected));
        }
        if let Some(earlier) = self.names.insert(name.clone(), line) {
            let given = format!("{name:?}, the name of the rule on line {earlier}");
            return Err(place.wrong(given, "a unique name"));
        }
        self.rules.push(FileRule { name, line, entries: entries.to_vec(), limit });
        Ok(())
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

/// The maximum depth of nested descriptors.
const MAX_DEPTH: usize = 8;
/// The maximum number of rules in a file.
const MAX_RULES: usize = 1_000;

/// The fields of a file, in the order in which messages list them.
const ROOT_FIELDS: [&str; 2] = ["domain", "descriptors"];
/// The fields of a descriptor, in the order in which messages list them.
const FIELDS: [&str; 7] =
    ["key", "value", "Value", "rate_limit", "shadow_mode", "soft", "descriptors"];
