//! The rules of the sites of a room, the same for all, and the policy by which slots reach nodes.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind, RoomRules};

use crate::Pacing;

/// The limits of a room with many sites, and how they are split.
///
/// ```
/// use waiting_room_sites::{SlotPolicy, SlotRules};
///
/// let rules = SlotRules::new(200, SlotPolicy::Counters).new_users_per_minute(200);
/// assert!(rules.validate().is_ok());
///
/// let error = rules.any_floor(1.5).validate().unwrap_err();
/// assert_eq!(error.to_string(), "any_floor is 1.5, expected a share from 0 to 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotRules {
    pub(super) total_active_users: u32,
    pub(super) new_users_per_minute: Option<u32>,
    pub(super) policy: SlotPolicy,
    pub(super) any_floor: f64,
    pub(super) pacing: Pacing,
    pub(super) stale_after: Duration,
}

/// How the slots of a site reach its nodes: which of them may use how many in a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlotPolicy {
    /// Whoever comes first: all nodes of a site share a counter, and all sites another.
    ///
    /// It costs a round trip within the site for each new visitor, and one across the world once
    /// the slots of the site are used up. Not too early but for what other sites have reserved and
    /// do not use, and never more than there are slots.
    Counters,
    /// Each node its part, by fewer nodes than there are: by `utilization ^ curve_factor` of them.
    ///
    /// **Unsafe.** While few are active each node may admit nearly everybody, and all nodes together
    /// may admit as many times the slots there are: up to the number of nodes, or
    /// `utilization ^ -curve_factor`, whichever is less. Here for study, because the article tells
    /// of it and of why it was given up.
    Curve {
        /// 0 is [`Even`](Self::Even); the greater, the more is given away far from the limit.
        curve_factor: f64,
    },
    /// Each node its part, rounded down. It costs no round trip, and queues too early: visitors do
    /// not come to nodes in equal parts.
    Even,
}

impl SlotRules {
    /// The shortest and the longest time after which a snapshot is not believed any more.
    pub const STALE_AFTER: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(10 * 60));

    /// So many active visitors in the world, under this policy; the other rules have the defaults
    /// that their methods state.
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

    /// So many new visitors in a calendar minute, in the world. Unlimited by default.
    #[must_use]
    pub fn new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// At least this share of the slots belongs to no site: whoever comes first has them. 0.02.
    ///
    /// Without it, once the traffic of the last minute has reached the limit, a site that had none
    /// of it gets nothing, however many come to it now. 0 is as in the article.
    #[must_use]
    pub const fn any_floor(mut self, share: f64) -> Self {
        self.any_floor = share;
        self
    }

    /// How the slots of a minute are spread over it. [`Pacing::None`].
    #[must_use]
    pub const fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// From this age on a snapshot says nothing about who is active. 180 seconds.
    ///
    /// A site without one has no slots of its own, and of Anywhere's only
    /// [`any_floor`](Self::any_floor) of the limit.
    #[must_use]
    pub const fn stale_after(mut self, age: Duration) -> Self {
        self.stale_after = age;
        self
    }

    /// The limits: active visitors, and new visitors a minute.
    #[must_use]
    pub const fn limits(&self) -> (u32, Option<u32>) {
        (self.total_active_users, self.new_users_per_minute)
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> SlotPolicy {
        self.policy
    }

    /// No more than this many are ever let in in one minute: the lower of the two limits.
    #[must_use]
    pub fn most_in_a_minute(&self) -> u32 {
        let per_minute = self.new_users_per_minute.unwrap_or(u32::MAX);
        self.total_active_users.min(per_minute)
    }

    /// Checks every rule.
    ///
    /// # Errors
    ///
    /// The first rule that makes no sense.
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
    /// The highest curve factor. Even at half of the limit one node is then worth 256.
    pub const MAX_CURVE_FACTOR: f64 = 8.0;

    /// The share of the nodes that slots are divided by, at a utilization from 0 to 1. The article's
    /// `workerMultiplier`.
    #[must_use]
    pub fn multiplier(self, utilization: f64) -> f64 {
        match self {
            Self::Curve { curve_factor } => utilization.clamp(0.0, 1.0).powf(curve_factor),
            Self::Counters | Self::Even => 1.0,
        }
    }

    /// How many of a pool of `slots` that `nodes` have in common one of them may use by itself.
    ///
    /// Never more than the pool, and without division by less than one node, however few are
    /// active. With [`Counters`](Self::Counters) every node may use all, as far as the counter lets
    /// it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to slots")]
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
