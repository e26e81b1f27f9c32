//! The rules that all sites of a room share, and the policy that assigns slots to nodes.

use std::time::Duration;

use waiting_room_core::{ConfigError, RoomRules, error::ConfigErrorKind};

use crate::slots::Pacing;

/// The limits of a room with several sites, and how their slots are split.
///
/// ```
/// use waiting_room_ledger::model::{SlotPolicy, SlotRules};
///
/// let rules = SlotRules::new(200, SlotPolicy::Counters).new_users_per_minute(200);
/// assert!(rules.validate().is_ok());
///
/// let error = rules.any_floor(1.5).validate().unwrap_err();
/// assert_eq!(error.to_string(), "any_floor is 1.5, expected a share from 0 to 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotRules {
    pub(crate) total_active_users: u32,
    pub(crate) new_users_per_minute: Option<u32>,
    pub(crate) policy: SlotPolicy,
    pub(crate) any_floor: f64,
    pub(crate) pacing: Pacing,
    pub(crate) stale_after: Duration,
}

/// The policy that determines how many slots each node of a site may use in a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlotPolicy {
    /// First come, first served: all nodes of a site draw from one counter, and all sites from
    /// another.
    ///
    /// It costs a round trip within the site for each new visitor, and one across the world once
    /// the slots of the site are used up. It never admits more visitors than there are slots. It
    /// queues too early only for slots that are reserved for other sites and not used there.
    Counters,
    /// Each node may use an equal part of the slots, as if there were fewer nodes: the slots are
    /// divided by `nodes × utilization ^ curve_factor`.
    ///
    /// **Unsafe.** While few visitors are active, each node may admit nearly all slots. All nodes
    /// together may admit a multiple of the slots: up to the number of nodes, or
    /// `utilization ^ -curve_factor`, whichever is less. It is provided for study, because the
    /// article describes it, and why it was abandoned.
    Curve {
        /// From 0 to [`MAX_CURVE_FACTOR`](Self::MAX_CURVE_FACTOR). 0 is equivalent to
        /// [`Even`](Self::Even); larger factors assign more slots while utilization is low.
        curve_factor: f64,
    },
    /// Each node may use an equal part of the slots, rounded down.
    ///
    /// It costs no round trip. It queues too early, because visitors do not arrive at all nodes in
    /// equal numbers.
    Even,
}

impl SlotRules {
    /// The smallest and the largest value of [`stale_after`](Self::stale_after): 1 s and 10
    /// minutes.
    pub const STALE_AFTER: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(10 * 60));

    /// Creates rules for this many active visitors in the world, under this policy. The other rules
    /// have the defaults that their methods state.
    #[must_use]
    pub const fn new(total_active_users: u32, policy: SlotPolicy) -> Self {
        Self {
            total_active_users,
            new_users_per_minute: None,
            policy,
            any_floor: 0.02,
            pacing: Pacing::None,
            stale_after: Duration::from_secs(180),
        }
    }

    /// Sets the limit of new visitors per calendar minute, in the world. Unlimited by default.
    #[must_use]
    pub fn new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// Sets the smallest share of the slots, from 0 to 1, that belongs to no site and that all
    /// sites may use. 0.02 by default.
    ///
    /// Without such a share, a site without traffic in the last minute gets no slots once the other
    /// sites' traffic has reached the limit, however many visitors it has now. 0 is the behaviour
    /// of the article.
    #[must_use]
    pub const fn any_floor(mut self, share: f64) -> Self {
        self.any_floor = share;
        self
    }

    /// Sets how the slots of a minute are spread over it. [`Pacing::None`] by default.
    #[must_use]
    pub const fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// Sets the age beyond which a snapshot is no longer used to count active visitors. 180 s by
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

    /// The policy that assigns slots to nodes.
    #[must_use]
    pub const fn policy(&self) -> SlotPolicy {
        self.policy
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
        if let SlotPolicy::Curve { curve_factor } = self.policy
            && !(0.0..=SlotPolicy::MAX_CURVE_FACTOR).contains(&curve_factor)
        {
            let expected = "a number from 0 to 8";
            return Err(ConfigError::new(Malformed, "curve_factor", curve_factor, expected));
        }
        Ok(self)
    }
}

impl SlotPolicy {
    /// The largest curve factor. With it, 256 nodes count as one even at half of the limit.
    pub const MAX_CURVE_FACTOR: f64 = 8.0;

    /// The factor, from 0 to 1, by which the number of nodes is multiplied before slots are divided
    /// by it. It is the article's `workerMultiplier`.
    ///
    /// A `utilization` outside of 0 to 1 is clamped.
    #[must_use]
    pub fn multiplier(self, utilization: f64) -> f64 {
        match self {
            Self::Curve { curve_factor } => utilization.clamp(0.0, 1.0).powf(curve_factor),
            Self::Counters | Self::Even => 1.0,
        }
    }

    /// The number of slots that one node may use by itself, out of `slots` for `nodes` nodes.
    ///
    /// It is never more than `slots`: the divisor is at least one, however low the utilization.
    /// With [`Counters`](Self::Counters), every node may use all slots that the counter grants.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `slots`")]
    pub fn per_node(self, slots: u32, nodes: u32, utilization: f64) -> u32 {
        match self {
            Self::Counters => slots,
            Self::Curve { .. } => {
                let adapted = f64::from(nodes) * self.multiplier(utilization);
                (f64::from(slots) / adapted.max(1.0)).floor() as u32
            }
            Self::Even => slots / nodes.max(1),
        }
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
