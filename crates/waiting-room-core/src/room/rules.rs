//! The rules of a room: its limits, its line, its sessions, and the intervals that follow from
//! them.
//!
//! The names are those of Cloudflare's waiting room, which gave the field its terms. Where the
//! meaning is stricter here, the docs of the method say so.
//!
//! All intervals that a client is given are computed here, so that every store gives the same ones.
//! They are whole seconds, since that is what a `Retry-After` header can express (RFC 9110 section
//! 10.2.3).

use std::{fmt, num::NonZeroU32, time::Duration};

use crate::{
    ConfigError, Pass, Ticket, Timestamp,
    error::ConfigErrorKind,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

/// The rules of one room.
///
/// Options are methods on the rules themselves. [`validate`](Self::validate) is the one check that
/// every way to make a room goes through: a builder, a file, or new rules for a room in use.
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
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct RoomRules {
    pub(crate) name: String,
    /// The limit on slots.
    pub(crate) total_active_users: u32,
    /// The limit on admissions in any 60 seconds; `None` if there is none.
    pub(crate) new_users_per_minute: Option<u32>,
    /// The time that a session lasts after its last request, or after its admission if it is fixed.
    pub(crate) session_duration: Duration,
    pub(crate) session_renewal: SessionRenewal,
    pub(crate) queueing_method: QueueingMethod,
    pub(crate) mode: RoomMode,
    /// The most places in the line.
    pub(crate) line_capacity: u32,
    /// The time for which a place is kept after the last check-in.
    pub(crate) place_retention: Duration,
    /// The longest interval between check-ins, before it is spread.
    pub(crate) refresh_interval: Duration,
    pub(crate) cookie_test: CookieTest,
    pub(crate) recovery: Recovery,
    /// The longest session duration of earlier releases, if it was longer.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) longest_session_duration: Option<Duration>,
    // A missing field is read as the default, and the default is not written. So rules of a release
    // without this field can be read, and equal rules have the same form in both releases.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_default"))]
    pub(crate) places_per_network: PlacesPerNetwork,
}

impl RoomRules {
    /// The window of [`new_users_per_minute`](Self::new_users_per_minute).
    pub const MINUTE: Duration = Duration::from_secs(60);
    /// The longest name of a room, in bytes.
    pub const MAX_NAME_LEN: usize = 64;
    /// The highest limit of active visitors and of new visitors a minute.
    ///
    /// This bounds memory: the sliding minute stores one timestamp per new visitor.
    pub const MAX_USERS: u32 = 10_000_000;
    /// The shortest interval between check-ins, for visitors at the front of the line.
    pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(2);
    /// The highest capacity of the line.
    pub const MAX_LINE_CAPACITY: u32 = 10_000_000;
    /// The shortest and the longest session.
    pub const SESSION_DURATION: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest time for which a place may be kept after the last check-in.
    pub const PLACE_RETENTION: (Duration, Duration) =
        (Duration::from_secs(5), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest interval between check-ins of a visitor far back in line.
    pub const REFRESH_INTERVAL: (Duration, Duration) =
        (Duration::from_secs(2), Duration::from_secs(10 * 60));

    /// Creates rules for a room with this name and limit on slots.
    ///
    /// The other rules have the defaults that their methods state.
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
            places_per_network: PlacesPerNetwork::default(),
        }
    }

    /// Sets the most visitors that are active at any instant.
    ///
    /// This is a cap, not a target: it is never exceeded in order to fill slots faster.
    #[must_use]
    pub fn with_total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = users;
        self
    }

    /// Sets the most visitors that are admitted within any 60 seconds; unlimited by default.
    ///
    /// The minute slides: each window `(t, t + 60 s]` holds at most this many, wherever it begins.
    #[must_use]
    pub fn with_new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// Sets the time for which a visitor stays active after its last request; 5 minutes by default.
    ///
    /// With [`SessionRenewal::Fixed`], the time counts from the admission instead.
    #[must_use]
    pub fn with_session_duration(mut self, duration: Duration) -> Self {
        self.session_duration = duration;
        self
    }

    /// Sets whether requests prolong a session; [`SessionRenewal::Sliding`] by default.
    #[must_use]
    pub fn with_session_renewal(mut self, renewal: SessionRenewal) -> Self {
        self.session_renewal = renewal;
        self
    }

    /// Sets the order in which waiting visitors are admitted; [`QueueingMethod::Fifo`] by default.
    #[must_use]
    pub fn with_queueing_method(mut self, method: QueueingMethod) -> Self {
        self.queueing_method = method;
        self
    }

    /// Sets the operator's mode; [`RoomMode::Auto`] by default.
    #[must_use]
    pub fn with_mode(mut self, mode: RoomMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the most places in the line; 100 000 by default. Over it, visitors are refused.
    #[must_use]
    pub fn with_line_capacity(mut self, places: u32) -> Self {
        self.line_capacity = places;
        self
    }

    /// Sets the most places that the clients of one network hold at once, on all nodes together; a
    /// [`PlacesPerNetwork::Limit`] of 1 000 by default.
    ///
    /// A client that returns cookies gets a place for every two requests, and could otherwise fill
    /// the line within seconds. A visitor that is admitted at once needs no place, and one with a
    /// place keeps it.
    #[must_use]
    pub fn with_places_per_network(mut self, places: PlacesPerNetwork) -> Self {
        self.places_per_network = places;
        self
    }

    /// Sets the time for which a place is kept after the last check-in; 5 minutes by default.
    ///
    /// It must be at least twice the [refresh interval](Self::with_refresh_interval), so that a
    /// visitor that checks in on time never loses its place.
    #[must_use]
    pub fn with_place_retention(mut self, duration: Duration) -> Self {
        self.place_retention = duration;
        self
    }

    /// Sets the interval between check-ins of a visitor far back in line; 20 seconds by default.
    ///
    /// Visitors near the front check in more often, down to every 2 seconds.
    #[must_use]
    pub fn with_refresh_interval(mut self, interval: Duration) -> Self {
        self.refresh_interval = interval;
        self
    }

    /// Sets whether clients must return a cookie before they get a slot; [`CookieTest::Off`] by
    /// default.
    #[must_use]
    pub fn with_cookie_test(mut self, test: CookieTest) -> Self {
        self.cookie_test = test;
        self
    }

    /// Sets the behaviour after a loss of state; [`Recovery::AdmitAtOnce`] by default.
    #[must_use]
    pub fn with_recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// Sets the longest [session duration](Self::with_session_duration) of earlier releases of this
    /// room; `None` by default, for no longer than the current one.
    ///
    /// It matters to [`Recovery::Pause`]. A room in memory does not know its rules from before a
    /// restart, so a release that shortens sessions has to state the old duration here.
    #[must_use]
    pub fn with_longest_session_duration(mut self, duration: impl Into<Option<Duration>>) -> Self {
        self.longest_session_duration = duration.into();
        self
    }

    /// The name of the room.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The maximum number of active visitors.
    #[must_use]
    pub const fn total_active_users(&self) -> u32 {
        self.total_active_users
    }

    /// The maximum number of visitors admitted within any 60 seconds; `None` if there is no such
    /// limit.
    #[must_use]
    pub const fn new_users_per_minute(&self) -> Option<u32> {
        self.new_users_per_minute
    }

    /// The mode in force.
    #[must_use]
    pub const fn mode(&self) -> RoomMode {
        self.mode
    }

    /// The method in force.
    #[must_use]
    pub const fn queueing_method(&self) -> QueueingMethod {
        self.queueing_method
    }

    /// Whether requests prolong a session.
    #[must_use]
    pub const fn session_renewal(&self) -> SessionRenewal {
        self.session_renewal
    }

    /// The most places in the line.
    #[must_use]
    pub const fn line_capacity(&self) -> u32 {
        self.line_capacity
    }

    /// The most places that one network can hold.
    #[must_use]
    pub const fn places_per_network(&self) -> PlacesPerNetwork {
        self.places_per_network
    }

    /// Whether clients must return a cookie before they get a slot.
    #[must_use]
    pub const fn cookie_test(&self) -> CookieTest {
        self.cookie_test
    }

    /// The time for which a place is kept after the last check-in.
    #[must_use]
    pub const fn place_retention(&self) -> Duration {
        self.place_retention
    }

    /// The interval between check-ins of a visitor far back in line.
    #[must_use]
    pub const fn refresh_interval(&self) -> Duration {
        self.refresh_interval
    }

    /// The age from which a pass is renewed: an eighth of the session duration.
    ///
    /// Renewing at each request would cost a store call per request. An eighth bounds this to one
    /// call per visitor and eighth, and lets a slot outlive its visitor by no more than that.
    #[must_use]
    pub fn renew_after(&self) -> Duration {
        self.session_duration / 8
    }

    /// The lifetime of a pass and its slot, from its issue or renewal.
    ///
    /// A sliding session gets its duration and an eighth more. A visitor whose pass is not yet due
    /// for renewal thus still has the full duration after its last request.
    #[must_use]
    pub fn pass_lifetime(&self) -> Duration {
        match self.session_renewal {
            SessionRenewal::Fixed => self.session_duration,
            SessionRenewal::Sliding => self.session_duration + self.renew_after(),
        }
    }

    /// Admissions per second if each visitor stayed for the lifetime of one pass.
    ///
    /// It stands in for the measured rate until there is one, and is the lowest rate that check-in
    /// intervals are based on.
    #[must_use]
    pub fn configured_rate(&self) -> f64 {
        let slots = f64::from(self.total_active_users);
        let by_slots = slots / self.pass_lifetime().as_secs_f64();
        let by_minute =
            self.new_users_per_minute.map_or(f64::INFINITY, |users| f64::from(users) / 60.0);
        by_slots.min(by_minute)
    }

    /// The interval until the next check-in of a visitor with `ahead` visitors before it, at
    /// `per_second` admissions.
    ///
    /// It is an eighth of the expected wait, between [`SHORTEST_INTERVAL`](Self::SHORTEST_INTERVAL)
    /// and the refresh interval, plus up to 30 % by `jitter` so that visitors do not check in all
    /// at once. It is in whole seconds, rounded up, so that each client can follow it exactly.
    #[must_use]
    pub fn check_in_interval(&self, ahead: u32, per_second: f64, jitter: u64) -> Duration {
        // After a quiet time the measured rate may be near zero. Intervals based on it would be
        // long at the moment when slots become free.
        let per_second = per_second.max(self.configured_rate());
        let pace = Duration::try_from_secs_f64((f64::from(ahead) + 1.0) / per_second);
        let base = pace.unwrap_or(Duration::MAX) / 8;
        spread(base.clamp(Self::SHORTEST_INTERVAL, self.refresh_interval), jitter)
    }

    /// The interval until the second touch of a newcomer, which makes its place.
    ///
    /// It is 1 to 2 s for up to a thousand newcomers per second. With more of them it grows in
    /// proportion and is spread over as long again, so that a burst of newcomers does not come back
    /// as a burst. It never exceeds the longest interval of a check-in.
    ///
    /// Each newcomer thus costs one request more in its first minute than if it were asked back as
    /// late as a visitor far back in line.
    #[must_use]
    pub fn second_touch_after(&self, newcomers_per_second: f64, jitter: u64) -> Duration {
        // Doubled by the spread, this is the longest interval of a check-in: 1.3 refresh intervals.
        let longest = self.refresh_interval.as_secs_f64() * 0.65;
        let base = (newcomers_per_second / 1_000.0).min(longest).max(1.0);
        let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
        let spread = base * (1.0 + f64::from(thousandths) / 300.0);
        // Rounded to the nearest second. Rounded up, all but a few newcomers would come after 2 s.
        Duration::from_secs_f64((spread + 0.5).floor())
    }

    /// The time for which a ticket without a place keeps its order of arrival: one and a half
    /// refresh intervals.
    ///
    /// A client is asked to stay away for at most 1.3 of them, so a client that comes back on time
    /// keeps its order. A longer lifetime would let clients collect tickets and use them later.
    #[must_use]
    pub fn first_ticket_lifetime(&self) -> Duration {
        self.refresh_interval * 3 / 2
    }

    /// Whether a ticket no longer keeps its order of arrival at `now`.
    ///
    /// A ticket with a place keeps it for [`place_retention`](Self::place_retention) after the last
    /// check-in, and a first ticket for [`first_ticket_lifetime`](Self::first_ticket_lifetime).
    #[must_use]
    pub fn has_lapsed(&self, ticket: &Ticket, now: Timestamp) -> bool {
        let lifetime = match ticket.placed {
            true => self.place_retention,
            false => self.first_ticket_lifetime(),
        };
        ticket.last_check_in + lifetime <= now
    }

    /// The interval until the next check-in in a room that admits no visitor: the longest there is.
    #[must_use]
    pub fn longest_check_in_interval(&self, jitter: u64) -> Duration {
        spread(self.refresh_interval, jitter)
    }

    /// The longest lifetime of a pass that was issued under these rules, or before them as far as
    /// they state it.
    #[must_use]
    pub fn longest_pass_lifetime(&self) -> Duration {
        let before = self.longest_session_duration.unwrap_or_default();
        self.pass_lifetime().max(before + before / 8)
    }

    /// The time for which a room that has lost its state admits no newcomers.
    ///
    /// After it, each older pass has expired, as far as these rules state their lifetime, and the
    /// 60 seconds before the loss no longer count. Zero with [`Recovery::AdmitAtOnce`].
    #[must_use]
    pub fn recovery_pause(&self) -> Duration {
        match self.recovery {
            Recovery::AdmitAtOnce => Duration::ZERO,
            Recovery::Pause => self.longest_pass_lifetime().max(Self::MINUTE),
        }
    }

    /// Whether a pass is due for renewal at `now`.
    ///
    /// It is due at the age of [`renew_after`](Self::renew_after), or after a ninth of its own
    /// lifetime if that comes first. A pass keeps the lifetime that it was issued with. If sessions
    /// were made longer since then, an eighth of the new duration might come after its expiry.
    ///
    /// With [`SessionRenewal::Fixed`], a renewal does not prolong the session. It is due after each
    /// eighth of it, to find out whether the session has been ended elsewhere.
    #[must_use]
    pub fn is_renewal_due(&self, pass: &Pass, now: Timestamp) -> bool {
        let own_part = match self.session_renewal {
            SessionRenewal::Fixed => pass.expires_at.since(pass.accepted_at) / 8,
            SessionRenewal::Sliding => pass.expires_at.since(pass.last_check_in) / 9,
        };
        now.since(pass.last_check_in) >= self.renew_after().min(own_part)
    }

    /// Returns the rules for one of `nodes` nodes that decide without each other: its share of the
    /// limits, rounded down. `None` if a share is zero.
    #[must_use]
    pub fn share(mut self, nodes: NonZeroU32) -> Option<Self> {
        let share = |limit: u32| Some(limit / nodes).filter(|&share| share > 0);
        self.total_active_users = share(self.total_active_users)?;
        if let Some(users) = self.new_users_per_minute {
            self.new_users_per_minute = Some(share(users)?);
        }
        Some(self)
    }

    /// Checks each rule, alone and against the others.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is out of bounds or contradicts another, with its value and the
    /// bound.
    pub fn validate(self) -> Result<Self, ConfigError> {
        check_name(&self.name)?;
        at_least_one("total_active_users", self.total_active_users)?;
        at_most("total_active_users", self.total_active_users, Self::MAX_USERS)?;
        if let Some(users) = self.new_users_per_minute {
            at_least_one("new_users_per_minute", users)?;
            at_most("new_users_per_minute", users, Self::MAX_USERS)?;
        }
        at_least_one("line_capacity", self.line_capacity)?;
        at_most("line_capacity", self.line_capacity, Self::MAX_LINE_CAPACITY)?;
        if let Some(places) = self.places_per_network.number() {
            at_least_one("places_per_network", places)?;
            at_most("places_per_network", places, Self::MAX_LINE_CAPACITY)?;
        }
        within("session_duration", self.session_duration, Self::SESSION_DURATION)?;
        if let Some(longest) = self.longest_session_duration {
            within("longest_session_duration", longest, Self::SESSION_DURATION)?;
        }
        within("place_retention", self.place_retention, Self::PLACE_RETENTION)?;
        within("refresh_interval", self.refresh_interval, Self::REFRESH_INTERVAL)?;
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
        if let CookieTest::AboveUtilization(percent) = self.cookie_test {
            at_most("cookie_test", u32::from(percent), 100)?;
        }
        Ok(self)
    }
}

