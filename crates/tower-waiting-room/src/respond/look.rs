//! The settings of the default page's appearance.
//!
//! The settings are the same in every answer. They are checked when the page is configured, and
//! written into the page once per language, so that they cost nothing in an answer but their length.

use std::{fmt::Write, sync::Arc};

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// What the operator has set.
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
        let is_image = image.is_some_and(|it| IMAGES.iter().any(|kind| it.starts_with(kind)));
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

    /// Sets the address of the support.
    ///
    /// # Errors
    ///
    /// Returns an error if the address has another scheme, contains a space, or is too long.
    pub(super) fn set_support(&mut self, address: &str) -> Result<(), ConfigError> {
        const FIELD: &str = "page.support";
        bounded(FIELD, address, MAX_ADDRESS_LEN)?;
        let has_scheme =
            SCHEMES.iter().any(|it| address.strip_prefix(it).is_some_and(|rest| !rest.is_empty()));
        if !has_scheme || !address.chars().all(|it| it.is_ascii_graphic()) {
            let given = format!("{:?}", clipped(address));
            let expected = "an address that begins with https://, http://, mailto: or tel:";
            return Err(malformed(FIELD, given, expected));
        }
        self.support = Some(address.into());
        Ok(())
    }

    /// Sets the accent colour of the light and of the dark mode.
    ///
    /// # Errors
    ///
    /// Returns an error if a colour is malformed, or if its contrast to the card is too low.
    pub(super) fn set_accent(&mut self, light: &str, dark: &str) -> Result<(), ConfigError> {
        let [light, dark] = [(light, LIGHT_CARD, "light"), (dark, DARK_CARD, "dark")]
            .map(|(given, card, mode)| Accent::new(given, card, mode));
        let (light, dark) = (light?, dark?);
        let mut palette = String::new();
        let written = write!(
            palette,
            "\n:root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
        );
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        self.palette = palette.into();
        Ok(())
    }
}

/// A colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Colour([u8; 3]);

impl Colour {
    /// Parses a colour such as `#5a3fd0` or `#53d`.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let channel = |at: usize| match digits.len() {
            3 => u8::from_str_radix(digits.get(at..=at)?, 16).ok().map(|digit| digit * 17),
            6 => u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok(),
            _ => None,
        };
        Some(Self([channel(0)?, channel(1)?, channel(2)?]))
    }

    /// Returns the relative luminance (WCAG 2.2).
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast ratio of two colours (WCAG 2.2), from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let [a, b] = [self, other].map(|it| it.luminance() + 0.05);
        a.max(b) / a.min(b)
    }
}

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self([red, green, blue]) = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// An accent colour, and the colour of text on it.
#[derive(Clone, Copy, Debug)]
struct Accent {
    colour: Colour,
    text: Colour,
}

impl Accent {
    /// Checks an accent colour for the card of a mode.
    fn new(given: &str, card: Colour, mode: &str) -> Result<Self, ConfigError> {
        const FIELD: &str = "page.accent";
        let Some(colour) = Colour::parse(given) else {
            let given = format!("{:?}", clipped(given));
            return Err(malformed(FIELD, given, "a colour such as `#5a3fd0`"));
        };
        let ratio = colour.contrast(card);
        if ratio < MIN_CONTRAST {
            // The ratio is rounded down, so that it never looks sufficient.
            let ratio = (ratio * 100.0).floor() / 100.0;
            let given = format!(
                "{colour}, whose contrast to the card {card} in {mode} mode is {ratio:.2}:1"
            );
            let expected = "a contrast of at least 3:1 (WCAG 2.2 AA, 1.4.3 and 1.4.11)";
            return Err(ConfigError::new(ConfigErrorKind::TooSmall, FIELD, given, expected));
        }
        // One of the two has a contrast of at least 4.5:1 to any colour.
        let [white, black] = [Colour([255; 3]), Colour([0; 3])];
        let is_dark = colour.contrast(white) >= colour.contrast(black);
        Ok(Self { colour, text: if is_dark { white } else { black } })
    }
}

impl std::fmt::Display for Accent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { colour, text } = self;
        write!(f, "--accent: {colour}; --accent-end: {colour}; --on-accent: {text};")
    }
}

/// Checks the length of a setting.
fn bounded(field: &'static str, text: &str, limit: usize) -> Result<(), ConfigError> {
    if text.len() <= limit {
        return Ok(());
    }
    let (given, expected) =
        (format!("{} bytes long", text.len()), format!("at most {limit} bytes"));
    Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
}

fn malformed(field: &'static str, given: String, expected: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Malformed, field, given, expected)
}

/// Returns the beginning of a setting, for an error.
fn clipped(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}

/// The background of the card in light mode, and in dark mode. These are the `--card` colours of
/// `page.css`.
const LIGHT_CARD: Colour = Colour([0xff, 0xff, 0xff]);
const DARK_CARD: Colour = Colour([0x1b, 0x18, 0x24]);

/// The lowest contrast of large text (WCAG 2.2, 1.4.3) and of graphics (1.4.11) at level AA. Small
/// text is never in the accent colour.
const MIN_CONTRAST: f64 = 3.0;

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

/// The maximum length of the address of the support.
const MAX_ADDRESS_LEN: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    fn accent(light: &str, dark: &str) -> String {
        Look::default().set_accent(light, dark).unwrap_err().to_string()
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        let ratio = |a, b| Colour::parse(a).unwrap().contrast(Colour::parse(b).unwrap());
        let cases = [
            ("#000", "#fff", 21.0),
            ("#777", "#ffffff", 4.48),
            ("#767676", "#fff", 4.54),
            ("#949494", "#fff", 3.03),
            ("#ff0000", "#fff", 4.0),
            ("#5a3fd0", "#5a3fd0", 1.0),
        ];
        for (a, b, expected) in cases {
            assert!((ratio(a, b) - expected).abs() < 0.01, "{a} {b}: {}", ratio(a, b));
            assert!((ratio(a, b) - ratio(b, a)).abs() < 1e-9);
        }
    }

    #[test]
    fn an_accent_that_is_hard_to_see_is_refused_with_both_colours_and_the_ratio() {
        let error = accent("#ffd400", "#ffd400");
        assert!(error.contains("#ffd400"), "{error}");
        assert!(error.contains("the card #ffffff in light mode is 1.43:1"), "{error}");
        assert!(error.contains("at least 3:1"), "{error}");
        let error = accent("#0b3d91", "#0b3d91");
        assert!(error.contains("the card #1b1824 in dark mode is 1."), "{error}");
        for colour in ["", "5a3fd0", "#5a3fd", "#5a3fd0ff", "#xyz", "red", "#é1", "url(x)"] {
            let error = accent(colour, "#fff");
            assert!(error.contains("a colour such as `#5a3fd0`"), "{error}");
        }
    }

    #[test]
    fn every_accent_that_passes_can_be_seen_and_read() {
        for number in (0..0x1000).step_by(7) {
            let text = format!("#{number:03x}");
            let Ok(accent) = Accent::new(&text, LIGHT_CARD, "light") else { continue };
            assert!(accent.colour.contrast(LIGHT_CARD) >= 3.0, "{text}");
            assert!(accent.colour.contrast(accent.text) >= 4.5, "{text}");
        }
    }

    #[test]
    fn the_cards_are_those_of_the_page() {
        let style = super::super::own_page::STYLE;
        for card in [LIGHT_CARD, DARK_CARD] {
            assert!(style.contains(&format!("--card: {card};")), "{card}");
        }
    }

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
