//! The text of a scenario, and the checks that all values go through.

use std::{fmt::Display, ops::Range, path::Path};

use toml::Spanned;

use super::{error::ScenarioError, settings::Scenario};

/// The text of a file, which locates errors.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) directory: &'a Path,
}

impl Source<'_> {
    /// Returns the given value if it lies in this range, and the default if there is none.
    pub(super) fn optional<T: PartialOrd + Copy + Display>(
        &self,
        given: Option<&Spanned<T>>,
        usual: T,
        least: T,
        most: T,
    ) -> Result<T, ScenarioError> {
        given.map_or(Ok(usual), |given| self.within(given, least, most))
    }

    /// Returns the given value if it lies in this range.
    pub(super) fn within<T: PartialOrd + Copy + Display>(
        &self,
        given: &Spanned<T>,
        least: T,
        most: T,
    ) -> Result<T, ScenarioError> {
        let value = *given.get_ref();
        // The condition is not inverted, because NaN must be refused too.
        if value >= least && value <= most {
            return Ok(value);
        }
        self.wrong(given.span(), format!("is {value}, expected {least} to {most}"))
    }

    /// Returns an error at this place.
    pub(super) fn wrong<T>(
        &self,
        span: Range<usize>,
        message: impl Display,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError::at(self.text, span, message))
    }

    /// Returns a round-trip time in milliseconds, minimum and maximum.
    pub(super) fn round_trip(
        &self,
        given: Option<&Spanned<Vec<u32>>>,
        usual: [u32; 2],
    ) -> Result<[u32; 2], ScenarioError> {
        let Some(given) = given else { return Ok(usual) };
        match given.get_ref()[..] {
            [least, most] if least <= most && most <= Scenario::MAX_RTT_MS => Ok([least, most]),
            _ => {
                let span = given.span();
                let given = given.get_ref();
                let expected = format!("expected [least, most] up to {}", Scenario::MAX_RTT_MS);
                self.wrong(span, format!("is {given:?}, {expected}"))
            }
        }
    }
}
