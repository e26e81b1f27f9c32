//! Pages from templates of Cloudflare Waiting Room.

use std::sync::Arc;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{Body, Page};
use crate::respond::mustache::MustachePage;

impl Page {
    /// Creates a page from a template of Cloudflare Waiting Room, in the Mustache language.
    ///
    /// All 25 fields of `cfWaitingRoom` are variables, as are `waitTimeHours` and
    /// `waitTimeHourMinutes`. As in Cloudflare's templates, a section is rendered unless its
    /// variable is `false`, 0 or empty. Values are escaped for HTML, except in
    /// `{{{three braces}}}`.
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
    /// levels of nested sections, contains an unknown name, a tag or a section that does not end,
    /// or a tag that Cloudflare's pages do not have (`{{>part}}`, `{{=<% %>=}}`). The error names
    /// the line.
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
pub(super) fn check_len(source: &str) -> Result<(), ConfigError> {
    if source.len() <= Page::MAX_TEMPLATE_LEN {
        return Ok(());
    }
    let given = format!("a template of {} bytes", source.len());
    let expected = format_args!("at most {} bytes", Page::MAX_TEMPLATE_LEN);
    Err(ConfigError::new(ConfigErrorKind::TooLarge, FIELD, given, expected))
}

/// The name of the page's configuration field in errors.
pub(super) const FIELD: &str = "page";
