//! Rate limits from a file, in the format that Lyft's rate limiter made popular.
//!
//! ```yaml
//! domain: shop
//! descriptors:
//!   - key: remote_address            # each address separately
//!     rate_limit: { unit: minute, requests_per_unit: 300 }
//!     descriptors:
//!       - key: path                  # in addition, each address on this path
//!         value: /login
//!         rate_limit: { unit: minute, requests_per_unit: 5, algorithm: sliding_log }
//!   - key: remote_address            # no limit for this address
//!     value: 192.0.2.7
//!     rate_limit: { unlimited: true }
//! ```
//!
//! A descriptor names a `key` of the request. The descriptor matches one `value` of the key or,
//! without a `value`, each value of the key separately. Nested descriptors narrow down the
//! descriptor that contains them. Every descriptor with a `rate_limit` is a rule. The rule applies
//! to the requests that match all descriptors from the root down to the rule.
//!
//! Among sibling descriptors with the same key, those whose `value` matches the request take
//! precedence: neither the sibling without a value nor the descriptors nested in it apply to that
//! request. The key determines how values are compared. An address, for example, matches every
//! network that contains it. Two siblings can therefore match the same request, in which case both
//! apply.
//!
//! | field of a rate limit | meaning |
//! |---|---|
//! | `requests_per_unit` | the number of requests allowed in each window |
//! | `unit` | the window: `second`, `minute`, `hour`, `day` or `week` |
//! | `window` | the window as a duration such as `10s` or `1m 30s`, instead of `unit` |
//! | `algorithm` | the algorithm of the limit: `gcra` by default |
//! | `refusals` | whether a `sliding_log` counts refused requests: `ignore` (default) or `count` |
//! | `alignment` | when a `fixed_window` begins: `epoch` (default) or `first_hit` |
//! | `burst` | the number of requests allowed at once, for algorithms that have a burst |
//! | `cost` | the cost of a request: 1 by default |
//! | `max_keys` | the number of values that are remembered at a time |
//! | `missing_key` | the treatment of requests that lack a key: `bypass` (default), `address` or `refuse` |
//! | `quota_unit` | the unit that headers report: `requests` (default) or `content_bytes` |
//! | `adjustable` | whether the application may correct the cost of a request afterwards |
//! | `name` | the name in headers and metrics: the path to the rule by default |
//! | `unlimited` | matches requests without limiting them; allowed only alone or with a `name` |
//!
//! Two further fields of a descriptor change the effect of its limit on requests that exceed the
//! limit: with `shadow_mode`, the rule only counts and reports these requests, and with `soft`, the
//! rule marks them instead of refusing them.
//!
//! YAML and TOML are both parsed into nodes that record their positions in the file. All later
//! steps are the same for both formats, including the error messages:
//!
//! ```text
//! bytes ─► Text ─► formats ─► Node ─► Fields ─► descriptors, entry, limit ─► RateLimits
//!        configuration file ──►┘
//! ```
//!
//! A list of descriptors is also the field `rate_limits` of a configuration file, where it is read
//! in the same way. There, an error names the field, and the parser of that file adds the position.
//!
//! This module does not evaluate the rules against requests. It converts the rules to limits with
//! conditions, which the layer evaluates like limits that are defined in code. An invalid file is
//! reported, and the current limits stay in effect.

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
pub(crate) use self::{descriptors::Descriptors, followed::FollowedFile, watch::Watch};

#[cfg(test)]
mod tests;
