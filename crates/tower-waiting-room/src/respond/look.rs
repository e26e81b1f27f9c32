//! The settings of the default page's appearance.
//!
//! The settings are the same in every answer. They are checked when the page is configured, and
//! written into the page once per language, so all that they add to the cost of an answer is their
//! length.

mod accent;

use std::sync::Arc;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The settings that the operator has chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// The name of the event or service.
    pub(super) title: Option<Arc<str>>,
    /// The address of the logo, which contains the image.
    pub(super) logo: Option<Arc<str>>,
    /// The notice of the operator.
    pub(super) notice: Option<Arc<str>>,
    /// The address of the operator's support.
    pub(super) support: Option<Arc<str>>,
    /// The style that sets the accent colours, or an empty text.
    pub(super) palette: Arc<str>,
}

impl Look {
    /// Sets the logo.
    ///
    /// # Errors
    ///
    /// Returns an error if the address does not contain an image, or if it is too long.
    pub(super) fn set_logo(&mut self, address: &str) -> Result<(), ConfigError> {
        const FIELD: &str = "page.logo";
        bounded(FIELD, address, MAX_LOGO_LEN)?;
        let image = address.strip_prefix("data:image/");
        let is_image = image.is_some_and(|image| IMAGES.iter().any(|kind| image.starts_with(kind)));
        let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if !is_image || !is_plain {
            let given = format!("{:?}", clipped(address));
            return Err(malformed(
                FIELD,
                given,
                "an image as a `data:` address, as in `data:image/png;base64,…`, of the type avif, gif, jpeg, png, svg+xml or webp",
            ));
        }
        self.logo = Some(address.into());
        Ok(())
    }

    /// Sets the notice.
    ///
    /// # Errors
    ///
    /// Returns an error if the notice is empty or too long.
    pub(super) fn set_notice(&mut self, notice: &str) -> Result<(), ConfigError> {
        const FIELD: &str = "page.notice";
        bounded(FIELD, notice, MAX_NOTICE_LEN)?;
        if notice.trim().is_empty() {
            return Err(malformed(FIELD, "empty".to_owned(), "a text"));
        }
        self.notice = Some(notice.into());
        Ok(())
    }

    /// Sets the support address.
    ///
    /// # Errors
    ///
    /// Returns an error if the address has another scheme, contains a space, or is too long.
    pub(super) fn set_support(&mut self, address: &str) -> Result<(), ConfigError> {
        const FIELD: &str = "page.support";
        bounded(FIELD, address, MAX_ADDRESS_LEN)?;
        let has_scheme = SCHEMES
            .iter()
            .any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !has_scheme || !address.chars().all(|character| character.is_ascii_graphic()) {
            let given = format!("{:?}", clipped(address));
            let expected = "an address that begins with https://, http://, mailto: or tel:";
            return Err(malformed(FIELD, given, expected));
        }
        self.support = Some(address.into());
        Ok(())
    }
}

/// Checks the length of a setting.
fn bounded(field: &'static str, text: &str, limit: usize) -> Result<(), ConfigError> {
    if text.len() <= limit {
        return Ok(());
    }
    let given = format!("{} bytes long", text.len());
    let expected = format!("at most {limit} bytes");
    Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
}

fn malformed(field: &'static str, given: String, expected: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Malformed, field, given, expected)
}

/// Returns the beginning of a setting, for an error.
fn clipped(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}

/// The types of images that browsers show, each with the separator before its parameters.
const IMAGES: [&str; 12] = [
    "avif;", "avif,", "gif;", "gif,", "jpeg;", "jpeg,", "png;", "png,", "svg+xml;", "svg+xml,",
    "webp;", "webp,",
];

/// The schemes of the support link.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "tel:"];

/// The maximum length of a logo: 32 KiB. Every page contains the logo.
pub(super) const MAX_LOGO_LEN: usize = 32 * 1024;

/// The maximum length of a notice in bytes.
pub(super) const MAX_NOTICE_LEN: usize = 1024;

/// The maximum length of the support address.
const MAX_ADDRESS_LEN: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_a_short_image_in_the_address_itself() {
        let mut look = Look::default();
        for good in ["data:image/png;base64,iVBORw0KGgo=", "data:image/svg+xml,%3Csvg/%3E"] {
            look.set_logo(good).unwrap();
        }
        let error = |address: &str| Look::default().set_logo(address).unwrap_err().to_string();
        for bad in [
            "",
            "https://x/logo.png",
            "data:text/html,<b>",
            "data:image/png",
            "data:image/png;\u{e9}",
        ] {
            assert!(error(bad).contains("an image as a `data:` address"), "{bad}");
        }
        let long = format!("data:image/png;base64,{}", "A".repeat(MAX_LOGO_LEN));
        assert!(error(&long).contains("page.logo is 32790 bytes long"), "{}", error(&long));
    }

    #[test]
    fn a_support_link_has_a_scheme_that_a_person_can_follow() {
        for good in ["https://x.example/help?a=b", "mailto:help@x.example", "tel:+15550100"] {
            Look::default().set_support(good).unwrap();
        }
        for bad in ["", "help", "/help", "javascript:alert(1)", "https://", "https://x y", "HTTPS:"]
        {
            let error = Look::default().set_support(bad).unwrap_err().to_string();
            assert!(error.contains("begins with https://"), "{error}");
        }
        assert!(Look::default().set_support(&"https://x".repeat(999)).is_err());
    }

    #[test]
    fn a_notice_is_a_text_of_bounded_length() {
        Look::default().set_notice("Doors open at ten.").unwrap();
        assert!(Look::default().set_notice(" \n").is_err());
        let error = Look::default().set_notice(&"x".repeat(2_000)).unwrap_err().to_string();
        assert!(error.contains("page.notice is 2000 bytes long, expected at most 1024"), "{error}");
    }
}
