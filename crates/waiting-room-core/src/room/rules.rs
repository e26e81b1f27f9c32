//! The rules of a room, which determine its limits, its line, and its sessions.
//!
//! The names of the rules are those of Cloudflare Waiting Room, which coined the terms of the
//! field. Where a rule is stricter than Cloudflare's, the docs of its method describe the
//! difference.

use std::{fmt, num::NonZeroU32, time::Duration};

use crate::{
    ConfigError,
    error::ConfigErrorKind,
    room::{CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Shares},
};

/// The rules of one room.
///
/// Each rule is a public field, which a method of the same name sets. All rules pass through one
/// check, [`validate`](Self::validate), whether they come from a builder, from a file, or from an
/// operator who changes a running room.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Room, RoomRules};
///
/// let rules = RoomRules::new("shop", 200)
///     .new_users_per_minute(200)
///     .session_duration(Duration::from_secs(300));
/// assert!(Room::new(rules).is_ok());
///
/// let error = Room::new(RoomRules::new("shop", 0)).unwrap_err();
/// assert_eq!(error.to_string(), "total_active_users is 0, expected at least 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoomRules {
    /// The name of the room.
    pub name: String,
    /// The maximum number of active visitors.
    pub total_active_users: u32,
    /// The maximum number of visitors admitted within any 60 seconds, or `None` if there is no such
    /// limit.
    pub new_users_per_minute: Option<u32>,
    /// The time for which a session lasts after its last request or, if the session is fixed, after
    /// the admission.
    pub session_duration: Duration,
    /// Whether requests prolong a session.
    pub session_renewal: SessionRenewal,
    /// The order in which waiting visitors are admitted.
    pub queueing_method: QueueingMethod,
    /// The mode in which the room runs.
    pub mode: RoomMode,
    /// The maximum number of places in the line.
    pub line_capacity: u32,
    /// The time for which a place is kept after the last check-in.
    pub place_retention: Duration,
    /// The longest interval between check-ins, before jitter is added.
    pub refresh_interval: Duration,
    /// Whether clients must return a cookie before they get a slot.
    pub cookie_test: CookieTest,
    /// The behavior after a loss of state.
    pub recovery: Recovery,
    /// The longest session duration in earlier deployments of this room, if it was longer than the
    /// current duration.
    pub longest_session_duration: Option<Duration>,
    /// The share of the room that one network may have while others want it.
    pub shares: Shares,
    /// The age beyond which a session is not prolonged while visitors wait.
    pub longest_visit: Option<Duration>,
}

