//! Bypass rules in a configuration file.

use http::Method;
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use crate::request::Bypass;

/// A bypass rule: a name and exactly one test, such as
/// `{ "name": "health", "path": "/healthz" }`. The test `all` contains further tests, such as
/// `{ "name": "admin", "all": [{ "path_prefix": "/admin/" }, { "network": "203.0.113.0/24" }] }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BypassRule {
    name: String,
    #[serde(flatten)]
    test: RuleTest,
}

/// The test of a bypass rule. The methods of [`Bypass`] describe which requests each test covers.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleTest {
    All(Vec<RuleTest>),
    Cookie(String),
    Header(String),
    Host(String),
    Method(String),
    Network(String),
    Path(String),
    PathPrefix(String),
}

impl BypassRule {
    /// Converts the rule to a [`Bypass`] for the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if the method of the rule is not a valid HTTP method, or if the test `all`
    /// contains no test, too many, or another `all`. The builder checks everything else.
    pub(super) fn bypass(self) -> Result<Bypass, ConfigError> {
        let Self { name, test } = self;
        let RuleTest::All(tests) = test else { return test.bypass(name) };
        if tests.len() > RuleTest::MAX_TESTS {
            let given = format!("{} tests in the rule {name:?}", tests.len());
            let expected = format_args!("at most {}", RuleTest::MAX_TESTS);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "bypass", given, expected));
        }
        let mut all: Option<Bypass> = None;
        for test in tests {
            let test = test.bypass(name.clone())?;
            all = Some(match all {
                Some(all) => all.and(test),
                None => test,
            });
        }
        all.ok_or_else(|| {
            let given = format!("no test in the rule {name:?}");
            ConfigError::new(ConfigErrorKind::Missing, "bypass", given, "at least one")
        })
    }
}

impl RuleTest {
    /// The maximum number of tests of one rule.
    const MAX_TESTS: usize = 16;

    /// Converts a single test to a rule with this name.
    fn bypass(self, name: String) -> Result<Bypass, ConfigError> {
        Ok(match self {
            Self::All(_) => {
                let given = format!("all nested in all in the rule {name:?}");
                let kind = ConfigErrorKind::Malformed;
                let expected = "tests without all";
                return Err(ConfigError::new(kind, "bypass", given, expected));
            }
            Self::Cookie(cookie) => Bypass::cookie(name, cookie),
            Self::Header(header) => match header.split_once(':') {
                Some((header, value)) => Bypass::header(name, header.trim(), value.trim()),
                None => Bypass::header(name, header, None),
            },
            Self::Host(host) => Bypass::host(name, host),
            Self::Network(network) => Bypass::network(name, network),
            Self::Path(path) => Bypass::path(name, path),
            Self::PathPrefix(prefix) => Bypass::path_prefix(name, prefix),
            Self::Method(text) => {
                let method = method("bypass", &name, &text)?;
                Bypass::method(name, method)
            }
        })
    }
}

/// Parses a method. Error messages contain `field` and `rule`.
///
/// # Errors
///
/// Returns an error if the string is not a token (RFC 9110 section 9.1).
pub(super) fn method(field: &'static str, rule: &str, text: &str) -> Result<Method, ConfigError> {
    Method::from_bytes(text.as_bytes()).map_err(|_| {
        let given = format!("{text:?} in the rule {rule:?}");
        ConfigError::new(ConfigErrorKind::Malformed, field, given, "a method")
    })
}
