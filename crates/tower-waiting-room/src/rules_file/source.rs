//! The rules file of a configuration.
//!
//! Reading the file has no other effect: `followed` applies its limits and watches the file.

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{RulesFileError, descriptors};
use crate::{
    rate::{RateLimit, RulesSource},
    request::Part,
};

impl RulesSource {
    /// Checks that there is a path, and that every key has exactly one meaning.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is missing, or if a key that the application defines has the
    /// same name as a built-in key or another key.
    fn validate(&self) -> Result<(), ConfigError> {
        if self.path.as_os_str().is_empty() {
            let expected = "the path of a rules file, because the option descriptor is set";
            let kind = ConfigErrorKind::Missing;
            let field = "rate_limits_file";
            return Err(ConfigError::new(kind, field, "missing", expected));
        }
        let names: Vec<_> = self.descriptors.iter().filter_map(Part::name).collect();
        for (index, name) in names.iter().enumerate() {
            if Part::named(name).is_some() || names[..index].contains(name) {
                let kind = ConfigErrorKind::Contradicts;
                let field = "descriptor";
                let expected = "a name that is neither built in nor already used";
                return Err(ConfigError::new(kind, field, format_args!("{name:?}"), expected));
            }
        }
        Ok(())
    }

    /// Reads the file at start-up, when there are no earlier limits that could stay in effect.
    ///
    /// # Errors
    ///
    /// Returns an error if the source is not valid, or if the file cannot be used. The error
    /// contains the position in the file.
    pub(crate) fn load_first(&self) -> Result<Vec<RateLimit>, ConfigError> {
        self.validate()?;
        self.load().map_err(|error| {
            let expected = error.expected().unwrap_or("a file with rate limits");
            ConfigError::new(
                ConfigErrorKind::Malformed,
                "rate_limits_file",
                error.given(),
                expected,
            )
        })
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be used. This function does not check whether the limits
    /// in the file can be combined with the limits that are defined in code.
    pub(crate) fn load(&self) -> Result<Vec<RateLimit>, RulesFileError> {
        descriptors::load(&self.path, &self.descriptors)
    }
}
