//! The tree of descriptors, flattened to the rules of a file.

use std::{collections::HashMap, path::Path, sync::Arc};

use super::{
    entry::{Entry, key, literal, path_of},
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

/// A file that was read and found in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RulesFile {
    pub(crate) domain: String,
    /// In the order of the file, an outer one before those within it.
    pub(crate) rules: Vec<FileRule>,
}

/// A descriptor that has a `rate_limit`, with all that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileRule {
    /// Unique, and the same as long as the path to the rule is: `shop/remote_address/path=/login`,
    /// with what is not printable ASCII in percent encoding. Or what the file calls it.
    pub(crate) name: String,
    /// Where the descriptor stands, from 1 on.
    pub(crate) line: usize,
    /// From the root down. The rule applies to a request that has them all.
    pub(crate) entries: Vec<Entry>,
    /// None limits nothing, but keeps the neighbour that names no value from applying.
    pub(crate) limit: Option<FileLimit>,
}

impl RulesFile {
    /// Reads a file. Its keys have to be built in or `registered`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the first thing in it that is wrong.
    pub(crate) fn load(path: &Path, registered: &[&str]) -> Result<Self, RulesFileError> {
        let bytes = text::read(path).map_err(|error| RulesFileError::unreadable(path, error))?;
        Self::parse(path, &bytes, registered)
    }

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

/// A file that is being read.
pub(super) struct Reading<'a> {
    registered: &'a [&'a str],
    domain: String,
    rules: Vec<FileRule>,
    names: HashMap<String, usize>,
}

/// A descriptor of which the entry is known.
struct Descriptor<'a> {
    entry: Entry,
    key: Span<'a>,
    fields: Fields<'a>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(
        text: Text<'a>,
        root: Node,
        registered: &'a [&'a str],
    ) -> Result<RulesFile, RulesFileError> {
        let mut fields = Fields::root(text, root, &ROOT_FIELDS)?;
        let domain = fields.require("domain", "a name for all these rules")?.text()?;
        let descriptors = fields.require("descriptors", "a list")?;
        let mut reading = Self { registered, domain, rules: Vec::new(), names: HashMap::new() };
        reading.descriptors(descriptors, &mut Vec::new())?;
        Ok(RulesFile { domain: reading.domain, rules: reading.rules })
    }

    /// A list of neighbours, all within the `outer` entries.
    fn descriptors(
        &mut self,
        given: Given<'a>,
        outer: &mut Vec<Entry>,
    ) -> Result<(), RulesFileError> {
        if outer.len() == MAX_DEPTH {
            let depth = format!("at depth {}", MAX_DEPTH + 1);
            return Err(given.place.wrong(depth, format_args!("at most {MAX_DEPTH}")));
        }
        for mut descriptor in self.neighbours(given)? {
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
            if self.rules.len() == rules {
                let expected = "a rate_limit, or descriptors that have one";
                return Err(descriptor.fields.place.wrong("without effect", expected));
            }
            outer.pop();
        }
        Ok(())
    }

    /// The entries of a list, each with the values that its neighbours take from it.
    fn neighbours(&self, given: Given<'a>) -> Result<Vec<Descriptor<'a>>, RulesFileError> {
        let mut indices = HashMap::new();
        let mut named: HashMap<String, Vec<Literal>> = HashMap::new();
        let mut descriptors: Vec<Descriptor<'a>> = Vec::new();
        for given in given.list()? {
            let descriptor = self.descriptor(given)?;
            let Entry { key, value, .. } = &descriptor.entry;
            let text = value.as_ref().map(|value| value.as_str().to_owned());
            let index = descriptors.len();
            if let Some(earlier) = indices.insert((key.clone(), text), index) {
                let line = descriptors[earlier].fields.place.line();
                let given = format!("the same as that of line {line}");
                return Err(descriptor.fields.place.wrong(given, "another key or value"));
            }
            if let Some(value) = value {
                named.entry(key.clone()).or_default().push(value.clone());
            }
            descriptors.push(descriptor);
        }
        for Descriptor { entry, .. } in &mut descriptors {
            if entry.value.is_none() {
                entry.except = named.remove(&entry.key).unwrap_or_default().into();
            }
        }
        Ok(descriptors)
    }

    fn descriptor(&self, given: Given<'a>) -> Result<Descriptor<'a>, RulesFileError> {
        let mut fields = given.table(&FIELDS)?;
        let given = fields.require("key", "what of a request this is about")?;
        let place = given.place.clone();
        let key = key(given, self.registered)?;
        // The first of the published examples of this form writes it with a capital.
        let value = match (fields.take("value"), fields.take("Value")) {
            (Some(_), Some(second)) => return Err(second.wrong("nothing beside value")),
            (value, capital) => value.or(capital).map(|given| literal(&key, given)).transpose()?,
        };
        let entry = Entry { key, value, except: Arc::default() };
        Ok(Descriptor { entry, key: place, fields })
    }

    /// Adds the rule of a descriptor, if it has one.
    fn rule(&mut self, fields: &mut Fields<'a>, entries: &[Entry]) -> Result<(), RulesFileError> {
        let over_limit = over_limit(fields)?;
        let RateLimit { name, mut limit } = match fields.take("rate_limit") {
            Some(given) => rate_limit(given)?,
            None => match over_limit {
                Some((_, given)) => return Err(given.wrong("nothing without a rate_limit")),
                None => return Ok(()),
            },
        };
        match (&mut limit, over_limit) {
            (Some(limit), Some((over_limit, _))) => limit.over_limit = over_limit,
            (None, Some((_, given))) => return Err(given.wrong("nothing beside unlimited")),
            (_, None) => {}
        }
        if self.rules.len() == MAX_RULES {
            let expected = format!("at most {MAX_RULES} in a file");
            return Err(fields.place.wrong("one rule more", expected));
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
            let expected = format!("at most {MAX_NAME_LEN} bytes: give it a name");
            return Err(place.wrong(format_args!("a rule called {name:?}"), expected));
        }
        if let Some(earlier) = self.names.insert(name.clone(), line) {
            let given = format!("{name:?}, as the rule of line {earlier} is called");
            return Err(place.wrong(given, "a name of its own"));
        }
        self.rules.push(FileRule { name, line, entries: entries.to_vec(), limit });
        Ok(())
    }
}

/// What is to become of a request over the limit, if the descriptor says so, and which field says
/// it.
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
            return Err(given.wrong("nothing beside shadow_mode"));
        }
        said = Some((over_limit, given));
    }
    Ok(said)
}

/// A name that a quoted string of a header can hold (RFC 9651 section 3.3.3).
fn called(given: Given<'_>) -> Result<String, RulesFileError> {
    let place = given.place.clone();
    let name = given.text()?;
    if name.bytes().all(|byte| matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b'\\')) {
        return Ok(name);
    }
    Err(place
        .wrong(format_args!("{name:?}"), "printable ASCII without spaces, quotes and backslashes"))
}

/// How deep descriptors may be nested.
const MAX_DEPTH: usize = 8;
/// How many rules a file may have.
const MAX_RULES: usize = 1_000;

const ROOT_FIELDS: [&str; 2] = ["domain", "descriptors"];
const FIELDS: [&str; 7] =
    ["key", "value", "Value", "rate_limit", "shadow_mode", "soft", "descriptors"];