#[cfg(feature = "serde")]
fn is_default(places: &PlacesPerNetwork) -> bool {
    *places == PlacesPerNetwork::default()
}

/// Adds up to 30 % to an interval, and rounds it up to whole seconds.
fn spread(base: Duration, jitter: u64) -> Duration {
    let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
    let spread = base + base * thousandths / 1_000;
    Duration::from_secs(spread.as_secs() + u64::from(spread.subsec_nanos() > 0))
}

/// The number of possible spreads of an interval, from 0 to 300 thousandths.
const SPREAD: u64 = 301;

/// Checks the name, which becomes part of keys in a store and of metric labels.
fn check_name(name: &str) -> Result<(), ConfigError> {
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

fn at_least_one(field: &'static str, given: u32) -> Result<(), ConfigError> {
    if given == 0 {
        return Err(ConfigError::new(ConfigErrorKind::TooSmall, field, given, "at least 1"));
    }
    Ok(())
}

fn at_most(field: &'static str, given: u32, limit: u32) -> Result<(), ConfigError> {
    if given > limit {
        let expected = format_args!("at most {limit}");
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    Ok(())
}

/// Checks that a time is between two bounds, inclusive.
fn within(
    field: &'static str,
    given: Duration,
    (shortest, longest): (Duration, Duration),
) -> Result<(), ConfigError> {
    let (kind, bound, word) = if given < shortest {
        (ConfigErrorKind::TooSmall, shortest, "at least")
    } else if given > longest {
        (ConfigErrorKind::TooLarge, longest, "at most")
    } else {
        return Ok(());
    };
    Err(ConfigError::new(kind, field, seconds(given), format_args!("{word} {}", seconds(bound))))
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests;
