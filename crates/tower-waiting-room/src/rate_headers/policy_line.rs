//! The constant strings of a policy that clients receive: header values, and the problem document
//! of a refusal.
//!
//! The strings are serialized as structured fields (RFC 9651) when limits change. Each response
//! only shares these strings or appends digits to them. Serializing the strings for each request
//! would make refusals expensive.

use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use waiting_room_core::{ConfigError, Quota, Reason, error::ConfigErrorKind, rate::Algorithm};

use super::report::{self, PolicyLine, bounded, seconds};

/// The unit in which headers report a quota.
///
/// Clients see the unit as the `qu` parameter of `RateLimit-Policy` in draft 11. The unit does not
/// change the cost of a request; see [`RateLimit::cost_by`](crate::RateLimit::cost_by).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuotaUnit {
    /// The quota counts bytes of content.
    ///
    /// Young: this unit may change in any release, because draft 11 may change. See
    /// [Stability](crate#stability).
    ContentBytes,
    /// The quota counts requests.
    #[default]
    Requests,
}

impl QuotaUnit {
    /// Returns the name of the unit in draft 11, or `None` for the default unit, which need not be
    /// stated.
    const fn name(self) -> Option<&'static str> {
        match self {
            Self::ContentBytes => Some("content-bytes"),
            Self::Requests => None,
        }
    }
}

impl PolicyLine {
    /// Serializes the policy of a rate limit with this name. `quota` must be valid for `algorithm`.
    ///
    /// The window is given in whole seconds, rounded up. Two kinds of policies omit the window:
    ///
    /// - A policy whose window is shorter than a second. Rounding the window up to a second would
    ///   promise less than the policy allows, and scaling the quota up to a second would promise a
    ///   larger burst than the policy allows.
    /// - A leaky queue, whose limit is the number of requests that fit into the queue, not the
    ///   number of requests in a window.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is empty, longer than [`MAX_NAME_LEN`], or not printable ASCII.
    pub(crate) fn new(
        name: &str,
        quota: &Quota,
        algorithm: Algorithm,
        unit: QuotaUnit,
    ) -> Result<Self, ConfigError> {
        // Clients see the capacity and the time in which it is replenished. If the quota has a
        // burst, the ratio of the capacity to this time is the same as the ratio of the quota to
        // its window.
        let window = quota.replenished_in();
        let is_told = window.as_secs() > 0 && algorithm != Algorithm::LeakyQueue;
        let window = is_told.then(|| seconds(window));
        let detail = format!("The limit {name:?} allows {quota}.");
        Self::of(name, quota.capacity(), unit.name(), window, detail)
    }

    /// Serializes the policy of a gate with this name, which lets up to `limit` requests run at
    /// once.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is empty, longer than [`MAX_NAME_LEN`], or not printable ASCII.
    pub(crate) fn concurrent(name: &str, limit: u32) -> Result<Self, ConfigError> {
        let detail = format!("The limit {name:?} on concurrent requests is {limit}.");
        Self::of(name, limit.into(), Some("concurrent-requests"), None, detail)
    }

    /// Serializes the strings of a policy. `limit` is the largest number of units that can be used
    /// at once, and `window` is in seconds.
    fn of(
        name: &str,
        limit: u64,
        unit: Option<&str>,
        window: Option<u64>,
        detail: String,
    ) -> Result<Self, ConfigError> {
        let malformed = || {
            let expected = format_args!("1 to {} printable ASCII characters", MAX_NAME_LEN);
            ConfigError::new(ConfigErrorKind::Malformed, "name", format!("{name:?}"), expected)
        };
        let is_printable = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if name.is_empty() || name.len() > MAX_NAME_LEN || !is_printable {
            return Err(malformed());
        }
        let text = quoted(name);
        // Only the limit in the headers is capped at 15 digits. The limiter still applies the full
        // quota.
        let limit = bounded(limit);
        let reason = Reason::RefusedRate(name.to_owned().into()).to_string();
        let value = |text: String| HeaderValue::try_from(text).map_err(|_| malformed());
        Ok(Self {
            name: name.into(),
            problem: quota_exceeded(&[name], &reason, &detail).map_err(|_| malformed())?.into(),
            detail,
            limit: report::value(limit),
            policy: value(policy(&text, limit, unit, window))?,
            quota: value(bare_quota(limit, window))?,
            head: format!("{text};r="),
            tail: format!(";wr-limit={limit};wr-remaining="),
            triple: format!("limit={limit}, remaining="),
        })
    }

    /// Returns the name of the policy.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Returns a member of `RateLimit-Policy` as in draft 11, such as `"per_ip";q=100;w=60`.
/// `name` is already quoted.
fn policy(name: &str, limit: u64, unit: Option<&str>, window: Option<u64>) -> String {
    let unit = unit.map_or_else(String::new, |unit| format!(";qu={}", quoted(unit)));
    format!("{name};q={limit}{unit}{}", parameter_w(window))
}

/// Returns a member of `RateLimit-Policy` as in drafts 6 and 7, where policies have no names, such
/// as `100;w=60`.
fn bare_quota(limit: u64, window: Option<u64>) -> String {
    format!("{limit}{}", parameter_w(window))
}

/// Returns the parameter for a window of whole seconds.
fn parameter_w(window: Option<u64>) -> String {
    window.map_or_else(String::new, |window| format!(";w={}", bounded(window)))
}

/// Writes printable ASCII as a string of a structured field (RFC 9651 section 4.1.6).
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('"', r#"\""#);
    format!("\"{escaped}\"")
}

/// Writes the problem document for a request that exceeds these policies
/// (`draft-ietf-httpapi-ratelimit-headers-11` section 5.1).
///
/// # Errors
///
/// Returns an error if serialization fails, which is not expected: the document consists of strings
/// and one number.
pub(crate) fn quota_exceeded(
    policies: &[&str],
    reason: &str,
    detail: &str,
) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct QuotaExceeded<'a> {
        r#type: &'static str,
        title: &'static str,
        status: u16,
        detail: &'a str,
        reason: &'a str,
        #[serde(rename = "violated-policies")]
        violated_policies: &'a [&'a str],
    }
    let (r#type, title) = QUOTA_EXCEEDED;
    let violated_policies = policies;
    let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
    serde_json::to_vec(&QuotaExceeded { r#type, title, status, detail, reason, violated_policies })
}

/// The type and the title of the document that [`quota_exceeded`] writes, as registered by the
/// draft.
pub(crate) const QUOTA_EXCEEDED: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
);

/// The maximum length of a limit's name, in bytes. The name is sent in the response to every
/// request to which the limit applies.
pub(crate) const MAX_NAME_LEN: usize = 128;
