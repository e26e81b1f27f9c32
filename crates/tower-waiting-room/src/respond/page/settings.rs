//! The settings of the page: its name, its look, and its languages.

use std::{borrow::Cow, sync::Arc};

use http::HeaderValue;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::Page;
use crate::respond::{
    i18n,
    look::{self, Look},
    own_page::OwnPage,
};

impl Page {
    /// The maximum length of a file with sentences: 64 KiB.
    pub const MAX_TEXTS_LEN: usize = i18n::MAX_TEXTS_LEN;

    /// The maximum length of a logo: 32 KiB. Every page contains the logo.
    pub const MAX_LOGO_LEN: usize = look::MAX_LOGO_LEN;

    /// The maximum length of a notice: 1 KiB.
    pub const MAX_NOTICE_LEN: usize = look::MAX_NOTICE_LEN;

    /// Sets the name of the event or service that visitors wait for. The default is the name of the
    /// room. A template can use the name as the `title` variable, but a closure does not receive
    /// it.
    #[must_use]
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.set(Look { title: Some(title.into()), ..self.look() });
        self
    }

    /// Adds a language, or replaces sentences of a language, for every answer of the layer.
    ///
    /// `tag` is a tag of BCP 47, such as `mi` or `zh-Hant-HK`, and `file` contains sentences in the
    /// [Fluent](https://projectfluent.org) format, in the form of the built-in files in
    /// `src/respond/i18n`. A file for a built-in language may contain only the sentences to be
    /// replaced. Of Fluent, a file can use arguments such as `{ $shown }` and a choice by `$count`
    /// between the plural forms of CLDR. A sentence needs the arguments that it has in English, and
    /// cannot contain another sentence. Sentences are escaped for HTML.
    ///
    /// The sentences stay in memory until the process ends.
    ///
    /// ```
    /// use tower_waiting_room::{ConfigError, respond::Page};
    ///
    /// let page = Page::default().texts("en", "headline-waiting = You are in the queue\n")?;
    ///
    /// let error = page.texts("en", "headline-wating = You are in the queue\n").unwrap_err();
    /// assert!(error.to_string().contains("the unknown sentence `headline-wating`"));
    /// # Ok::<(), ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the tag is malformed, if the file is longer than
    /// [`MAX_TEXTS_LEN`](Self::MAX_TEXTS_LEN), if it has a flaw, if the file of a new language lacks
    /// a sentence, or if the process already has
    /// [`Language::MAX`](crate::request::Language::MAX) languages. The error names the
    /// line of a flaw, and the sentences that are unknown or missing.
    pub fn texts(mut self, tag: &str, file: &str) -> Result<Self, ConfigError> {
        let language = i18n::add(tag, file)?;
        self.languages = Cow::Owned(self.languages.with(language));
        Ok(self)
    }

    /// Sets the language for clients that accept none of the available languages. The default is
    /// English.
    ///
    /// # Errors
    ///
    /// Returns an error if the page has no language with exactly this tag.
    pub fn default_language(mut self, tag: &str) -> Result<Self, ConfigError> {
        let language = self.languages.tagged(tag).ok_or_else(|| {
            let given: String = tag.chars().take(40).collect();
            ConfigError::new(
                ConfigErrorKind::Malformed,
                "page.default_language",
                format_args!("{given:?}"),
                format_args!("one of {}", self.languages.tags().join(", ")),
            )
        })?;
        self.languages = Cow::Owned(self.languages.with_default(language));
        Ok(self)
    }

    /// Sets the logo above the title, as a `data:` address that contains an image. A template can use
    /// the address as the `logo` variable.
    ///
    /// # Errors
    ///
    /// Returns an error if the address does not contain an image of the type avif, gif, jpeg, png,
    /// svg+xml or webp, or if it is longer than [`MAX_LOGO_LEN`](Self::MAX_LOGO_LEN).
    pub fn logo(mut self, address: &str) -> Result<Self, ConfigError> {
        let mut look = self.look();
        look.set_logo(address)?;
        self.set(look);
        Ok(self)
    }

    /// Sets the colour of the number, the progress and the button in light mode and in dark mode,
    /// such as `#0b6e4f` or `#0b6`. Text on the colour is white or black, whichever is easier to
    /// read. A template can use both colours by the `palette` variable.
    ///
    /// ```
    /// use tower_waiting_room::{ConfigError, respond::Page};
    ///
    /// let page = Page::default().accent("#0b6e4f", "#5fd3a8")?;
    ///
    /// let error = page.accent("#ffd400", "#ffd400").unwrap_err();
    /// let ratio = "#ffd400, whose contrast to the card #ffffff in light mode is 1.43:1";
    /// assert!(error.to_string().contains(ratio));
    /// # Ok::<(), ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a colour is malformed, or if its contrast to the card of the page is less
    /// than 3:1, which WCAG 2.2 requires at level AA of large text and of graphics.
    pub fn accent(mut self, light: &str, dark: &str) -> Result<Self, ConfigError> {
        let mut look = self.look();
        look.set_accent(light, dark)?;
        self.set(look);
        Ok(self)
    }

    /// Sets a notice of the operator, such as the cause of a delay. The text is the same in every
    /// language, and is escaped for HTML. A template can use it as the `notice` variable.
    ///
    /// # Errors
    ///
    /// Returns an error if the notice is empty, or longer than
    /// [`MAX_NOTICE_LEN`](Self::MAX_NOTICE_LEN).
    pub fn notice(mut self, notice: &str) -> Result<Self, ConfigError> {
        let mut look = self.look();
        look.set_notice(notice)?;
        self.set(look);
        Ok(self)
    }

    /// Sets the address of the operator's support, to which the page links. The link opens in a new
    /// tab, so that the visitor does not leave the line. The address should not be behind the same
    /// room. A template can use it as the `support` variable.
    ///
    /// # Errors
    ///
    /// Returns an error if the address does not begin with `https://`, `http://`, `mailto:` or
    /// `tel:`, or is longer than 2 KiB.
    pub fn support(mut self, address: &str) -> Result<Self, ConfigError> {
        let mut look = self.look();
        look.set_support(address)?;
        self.set(look);
        Ok(self)
    }

    /// Returns a copy of the settings.
    fn look(&self) -> Look {
        Look::clone(self.own.look())
    }

    /// Replaces the settings. The style depends on them, and the policy on the style.
    fn set(&mut self, look: Look) {
        self.own = Arc::new(OwnPage::new(look));
        if let Some(source) = &self.policy_source {
            // The policy without hashes was a valid header value before.
            self.policy = HeaderValue::try_from(self.own.with_hashes(source)).ok();
        }
    }
}
