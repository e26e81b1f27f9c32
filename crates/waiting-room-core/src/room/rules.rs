//! What a room must obey.
//!
//! The names are the ones Cloudflare's product gave to the field; where the meaning is stricter
//! here, the method says so.

use std::{fmt, num::NonZeroU32, time::Duration};

use crate::{
    ConfigError, ConfigErrorKind, CookieTest, Pass, PlacesPerNetwork, QueueingMethod, Recovery,
    RoomMode, SessionRenewal, Ticket, Timestamp,
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
    pub(crate) total_active_users: u32,
    pub(crate) new_users_per_minute: Option<u32>,
    pub(crate) session_duration: Duration,
    pub(crate) session_renewal: SessionRenewal,
    pub(crate) queueing_method: QueueingMethod,
    pub(crate) mode: RoomMode,
    pub(crate) line_capacity: u32,
    pub(crate) place_retention: Duration,
    pub(crate) refresh_interval: Duration,
    pub(crate) cookie_test: CookieTest,
    pub(crate) recovery: Recovery,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) longest_session_duration: Option<Duration>,
    // What is not written is read as before there was such a rule, and as the same rules.
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
    /// A bound on memory: the sliding minute remembers one time for each new visitor in it.
    pub const MAX_USERS: u32 = 10_000_000;
    /// A visitor at the very front is asked to check in this often.
    pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(2);
    /// The highest capacity of the line.
    pub const MAX_LINE_CAPACITY: u32 = 10_000_000;
    /// The shortest and the longest session.
    pub const SESSION_DURATION: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest time a place outlives the last check-in.
    pub const PLACE_RETENTION: (Duration, Duration) =
        (Duration::from_secs(5), Duration::from_secs(24 * 60 * 60));
    /// The shortest and the longest time between two check-ins of a visitor far back.
    pub const REFRESH_INTERVAL: (Duration, Duration) =
        (Duration::from_secs(2), Duration::from_secs(10 * 60));

    /// A room of this `name` for `total_active_users` visitors at a time; the other rules have
    /// the defaults that their methods state.
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

    /// At most this many visitors are active at any instant. A cap, not a target.
    #[must_use]
    pub fn with_total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = users;
        self
    }

    /// At most this many visitors are let in within any 60 seconds. Unlimited by default.
    ///
    /// The minute slides: a window `(t, t + 60 s]` that begins anywhere holds no more.
    #[must_use]
    pub fn with_new_users_per_minute(mut self, users: impl Into<Option<u32>>) -> Self {
        self.new_users_per_minute = users.into();
        self
    }

    /// A visitor stays active for at least this long after the last request. 5 minutes.
    #[must_use]
    pub fn with_session_duration(mut self, duration: Duration) -> Self {
        self.session_duration = duration;
        self
    }

    /// Whether requests prolong a session. [`SessionRenewal::Sliding`].
    #[must_use]
    pub fn with_session_renewal(mut self, renewal: SessionRenewal) -> Self {
        self.session_renewal = renewal;
        self
    }

    /// Who is let in next. [`QueueingMethod::Fifo`].
    #[must_use]
    pub fn with_queueing_method(mut self, method: QueueingMethod) -> Self {
        self.queueing_method = method;
        self
    }

    /// The operator's mode. [`RoomMode::Auto`].
    #[must_use]
    pub fn with_mode(mut self, mode: RoomMode) -> Self {
        self.mode = mode;
        self
    }

    /// The line has at most this many places; over it, visitors are refused. 100 000.
    #[must_use]
    pub fn with_line_capacity(mut self, places: u32) -> Self {
        self.line_capacity = places;
        self
    }

    /// The clients of one network hold at most this many of the places at once, on all nodes together.
    /// [`PlacesPerNetwork::Limit`] of 1 000.
    ///
    /// A client with a cookie jar gets a place with two requests, and would otherwise fill the line within
    /// seconds. A visitor who is let in at once needs no place, and one with a place keeps it.
    #[must_use]
    pub fn with_places_per_network(mut self, places: PlacesPerNetwork) -> Self {
        self.places_per_network = places;
        self
    }

    /// A place outlives the last check-in by this long. 5 minutes.
    #[must_use]
    pub fn with_place_retention(mut self, duration: Duration) -> Self {
        self.place_retention = duration;
        self
    }

    /// A visitor far back is asked to check in this often; one near the front more often, down to
    /// every 2 seconds. 20 seconds.
    #[must_use]
    pub fn with_refresh_interval(mut self, interval: Duration) -> Self {
        self.refresh_interval = interval;
        self
    }

    /// Whether a slot is given only to clients that return a cookie. [`CookieTest::Off`].
    #[must_use]
    pub fn with_cookie_test(mut self, test: CookieTest) -> Self {
        self.cookie_test = test;
        self
    }

    /// What a room that has lost its memory does first. [`Recovery::AdmitAtOnce`].
    #[must_use]
    pub fn with_recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// The longest [`session_duration`](Self::session_duration) of earlier releases of this room, for
    /// [`Recovery::Pause`]. None by default: no longer than the one in force. A room in memory knows no
    /// rules of before a restart, so a release that shortens sessions states the old duration here.
    #[must_use]
    pub fn with_longest_session_duration(mut self, duration: impl Into<Option<Duration>>) -> Self {
        self.longest_session_duration = duration.into();
        self
    }

    /// The room's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The maximum number of active visitors.
    #[must_use]
    pub const fn total_active_users(&self) -> u32 {
        self.total_active_users
    }

    /// The maximum number of visitors admitted within any 60 seconds; `None` if there is no such limit.
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

    /// How many places the line can have.
    #[must_use]
    pub const fn line_capacity(&self) -> u32 {
        self.line_capacity
    }

    /// How many places one network can hold.
    #[must_use]
    pub const fn places_per_network(&self) -> PlacesPerNetwork {
        self.places_per_network
    }

    /// Whether a slot is given only to clients that return a cookie.
    #[must_use]
    pub const fn cookie_test(&self) -> CookieTest {
        self.cookie_test
    }

    /// How long a place outlives the last check-in.
    #[must_use]
    pub const fn place_retention(&self) -> Duration {
        self.place_retention
    }

    /// How often a visitor far back is asked to check in.
    #[must_use]
    pub const fn refresh_interval(&self) -> Duration {
        self.refresh_interval
    }

    /// From which age on a pass is renewed: an eighth of the session.
    #[must_use]
    pub fn renew_after(&self) -> Duration {
        self.session_duration / 8
    }

    /// How long a pass and its slot live from an issue or a renewal.
    ///
    /// A sliding session gets its duration and an eighth more, so that a visitor whose pass is
    /// not yet due for renewal still has the full duration from the last request on.
    #[must_use]
    pub fn pass_lifetime(&self) -> Duration {
        match self.session_renewal {
            SessionRenewal::Fixed => self.session_duration,
            SessionRenewal::Sliding => self.session_duration + self.renew_after(),
        }
    }

    /// Admissions per second if everybody used up the whole session.
    #[must_use]
    pub fn configured_rate(&self) -> f64 {
        let slots = f64::from(self.total_active_users);
        let by_slots = slots / self.pass_lifetime().as_secs_f64();
        let by_minute =
            self.new_users_per_minute.map_or(f64::INFINITY, |users| f64::from(users) / 60.0);
        by_slots.min(by_minute)
    }

    /// When a visitor with so many before it is to ask again, where so many are let in per second:
    /// after an eighth of what the others take, within bounds, spread by up to 30 %.
    ///
    /// In whole seconds, so that every client can obey it to the letter.
    #[must_use]
    pub fn check_in_interval(&self, ahead: u32, per_second: f64, jitter: u64) -> Duration {
        let per_second = per_second.max(self.configured_rate());
        let pace = Duration::try_from_secs_f64((f64::from(ahead) + 1.0) / per_second);
        let base = pace.unwrap_or(Duration::MAX) / 8;
        spread(base.clamp(Self::SHORTEST_INTERVAL, self.refresh_interval), jitter)
    }

    /// When a newcomer is to ask for the second time, which makes its place: after 1 to 2 s while up
    /// to a thousand come per second, and later, spread over longer, if there are more.
    ///
    /// So each newcomer costs one request more than if it were asked back when anybody far back in
    /// line is: 10⁵ newcomers within a minute, the requests of which are three instead of two then.
    #[must_use]
    pub fn second_touch_after(&self, newcomers_per_second: f64, jitter: u64) -> Duration {
        let longest = self.refresh_interval.as_secs_f64() * 0.65;
        let base = (newcomers_per_second / 1_000.0).min(longest).max(1.0);
        let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
        let spread = base * (1.0 + f64::from(thousandths) / 300.0);
        Duration::from_secs_f64((spread + 0.5).floor())
    }

    /// How long a ticket without a place keeps its order of arrival: for half as long again as any
    /// client is asked to stay away.
    #[must_use]
    pub fn first_ticket_lifetime(&self) -> Duration {
        self.refresh_interval * 3 / 2
    }

    /// Whether a ticket no longer keeps its order of arrival at `now`: for `place_retention` after the
    /// last check-in it does, and a first ticket for [less](Self::first_ticket_lifetime).
    #[must_use]
    pub fn has_lapsed(&self, ticket: &Ticket, now: Timestamp) -> bool {
        let lifetime = match ticket.placed {
            true => self.place_retention,
            false => self.first_ticket_lifetime(),
        };
        ticket.last_check_in + lifetime <= now
    }

    /// When a visitor of a room that lets nobody in is to ask again: as late as anybody is.
    #[must_use]
    pub fn longest_check_in_interval(&self, jitter: u64) -> Duration {
        spread(self.refresh_interval, jitter)
    }

    /// The longest that a pass lives which was issued under these rules or, as they say, before.
    #[must_use]
    pub fn longest_pass_lifetime(&self) -> Duration {
        let before = self.longest_session_duration.unwrap_or_default();
        self.pass_lifetime().max(before + before / 8)
    }

    /// For how long a room that has lost its memory lets no newcomers in: until every pass of before has
    /// expired, as far as these rules say, and the minute of before is over.
    #[must_use]
    pub fn recovery_pause(&self) -> Duration {
        match self.recovery {
            Recovery::AdmitAtOnce => Duration::ZERO,
            Recovery::Pause => self.longest_pass_lifetime().max(Self::MINUTE),
        }
    }

    /// Whether a pass is due for renewal: at the age of [`renew_after`](Self::renew_after), or a
    /// ninth of its own lifetime if that comes first. A pass keeps the lifetime that it was issued
    /// with, so a session that was made longer since then must not be waited for.
    ///
    /// With [`SessionRenewal::Fixed`] a renewal prolongs nothing, and is due after each eighth: the
    /// room is asked whether the session has ended elsewhere.
    #[must_use]
    pub fn is_renewal_due(&self, pass: &Pass, now: Timestamp) -> bool {
        let own_part = match self.session_renewal {
            SessionRenewal::Fixed => pass.expires_at.since(pass.accepted_at) / 8,
            SessionRenewal::Sliding => pass.expires_at.since(pass.last_check_in) / 9,
        };
        now.since(pass.last_check_in) >= self.renew_after().min(own_part)
    }

    /// The rules for one of so many nodes while none of them knows of the others: its share of the
    /// limits, rounded down. `None` if that is nothing.
    #[must_use]
    pub fn share(mut self, nodes: NonZeroU32) -> Option<Self> {
        let share = |limit: u32| Some(limit / nodes).filter(|&share| share > 0);
        self.total_active_users = share(self.total_active_users)?;
        if let Some(users) = self.new_users_per_minute {
            self.new_users_per_minute = Some(share(users)?);
        }
        Some(self)
    }

    /// Checks every rule, alone and against the others.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed, with its value and what would do.
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

/// A time with up to 30 % more, in whole seconds.
fn spread(base: Duration, jitter: u64) -> Duration {
    let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
    let spread = base + base * thousandths / 1_000;
    Duration::from_secs(spread.as_secs() + u64::from(spread.subsec_nanos() > 0))
}

/// An interval is spread by up to 300 thousandths.
const SPREAD: u64 = 301;

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
