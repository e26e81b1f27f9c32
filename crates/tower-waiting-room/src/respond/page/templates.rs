//! The parts of a page that need the feature `room`: templates in the Jinja language, added
//! languages, and accent colours.

use std::{borrow::Cow, sync::Arc};

use waiting_room_core::{ConfigError, Reason, error::ConfigErrorKind};

use super::{
    Body, Page,
    mustache::{FIELD, check_len},
};
use crate::respond::{
    i18n,
    look::Look,
    sample,
    template::{Template, Variables},
};

impl Page {
    /// The maximum length of a file with sentences: 64 KiB.
    pub const MAX_TEXTS_LEN: usize = i18n::MAX_TEXTS_LEN;

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

    /// Adds a language, or replaces sentences of a language, for every answer of the layer.
    ///
    /// `tag` is a BCP 47 tag, such as `mi` or `zh-Hant-HK`, and `file` contains sentences in the
    /// [Fluent](https://projectfluent.org) format, under their names in the [English file][en]. A
    /// sentence that the file lacks is taken from the built-in language with this tag or, if there
    /// is none, from English. The Fluent syntax is limited to arguments such as `{ $shown }` and a
    /// choice by `$count` between the plural forms of CLDR. A sentence needs the same arguments as
    /// in English, and cannot contain another sentence. Sentences are escaped for HTML.
    ///
    /// The sentences stay in memory until the process ends.
    ///
    /// The tag must be well-formed. The file can be up to [`MAX_TEXTS_LEN`](Self::MAX_TEXTS_LEN)
    /// long, and must not have a flaw. A process has at most
    /// [`Language::MAX`](crate::request::Language::MAX) languages. The error names the line of a flaw.
    ///
    /// [en]: https://docs.rs/crate/tower-waiting-room/latest/source/src/respond/i18n/en.ftl
    ///
    /// ```
    /// use tower_waiting_room::{ConfigError, WaitingRoomConfig, respond::Page};
    ///
    /// let config = |file| {
    ///     let page = Page::default().texts("en", file);
    ///     WaitingRoomConfig::builder("shop").total_active_users(100).page(page).build()
    /// };
    /// config("headline-waiting = You are in the queue\n")?;
    ///
    /// let error = config("headline-wating = You are in the queue\n").unwrap_err();
    /// assert!(error.to_string().contains("the unknown sentence `headline-wating`"));
    /// # Ok::<(), ConfigError>(())
    /// ```
    #[must_use]
    pub fn texts(mut self, tag: &str, file: &str) -> Self {
        match i18n::add(tag, file) {
            Ok(language) => self.languages = Cow::Owned(self.languages.with(language)),
            Err(flaw) => self.flaw = self.flaw.or(Some(flaw)),
        }
        self
    }

    /// Sets the colour of the number, the progress and the button in light mode and in dark mode,
    /// such as `#0b6e4f` or `#0b6`. Text on the colour is white or black, whichever is easier to
    /// read. A template can use both colours with the `palette` variable.
    ///
    /// Each colour must have a contrast of at least 3:1 to the card of the page, as WCAG 2.2
    /// requires for large text and graphics at level AA.
    ///
    /// ```
    /// use tower_waiting_room::{ConfigError, WaitingRoomConfig, respond::Page};
    ///
    /// let config = |light, dark| {
    ///     let page = Page::default().accent(light, dark);
    ///     WaitingRoomConfig::builder("shop").total_active_users(100).page(page).build()
    /// };
    /// config("#0b6e4f", "#5fd3a8")?;
    ///
    /// let error = config("#ffd400", "#ffd400").unwrap_err();
    /// let ratio = "#ffd400, whose contrast to the card #ffffff in light mode is 1.43:1";
    /// assert!(error.to_string().contains(ratio));
    /// # Ok::<(), ConfigError>(())
    /// ```
    #[must_use]
    pub fn accent(self, light: &str, dark: &str) -> Self {
        self.try_set(|look| look.set_accent(light, dark))
    }
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
