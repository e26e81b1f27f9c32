//! Rate limits from a file, in the format that Lyft's rate limiter made common.
//!
//! ```yaml
//! domain: shop
//! descriptors:
//!   - key: remote_address            # every address by itself,
//!     rate_limit: { unit: minute, requests_per_unit: 300 }
//!     descriptors:
//!       - key: path                  # and in addition on this path,
//!         value: /login
//!         rate_limit: { unit: minute, requests_per_unit: 5, algorithm: sliding_log }
//!   - key: remote_address            # but this one without a limit.
//!     value: 192.0.2.7
//!     rate_limit: { unlimited: true }
//! ```
//!
//! A descriptor names a `key` of the request, and either one `value` of the key or, without a
//! value, each value by itself. The descriptors inside it narrow it down. Every descriptor with a
//! `rate_limit` is a rule, which applies to the requests that match all entries from the root down
//! to it.
//!
//! Among neighbours with the same key, those that name the value of a request win: the neighbour
//! without a value, with everything inside it, does not apply to that request. Values are compared
//! as their key demands. An address, for example, matches every network that contains it. Two
//! neighbours can therefore match the same request, and then both apply.
//!
//! | field of a rate limit | meaning |
//! |---|---|
//! | `requests_per_unit` | the number of requests allowed in each window |
//! | `unit` | the window: `second`, `minute`, `hour`, `day` or `week` |
//! | `window` | the window as a duration such as `10s` or `1m 30s`, instead of `unit` |
//! | `algorithm` | `gcra` by default |
//! | `refusals` | whether a `sliding_log` counts refused requests: `ignore` (default) or `count` |
//! | `alignment` | when a `fixed_window` begins: `epoch` (default) or `first_hit` |
//! | `burst` | the number of requests allowed at once, for algorithms that have a burst |
//! | `cost` | the cost of a request: 1 by default |
//! | `max_keys` | the number of values that are remembered at a time |
//! | `name` | the name in headers and metrics: the path to the rule by default |
//! | `unlimited` | applies without limiting anything; allowed only alone or with a `name` |
//!
//! Next to `rate_limit`, `shadow_mode` makes a rule count and report only, and `soft` makes it mark
//! requests instead of refusing them.
//!
//! YAML and TOML are both read into nodes that know their positions. Everything after that is the
//! same for both formats, including the error messages:
//!
//! ```text
//! bytes ─► Text ─► formats ─► Node ─► Fields ─► descriptors, entry, limit ─► RulesFile
//! ```
//!
//! This module does not evaluate the rules against requests: it turns them into limits with
//! conditions, which the rate limits of the layer evaluate like those from code. A bad file is
//! reported and leaves the limits in force as they are.

mod descriptors;
mod entry;
mod error;
mod fields;
mod followed;
mod formats;
mod limit;
mod node;
mod source;
mod text;
mod watch;

pub use self::error::RulesFileError;
pub(crate) use self::{
    descriptors::{FileRule, RulesFile},
    followed::FollowedFile,
    source::RulesSource,
    watch::Watch,
};

#[cfg(test)]
mod tests;
