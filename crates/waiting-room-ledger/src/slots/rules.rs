//! The rules by which the slots of a minute are split, the same at all sites of a room.

use std::time::Duration;

use waiting_room_core::{ConfigError, RoomRules, error::ConfigErrorKind};

/// The limits of a room with several sites, and how their slots are split.
///
/// ```
/// use waiting_room_ledger::model::SlotRules;
///
/// let rules = SlotRules::new(200).new_users_per_minute(200);
/// assert!(rules.validate().is_ok());
///
/// let error = rules.any_floor(1.5).validate().unwrap_err();
/// assert_eq!(error.to_string(), "any_floor is 1.5, expected a share from 0 to 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotRules {
    pub(crate) total_active_users: u32,
    pub(super) new_users_per_minute: Option<u32>,
    pub(super) any_floor: f64,
    pub(super) stale_after: Duration,
}

impl SlotRules {
    /// The smallest and the largest value of [`stale_after`](Self::stale_after): 1 s and 10
    /// minutes.
    pub const STALE_AFTER: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(10 * 60));

    /// Creates rules for this many active visitors in the world. The other rules have the
    /// defaults that their methods state.
    #[must_use]
    pub const fn new(total_active_users: u32) -> Self {
        Self {
            total_active_users,
            new_users_per_minute: None,
            any_floor: 0.02,
            stale_after: Duration::from_secs(180),
        }
    }

    /// Sets the limit on new visitors per calendar minute, in the world; unlimited by default.
    #[must_use]
    pub fn new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// Sets the smallest share of the slots, from 0 to 1, that belongs to no site and that all
    /// sites may use; 0.02 by default.
    ///
    /// Without such a share, a site without traffic in the last minute gets no slots once the other
    /// sites' traffic has reached the limit, however many visitors it has now. 0 is the behaviour
    /// of the article.
    #[must_use]
    pub const fn any_floor(mut self, share: f64) -> Self {
        self.any_floor = share;
        self
    }

    /// Sets the age beyond which a snapshot is no longer used to count active visitors; 180 s by
    /// default.
    ///
    /// A site without a recent snapshot has no slots of its own. Anywhere's slots are then
    /// [`any_floor`](Self::any_floor) of the limit.
    #[must_use]
    pub const fn stale_after(mut self, age: Duration) -> Self {
        self.stale_after = age;
        self
    }

    /// The two limits: active visitors, and new visitors per minute.
    #[must_use]
    pub const fn limits(&self) -> (u32, Option<u32>) {
        (self.total_active_users, self.new_users_per_minute)
    }

    /// The largest number of visitors that can be admitted in one minute: the lower of the two
    /// limits.
    #[must_use]
    pub fn most_in_a_minute(&self) -> u32 {
        let per_minute = self.new_users_per_minute.unwrap_or(u32::MAX);
        self.total_active_users.min(per_minute)
    }

    /// Checks all rules, and returns them unchanged.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid.
    pub fn validate(self) -> Result<Self, ConfigError> {
        use ConfigErrorKind::{Malformed, TooLarge, TooSmall};
        let (shortest, longest) = Self::STALE_AFTER;
        let seconds = |duration: Duration| format!("{} s", duration.as_secs_f64());
        let given = seconds(self.stale_after);
        if self.stale_after < shortest {
            return Err(ConfigError::new(TooSmall, "stale_after", given, "at least 1 s"));
        }
        if self.stale_after > longest {
            return Err(ConfigError::new(TooLarge, "stale_after", given, "at most 600 s"));
        }
        users("total_active_users", self.total_active_users)?;
        if let Some(per_minute) = self.new_users_per_minute {
            users("new_users_per_minute", per_minute)?;
        }
        if !(0.0..=1.0).contains(&self.any_floor) {
            let expected = "a share from 0 to 1";
            return Err(ConfigError::new(Malformed, "any_floor", self.any_floor, expected));
        }
        Ok(self)
    }
}

/// Checks a number of visitors.
fn users(field: &'static str, given: u32) -> Result<(), ConfigError> {
    if given == 0 {
        return Err(ConfigError::new(ConfigErrorKind::TooSmall, field, given, "at least 1"));
    }
    if given > RoomRules::MAX_USERS {
        let expected = format!("at most {}", RoomRules::MAX_USERS);
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    Ok(())
}
