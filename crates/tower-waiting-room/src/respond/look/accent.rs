//! The accent colours of the page, and their contrast to its card.

use std::fmt::Write;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{Look, clipped, malformed};

impl Look {
    /// Sets the accent colours of light and dark mode.
    ///
    /// # Errors
    ///
    /// Returns an error if a colour is malformed, or if its contrast to the card is too low.
    pub(in crate::respond) fn set_accent(
        &mut self,
        light: &str,
        dark: &str,
    ) -> Result<(), ConfigError> {
        let [light, dark] = [(light, LIGHT_CARD, "light"), (dark, DARK_CARD, "dark")]
            .map(|(given, card, mode)| Accent::new(given, card, mode));
        let light = light?;
        let dark = dark?;
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
        let [a, b] = [self, other].map(|colour| colour.luminance() + 0.05);
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
        // On any accent colour, white or black has a contrast of at least 4.5:1.
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

/// The background of the card in light mode, and in dark mode. These are the `--card` colours of
/// `page.css`.
const LIGHT_CARD: Colour = Colour([0xff, 0xff, 0xff]);
const DARK_CARD: Colour = Colour([0x1b, 0x18, 0x24]);

/// The lowest contrast of large text (WCAG 2.2, 1.4.3) and of graphics (1.4.11) at level AA. Small
/// text is never in the accent colour.
const MIN_CONTRAST: f64 = 3.0;

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
        let style = crate::respond::own_page::STYLE;
        for card in [LIGHT_CARD, DARK_CARD] {
            assert!(style.contains(&format!("--card: {card};")), "{card}");
        }
    }
}
