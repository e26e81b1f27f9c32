//! The `Set-Cookie` header.

use std::time::Duration;

use cookie::{Cookie, time};
use http::HeaderValue;
use waiting_room_core::ConfigError;

use super::{cookie::CookieSettings, tokens::SealedToken};

/// Writes the `Set-Cookie` headers of one room.
#[derive(Clone, Debug)]
pub(super) struct SetCookie {
    /// What all of them have in common.
    template: Cookie<'static>,
}

impl SetCookie {
    /// The headers of these settings in the room of this name.
    ///
    /// # Errors
    ///
    /// As [`CookieSettings::validate`].
    pub(super) fn new(settings: &CookieSettings, room: &str) -> Result<Self, ConfigError> {
        Ok(Self { template: settings.build(room)? })
    }

    /// The name of the cookie.
    pub(super) fn name(&self) -> &str {
        self.template.name()
    }

    /// Keeps `token` for `max_age`, rounded up to whole seconds (RFC 6265 section 5.2.2).
    pub(super) fn keep(&self, token: &SealedToken, max_age: Duration) -> HeaderValue {
        let seconds = max_age.as_secs().saturating_add(u64::from(max_age.subsec_nanos() > 0));
        self.header(token.as_str(), i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Makes the client forget its token.
    pub(super) fn delete(&self) -> HeaderValue {
        self.header("", 0)
    }

    /// Marked as sensitive: it stays out of logs and of compression tables (RFC 7541 section 7.1).
    fn header(&self, value: &str, max_age_secs: i64) -> HeaderValue {
        let mut cookie = self.template.clone();
        cookie.set_value(value);
        cookie.set_max_age(time::Duration::seconds(max_age_secs));
        let mut header = HeaderValue::try_from(cookie.to_string())
            .expect("the settings were checked, and a token is base64url");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tests::{NOW, pass, tokens};

    #[test]
    fn the_age_is_rounded_up_to_whole_seconds() {
        let token = tokens().seal_pass(&pass(NOW));
        let cookie = SetCookie::new(&CookieSettings::new(), "shop").unwrap();
        let cases = [
            (Duration::ZERO, "0"),
            (Duration::from_nanos(1), "1"),
            (Duration::from_secs(300), "300"),
            (Duration::from_millis(300_001), "301"),
            (Duration::MAX, "9223372036854775807"),
        ];
        for (max_age, expected) in cases {
            let header = cookie.keep(&token, max_age);
            assert!(header.is_sensitive());
            let expected = format!(
                "__Host-wr-shop={}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age={expected}",
                token.as_str()
            );
            assert_eq!(header.to_str().unwrap(), expected);
        }
    }
}
