//! Pages from templates that applications supply.

use std::sync::Arc;

use waiting_room_core::{ConfigError, Reason, error::ConfigErrorKind};

use super::{Body, Page};
#[cfg(feature = "room")]
use crate::respond::mustache::MustachePage;
use crate::respond::{
    look::Look,
    sample,
    template::{Template, Variables},
};

impl Page {
    /// Creates a page from a template in the Jinja language (the `minijinja` crate).
    ///
    /// The variables of a template are:
    ///
    /// - the fields of [`Answer`](crate::respond::Answer), with durations in whole seconds and points in time in ISO 8601;
    /// - `message`, with the fields of [`Message`](crate::respond::Message);
    /// - `title`, `lang`, `dir` (`ltr` or `rtl`) and `nonce`;
    /// - `logo`, `notice` and `support`, as they are set, and `palette`, a style with the colours
    ///   `--accent` and `--on-accent`;
    /// - all variables of a Cloudflare Waiting Room template, under the same names.
    ///
    /// A variable that does not apply is `none`, and an unknown name is an error. Values are
    /// escaped for HTML.
    ///
    /// The page has no `Content-Security-Policy` until
    /// [one is set](Self::content_security_policy).
    ///
    /// # Errors
    ///
    /// Returns an error if the template is longer than
    /// [`MAX_TEMPLATE_LEN`](Self::MAX_TEMPLATE_LEN), has a syntax error, or fails for any kind of
    /// answer. In the last two cases, the error names the line of the mistake.
    pub fn template(source: impl Into<String>) -> Result<Self, ConfigError> {
        let source = source.into();
        check_len(&source)?;
        let template = Template::parse(source).map_err(|error| malformed(&error, None))?;
        let look = Arc::new(Look { title: Some("title".into()), ..Look::default() });
        for answer in sample::answers() {
            let variables = Arc::new(Variables::new(&answer, &look));
            template.render(&variables).map_err(|error| malformed(&error, Some(&answer.reason)))?;
        }
        Ok(Self::with_body(Body::Template(Arc::new(template))))
    }

    /// Creates a page from a template of Cloudflare Waiting Room, in the Mustache language.
    ///
    /// All 25 fields of `cfWaitingRoom` are variables, as are `waitTimeHours` and
    /// `waitTimeHourMinutes`. A section is rendered if its variable is neither `false` nor 0 nor
    /// empty, as at Cloudflare. Values are escaped for HTML, except in `{{{three braces}}}`.
    ///
    /// The page has no `Content-Security-Policy` until
    /// [one is set](Self::content_security_policy), and has no nonces: a policy that allows inline
    /// scripts must contain their hashes or `'unsafe-inline'`.
    ///
    /// ```
    /// use tower_waiting_room::respond::Page;
    ///
    /// let page = Page::mustache(
    ///     "{{#waitTimeKnown}}About {{waitTime}} min.{{/waitTimeKnown}}\
    ///      {{^waitTimeKnown}}Please wait.{{/waitTimeKnown}}",
    /// )?;
    ///
    /// let error = Page::mustache("<p>\n{{waitTimes}}</p>").unwrap_err();
    /// assert!(error.to_string().contains("line 2"));
    /// # let _ = page;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the template is longer than
    /// [`MAX_TEMPLATE_LEN`](Self::MAX_TEMPLATE_LEN), has more than 10 000 tags or more than 16
    /// sections inside one another, contains an unknown name, a tag or a section that does not end,
    /// or a tag that Cloudflare's pages do not have (`{{>part}}`, `{{=<% %>=}}`). The error names
    /// the line.
    #[cfg(feature = "room")]
    pub fn mustache(source: impl AsRef<str>) -> Result<Self, ConfigError> {
        let source = source.as_ref();
        check_len(source)?;
        let page = MustachePage::parse(source).map_err(|mistake| {
            let given = format_args!("a template that is wrong in {mistake}");
            let expected = "a Mustache template with the variables of Cloudflare Waiting Room";
            ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, expected)
        })?;
        Ok(Self::with_body(Body::Mustache(Arc::new(page))))
    }
}

/// Checks the length of a template.
fn check_len(source: &str) -> Result<(), ConfigError> {
    if source.len() <= Page::MAX_TEMPLATE_LEN {
        return Ok(());
    }
    let given = format_args!("a template of {} bytes", source.len());
    let expected = format_args!("at most {} bytes", Page::MAX_TEMPLATE_LEN);
    Err(ConfigError::new(ConfigErrorKind::TooLarge, FIELD, given, expected))
}

/// Returns the error for a template that fails, with the line of the failure. If the template can
/// be parsed, the error also names the reason of the answer for which it fails.
fn malformed(error: &minijinja::Error, reason: Option<&Reason>) -> ConfigError {
    let line = error.line().unwrap_or_default();
    let case = reason.map(|reason| format!(" for {reason}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let given = format!("a template that fails in line {line}{case} ({}{detail})", error.kind());
    ConfigError::new(
        ConfigErrorKind::Malformed,
        FIELD,
        given,
        "a template that renders every kind of answer",
    )
}

/// The name of the page's configuration field in errors.
const FIELD: &str = "page";
