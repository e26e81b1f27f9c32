//! The settings of the page: its name, its look, its languages, and its policy.

use std::sync::Arc;

use http::HeaderValue;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{Body, Page};
use crate::respond::{
    look::{self, Look},
    own_page::OwnPage,
};

impl Page {
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

    /// Sets the exact tag of the language for clients that accept none of the available languages.
    /// The default is English.
    #[must_use]
    pub fn default_language(mut self, tag: &str) -> Self {
        self.default_language = Some(tag.into());
        self
    }

    /// Sets the logo above the title, as a `data:` address that contains an image of the type avif,
    /// gif, jpeg, png, svg+xml or webp. It can be up to [`MAX_LOGO_LEN`](Self::MAX_LOGO_LEN) long. A
    /// template can use the address as the `logo` variable.
    #[must_use]
    pub fn logo(self, address: &str) -> Self {
        self.try_set(|look| look.set_logo(address))
    }

    /// Sets a notice of the operator, such as the cause of a delay. The text is the same in every
    /// language, and is escaped for HTML. It must not be empty, and can be up to
    /// [`MAX_NOTICE_LEN`](Self::MAX_NOTICE_LEN) long. A template can use it as the `notice` variable.
    #[must_use]
    pub fn notice(self, notice: &str) -> Self {
        self.try_set(|look| look.set_notice(notice))
    }

    /// Sets the operator's support address, to which the page links. The link opens in a new tab,
    /// so that the visitor does not leave the line. The address should not be behind the same room.
    /// It begins with `https://`, `http://`, `mailto:` or `tel:`, and can be up to 2 KiB long. A
    /// template can use it as the `support` variable.
    #[must_use]
    pub fn support(self, address: &str) -> Self {
        self.try_set(|look| look.set_support(address))
    }

    /// Sets the `Content-Security-Policy` of the page, which consists of printable characters.
    ///
    /// If the page is a template, `{nonce}` in the policy is replaced with the nonce of each
    /// response. In a policy for the default page, `'nonce-{nonce}'` is replaced with the hashes of
    /// its style and its script. A Mustache page has no nonces, so its policy cannot contain
    /// `{nonce}`.
    ///
    /// [`STRICT_POLICY`](Self::STRICT_POLICY) suits a template whose style and script elements have
    /// the attribute `nonce="{{ nonce }}"`.
    #[must_use]
    pub fn content_security_policy(mut self, policy: &str) -> Self {
        match self.policy_of(policy) {
            Ok(value) => {
                self.policy = Some(value);
                if matches!(self.body, Body::Own) {
                    self.policy_source = Some(policy.into());
                }
            }
            Err(flaw) => self.flaw = self.flaw.or(Some(flaw)),
        }
        self
    }

    /// Returns the value of the header for a policy.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not suit the page, or is not valid in a header.
    fn policy_of(&self, policy: &str) -> Result<HeaderValue, ConfigError> {
        const FIELD: &str = "content_security_policy";
        if matches!(self.body, Body::Mustache(_)) && policy.contains("{nonce}") {
            let expected = "a policy without {nonce}, because a Mustache page has no nonces";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, FIELD, format!("{policy:?}"), expected));
        }
        let value = if matches!(self.body, Body::Own) {
            HeaderValue::try_from(self.own.with_hashes(policy))
        } else {
            HeaderValue::from_str(policy)
        };
        value.map_err(|_| {
            let kind = ConfigErrorKind::Malformed;
            ConfigError::new(kind, FIELD, format!("{policy:?}"), "printable characters only")
        })
    }

    /// Changes a copy of the settings. If that fails, the error is kept for the check of the page.
    pub(super) fn try_set(
        mut self,
        change: impl FnOnce(&mut Look) -> Result<(), ConfigError>,
    ) -> Self {
        let mut look = self.look();
        match change(&mut look) {
            Ok(()) => self.set(look),
            Err(flaw) => self.flaw = self.flaw.or(Some(flaw)),
        }
        self
    }

    /// Returns a copy of the settings.
    fn look(&self) -> Look {
        Look::clone(self.own.look())
    }

    /// Replaces the settings, and also the policy, which depends on the style and therefore on the
    /// settings.
    fn set(&mut self, look: Look) {
        self.own = Arc::new(OwnPage::new(look));
        if let Some(source) = &self.policy_source {
            // The policy without hashes was a valid header value before.
            self.policy = HeaderValue::try_from(self.own.with_hashes(source)).ok();
        }
    }
}
