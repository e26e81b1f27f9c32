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
//! bytes ─► Text ─► formats ─► Node ─► Fields ─► descriptors, entry, limit ─► RulesFile
//! ```
//!
//! What this module does not do: find the values of a request, or decide what becomes of the old
//! rules when a file is bad.

mod descriptors;
mod entry;
mod error;
mod fields;
mod formats;
mod limit;
mod node;
mod source;
mod text;
mod watch;

pub(crate) use self::{
    descriptors::{FileRule, RulesFile},
    error::RulesFileError,
    source::RulesSource,
    watch::Watch,
};

#[cfg(test)]
mod tests;
