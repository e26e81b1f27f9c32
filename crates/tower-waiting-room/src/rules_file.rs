//! Rate limits from a file, in the form that Lyft's rate limiter made common.
//!
//! ```yaml
//! domain: shop
//! descriptors:
//!   - key: remote_address            # every address by itself,
//!     rate_limit: { unit: minute, requests_per_unit: 300 }
//!     descriptors:
//!       - key: path                  # and besides, on this path,
//!         value: /login
//!         rate_limit: { unit: minute, requests_per_unit: 5, algorithm: sliding_log }
//!   - key: remote_address            # but this one as often as it likes.
//!     value: 192.0.2.7
//!     rate_limit: { unlimited: true }
//! ```
//!
//! A descriptor is about a `key` of the request, and either about one `value` of it or about each
//! value by itself. Those within it narrow it down. Every one that has a `rate_limit` is a rule: it
//! applies to the requests that have all the entries from the root down to it. Among neighbours
//! with the same key, those that name the value of a request win: the one without a value, with all
//! that is within it, does not apply to that request. A value is named by its key's own measure, an
//! address by a network that holds it, say, so two neighbours may name the same: then both apply.
//!
//! | field of a rate limit | means |
//! |---|---|
//! | `requests_per_unit` | how many, in every |
//! | `unit` | `second`, `minute`, `hour`, `day` or `week`; or instead |
//! | `window` | a duration such as `10s` or `1m 30s` |
//! | `algorithm` | `gcra` if not given |
//! | `refusals` | whether a `sliding_log` counts what it refuses: `ignore` if not given, or `count` |
//! | `alignment` | when a `fixed_window` begins: `epoch` if not given, or `first_hit` |
//! | `burst` | how many at once, for the algorithms that have one |
//! | `cost` | what a request costs: 1 if not given |
//! | `max_keys` | how many values are remembered at a time |
//! | `name` | in headers and metrics, instead of the path |
//! | `unlimited` | alone: applies, and limits nothing |
//!
//! Beside `rate_limit` may stand `shadow_mode`, to count and report only, or `soft`, to let the
//! request pass with a mark.
//!
//! The same goes for TOML: both are read as nodes that know where they stand, and from there on the
//! rules and the messages are the same.
//!
//! ```text
//! bytes ─► Text ─► yaml ─┐
//!                  toml ─┴► Node ─► Fields ─► descriptors, limit ─► RulesFile
//! ```
//!
//! What this module does not do: find the values of a request, or decide what becomes of the old
//! rules when a file is bad.

mod descriptors;
mod error;
mod fields;
mod keys;
mod limit;
mod node;
mod text;
mod toml;
mod watch;
mod yaml;

use std::{path::Path, sync::Arc};

use waiting_room_core::{Algorithm, Quota};

use self::{descriptors::Reading, text::Text};
pub(crate) use self::{error::RulesFileError, watch::Watch};
use crate::rate::{Literal, OverLimit};

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

/// What a request has to have for a rule to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The value, or with none any value, each by itself.
    pub(crate) value: Option<Literal>,
    /// Without a value: the ones to which a more specific neighbour applies instead.
    pub(crate) except: Arc<[Literal]>,
}

/// How much, counted how, and what becomes of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLimit {
    pub(crate) quota: Quota,
    pub(crate) algorithm: Algorithm,
    /// What each request costs, if it is not 1.
    pub(crate) cost: Option<u64>,
    /// How many keys are remembered, if it is not the usual number.
    pub(crate) max_keys: Option<usize>,
    pub(crate) over_limit: OverLimit,
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

    fn parse(path: &Path, bytes: &[u8], registered: &[&str]) -> Result<Self, RulesFileError> {
        let read = match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => toml::read,
            Some("yaml" | "yml") => yaml::read,
            _ => {
                let message = "has none of the extensions .yaml, .yml and .toml".to_owned();
                return Err(RulesFileError::whole(path, message));
            }
        };
        let text = Text::new(path, bytes)?;
        Reading::of(text, read(text)?, registered)
    }
}

#[cfg(test)]
mod tests;
