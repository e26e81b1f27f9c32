//! What never changes about a policy, as it is told to clients.

use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use sfv::{Integer, ItemSerializer, StringRef, key_ref, string_ref};
use waiting_room_core::{Algorithm, ConfigError, ConfigErrorKind, Quota, Reason};

use super::report::{self, PolicyLine, bounded, seconds};

/// In what a quota is counted, as the headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuotaUnit {
    /// Bytes of content.
    ContentBytes,
    /// Requests.
    #[default]
    Requests,
}

impl QuotaUnit {
    /// The name in the draft; `None` for the one that is meant if nothing is said.
    const fn name(self) -> Option<&'static StringRef> {
        match self {
            Self::ContentBytes => Some(string_ref("content-bytes")),
            Self::Requests => None,
        }
    }
}

impl PolicyLine {
    /// A policy under this name, whose `quota` is valid for the `algorithm`.
    ///
    /// A window is told in whole seconds, rounded up. One of less than a second is not told at
    /// all: as a second it would promise less than there is, and scaling the quota up to a second
    /// would promise more at once than is allowed. A leaky queue has none either: its limit is
    /// how many fit in, not how many pass in a time.
    ///
    /// # Errors
    ///
    /// If the name is empty, too long, or not printable ASCII.
    pub(crate) fn new(
        name: &str,
        quota: &Quota,
        algorithm: Algorithm,
        unit: QuotaUnit,
    ) -> Result<Self, ConfigError> {
        let window = quota.replenished_in();
        let is_told = window.as_secs() > 0 && algorithm != Algorithm::LeakyQueue;
        let window = is_told.then(|| seconds(window));
        let detail = format!("The limit {name:?} allows {quota}.");
        Self::of(name, quota.capacity(), unit.name(), window, detail)
    }

    /// The policy that so many requests may run at once.
    ///
    /// # Errors
    ///
    /// If the name is empty, too long, or not printable ASCII.
    pub(crate) fn concurrent(name: &str, limit: u32) -> Result<Self, ConfigError> {
        let detail = format!("The limit {name:?} allows {limit} at once.");
        Self::of(name, limit.into(), Some(string_ref("concurrent-requests")), None, detail)
    }

    fn of(
        name: &str,
        limit: u64,
        unit: Option<&StringRef>,
        window: Option<u64>,
        detail: String,
    ) -> Result<Self, ConfigError> {
        let malformed = || {
            let expected = format_args!("1 to {} printable ASCII characters", MAX_NAME_LEN);
            ConfigError::new(ConfigErrorKind::Malformed, "name", format!("{name:?}"), expected)
        };
        if name.is_empty() || name.len() > MAX_NAME_LEN {
            return Err(malformed());
        }
        let text = StringRef::from_str(name).map_err(|_| malformed())?;
        let limit = bounded(limit);
        let reason = Reason::RefusedRate(name.to_owned().into()).to_string();
        let value = |text: String| HeaderValue::try_from(text).map_err(|_| malformed());
        Ok(Self {
            name: name.into(),
            problem: quota_exceeded(&[name], &reason, &detail).map_err(|_| malformed())?.into(),
            detail,
            limit: report::value(limit),
            policy: value(policy(text, limit, unit, window))?,
            quota: value(bare_quota(limit, window))?,
            head: format!("{};r=", ItemSerializer::new().bare_item(text).finish()),
            tail: format!(";wr-limit={limit};wr-remaining="),
            triple: format!("limit={limit}, remaining="),
        })
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// A member of `RateLimit-Policy` as in draft 11.
fn policy(name: &StringRef, limit: u64, unit: Option<&StringRef>, window: Option<u64>) -> String {
    let mut item = ItemSerializer::new().bare_item(name).parameter(key_ref("q"), integer(limit));
    if let Some(unit) = unit {
        item = item.parameter(key_ref("qu"), unit);
    }
    if let Some(window) = window {
        item = item.parameter(key_ref("w"), integer(window));
    }
    item.finish()
}

/// The same as in drafts 6 and 7.
fn bare_quota(limit: u64, window: Option<u64>) -> String {
    let mut item = ItemSerializer::new().bare_item(integer(limit));
    if let Some(window) = window {
        item = item.parameter(key_ref("w"), integer(window));
    }
    item.finish()
}

fn integer(number: u64) -> Integer {
    Integer::try_from(bounded(number)).unwrap_or(Integer::MAX)
}

/// The problem document for a request that exceeds these policies
/// (`draft-ietf-httpapi-ratelimit-headers-11` section 5.1).
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
    let ((r#type, title), violated_policies) = (QUOTA_EXCEEDED, policies);
    let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
    serde_json::to_vec(&QuotaExceeded { r#type, title, status, detail, reason, violated_policies })
}

/// The type and the title of that document.
pub(crate) const QUOTA_EXCEEDED: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
);

/// The longest name of a limit, in bytes.
pub(crate) const MAX_NAME_LEN: usize = 128;
