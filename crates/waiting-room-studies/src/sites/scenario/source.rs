//! The text of a scenario, and the checks that everything in it goes through.

use std::{fmt::Display, ops::Range, path::Path};

use toml::Spanned;

use super::{error::ScenarioError, settings::Scenario};

/// The text of a file, to say where in it something is wrong.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) directory: &'a Path,
}

impl Source<'_> {
    /// What is given, if it lies in this range; or else what is usual.
    pub(super) fn optional<T: PartialOrd + Copy + Display>(
        &self,
        given: Option<&Spanned<T>>,
        usual: T,
        least: T,
        most: T,
    ) -> Result<T, ScenarioError> {
        given.map_or(Ok(usual), |given| self.within(given, least, most))
    }

    /// What is given, if it lies in this range.
    pub(super) fn within<T: PartialOrd + Copy + Display>(
        &self,
        given: &Spanned<T>,
        least: T,
        most: T,
    ) -> Result<T, ScenarioError> {
        let value = *given.get_ref();
        // Not the same as being outside: a number that is none is neither.
        if value >= least && value <= most {
            return Ok(value);
        }
        self.wrong(given.span(), format!("is {value}, expected {least} to {most}"))
    }

    /// Says what is wrong with what stands there.
    pub(super) fn wrong<T>(
        &self,
        span: Range<usize>,
        message: impl Display,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError::at(self.text, span, message))
    }

    /// Milliseconds there and back, at least and at most.
    pub(super) fn round_trip(
        &self,
        given: Option<&Spanned<Vec<u32>>>,
        usual: [u32; 2],
    ) -> Result<[u32; 2], ScenarioError> {
        let Some(given) = given else { return Ok(usual) };
        match given.get_ref()[..] {
            [least, most] if least <= most && most <= Scenario::MAX_RTT_MS => Ok([least, most]),
            _ => {
                let (given, span) = (given.get_ref(), given.span());
                let expected = format!("expected [least, most] up to {}", Scenario::MAX_RTT_MS);
                self.wrong(span, format!("is {given:?}, {expected}"))
            }
        }
    }
}