impl RoomRules {
    /// The window of the [`new_users_per_minute`](Self::new_users_per_minute) limit.
    pub const MINUTE: Duration = Duration::from_secs(60);
    /// The maximum length of a room's name, in bytes.
    pub const MAX_NAME_LEN: usize = 64;
    /// The highest permitted limit on active visitors, and on new visitors per minute.
    ///
    /// This maximum bounds memory, because the limit on new visitors stores one timestamp for each
    /// admission in the last minute.
    pub const MAX_USERS: u32 = 10_000_000;
    /// The shortest interval between check-ins, for visitors at the front of the line.
    pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(2);
    /// The intended rate of check-ins after the start of an event, in prequeue visitors per second.
    pub const STARTERS_PER_SECOND: u32 = 5_000;
    /// The highest permitted capacity of the line.
    pub const MAX_LINE_CAPACITY: u32 = 10_000_000;
    /// The shortest and the longest permitted session duration.
    pub const SESSION_DURATION: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest permitted [`longest_visit`](Self::longest_visit()).
    pub const LONGEST_VISIT: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(30 * 24 * 60 * 60));
    /// The shortest and the longest time for which a place may be kept after the last check-in.
    pub const PLACE_RETENTION: (Duration, Duration) =
        (Duration::from_secs(5), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest permitted interval between check-ins of a visitor far back in
    /// line.
    pub const REFRESH_INTERVAL: (Duration, Duration) =
        (Duration::from_secs(2), Duration::from_secs(10 * 60));

    /// Creates rules for a room with the given name and limit on slots.
    ///
    /// All other rules have their default values, which are documented on their methods.
    #[must_use]
    pub fn new(name: impl Into<String>, total_active_users: u32) -> Self {
        Self {
            name: name.into(),
            total_active_users,
            new_users_per_minute: None,
            session_duration: Duration::from_secs(5 * 60),
            session_renewal: SessionRenewal::Sliding,
            queueing_method: QueueingMethod::Fifo,
            mode: RoomMode::Auto,
            line_capacity: 100_000,
            place_retention: Duration::from_secs(5 * 60),
            refresh_interval: Duration::from_secs(20),
            cookie_test: CookieTest::Off,
            recovery: Recovery::AdmitAtOnce,
            longest_session_duration: None,
            shares: Shares::Auto,
            longest_visit: Some(Duration::from_secs(60 * 60)),
        }
    }

    /// Sets the maximum number of visitors active at any time.
    ///
    /// The maximum is a cap, not a target. If the cap is lowered, the number of active visitors
    /// falls to the new cap as sessions end.
    #[must_use]
    pub fn total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = users;
        self
    }

    /// Sets the maximum number of visitors admitted within any 60 seconds; unlimited by default.
    ///
    /// The minute slides: each window `(t, t + 60 s]` contains at most `users` admissions, wherever
    /// the window begins.
    #[must_use]
    pub fn new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// Sets the time for which a visitor stays active after its last request; 5 minutes by default.
    ///
    /// With [`SessionRenewal::Fixed`], this time is counted from the admission instead.
    #[must_use]
    pub fn session_duration(mut self, duration: Duration) -> Self {
        self.session_duration = duration;
        self
    }

    /// Sets whether requests prolong a session; [`SessionRenewal::Sliding`] by default.
    #[must_use]
    pub fn session_renewal(mut self, renewal: SessionRenewal) -> Self {
        self.session_renewal = renewal;
        self
    }

    /// Sets the order in which waiting visitors are admitted; [`QueueingMethod::Fifo`] by default.
    #[must_use]
    pub fn queueing_method(mut self, method: QueueingMethod) -> Self {
        self.queueing_method = method;
        self
    }

    /// Sets the mode in which the room runs; [`RoomMode::Auto`] by default.
    #[must_use]
    pub fn mode(mut self, mode: RoomMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the maximum number of places in the line; 100 000 by default. If the line is full,
    /// visitors without a place are refused.
    #[must_use]
    pub fn line_capacity(mut self, places: u32) -> Self {
        self.line_capacity = places;
        self
    }

    /// Sets the share of the room that one network may have while others want it;
    /// [`Shares::Auto`] by default.
    ///
    /// A client that returns cookies gets a slot or a place for every two requests, and could
    /// otherwise hold all slots and fill the line within seconds.
    #[must_use]
    pub fn shares(mut self, shares: Shares) -> Self {
        self.shares = shares;
        self
    }

    /// Sets the age beyond which a session is not prolonged while visitors wait; 1 hour by default.
    /// `None` means that sessions are prolonged without end.
    ///
    /// The sessions that end for this reason never outnumber the waiting visitors. The first pass
    /// of a visitor is never shortened, even if its lifetime is longer than this.
    #[must_use]
    pub fn longest_visit(mut self, duration: impl Into<Option<Duration>>) -> Self {
        self.longest_visit = duration.into();
        self
    }

    /// Sets the time for which a place is kept after the last check-in; 5 minutes by default.
    ///
    /// The retention time must be at least twice the [refresh
    /// interval](Self::refresh_interval), so that a visitor that checks in on time never loses
    /// its place.
    #[must_use]
    pub fn place_retention(mut self, duration: Duration) -> Self {
        self.place_retention = duration;
        self
    }

    /// Sets the interval between check-ins of a visitor far back in line; 20 seconds by default.
    ///
    /// Visitors near the front check in more often, but at most once every 2 seconds.
    #[must_use]
    pub fn refresh_interval(mut self, interval: Duration) -> Self {
        self.refresh_interval = interval;
        self
    }

    /// Sets whether clients must return a cookie before they get a slot; [`CookieTest::Off`] by
    /// default.
    #[must_use]
    pub fn cookie_test(mut self, test: CookieTest) -> Self {
        self.cookie_test = test;
        self
    }

    /// Sets the behavior after a loss of state; [`Recovery::AdmitAtOnce`] by default.
    #[must_use]
    pub fn recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// Sets the longest [session duration](Self::session_duration) in earlier deployments of
    /// this room. The default, `None`, means that no earlier duration was longer than the current
    /// duration.
    ///
    /// This option matters only for [`Recovery::Pause`]. A room in memory does not remember its
    /// rules across a restart, so a deployment that shortens sessions has to specify the old
    /// duration.
    #[must_use]
    pub fn longest_session_duration(mut self, duration: impl Into<Option<Duration>>) -> Self {
        self.longest_session_duration = duration.into();
        self
    }

    /// Returns the rules for one of `nodes` nodes that decide independently. Each limit is the
    /// node's share of the original limit, rounded down. Returns `None` if one of these shares is
    /// zero.
    #[must_use]
    pub fn share(mut self, nodes: NonZeroU32) -> Option<Self> {
        let share = |limit: u32| Some(limit / nodes).filter(|&share| share > 0);
        self.total_active_users = share(self.total_active_users)?;
        if let Some(users) = self.new_users_per_minute {
            self.new_users_per_minute = Some(share(users)?);
        }
        Some(self)
    }

    /// Checks each rule by itself and against the other rules.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is out of bounds or contradicts another rule. The
    /// error states the value of that rule and the bound.
    pub fn validate(self) -> Result<Self, ConfigError> {
        check_name(&self.name)?;
        for setting in Self::SETTINGS {
            setting.check(&setting.get(&self))?;
        }
        if self.place_retention < self.refresh_interval * 2 {
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "place_retention",
                seconds(self.place_retention),
                format_args!(
                    "at least twice refresh_interval ({})",
                    seconds(self.refresh_interval)
                ),
            ));
        }
        Ok(self)
    }
}

/// Checks the name of a room or an event, which becomes part of keys in a store and of metric
/// labels.
pub(super) fn check_name(name: &str) -> Result<(), ConfigError> {
    let malformed = |expected: fmt::Arguments<'_>| {
        Err(ConfigError::new(
            ConfigErrorKind::Malformed,
            "name",
            format_args!("{name:?}"),
            expected,
        ))
    };
    if name.is_empty() || name.len() > RoomRules::MAX_NAME_LEN {
        return malformed(format_args!("1 to {} characters", RoomRules::MAX_NAME_LEN));
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        return malformed(format_args!("letters, digits, '-' and '_' only"));
    }
    Ok(())
}

pub(super) fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests;
