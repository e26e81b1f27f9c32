//! One event: its times, and the rules that it overrides.

use std::time::Duration;

use crate::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind,
    room::{
        QueueingMethod, SessionRenewal, Setting, SettingValue,
        event::commitment::Commitment,
        rules::{check_name, seconds},
        written::Overrides,
    },
};

/// A scheduled event of a room.
///
/// The rules that an event can override are those of Cloudflare Waiting Room: both limits, the
/// session duration, the session renewal and the queueing method. A rule that is not overridden is
/// inherited from the room, including later changes, as it is in Cloudflare's API if the field is
/// `null` or absent. The overrides apply from the beginning of the prequeue to the end of the event.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{RoomRules, Timestamp, room::event::Event};
///
/// let ten = Timestamp::from_secs(1_790_157_600);
/// let hour = Duration::from_secs(60 * 60);
/// let event = Event::new("doors", ten, ten + hour)
///     .prequeue_start(ten.before(hour / 2))
///     .limits(500, 100)
///     .validate()?;
///
/// let rules = event.rules(&RoomRules::new("shop", 200));
/// assert_eq!(rules.total_active_users, 500);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The name of the event.
    pub name: String,
    /// The start, from which visitors are admitted under the event's rules.
    pub start: Timestamp,
    /// The end, from which the room's own rules apply again.
    pub end: Timestamp,
    /// The time from which visitors wait for the start, or `None` if there is no prequeue.
    pub prequeue_start: Option<Timestamp>,
    /// The commitment to the seed of the draw, or `None` if the prequeue is not shuffled at the start.
    pub shuffle_at_start: Option<Commitment>,
    pub(super) overrides: Overrides,
}

impl Event {
    /// The shortest and the longest permitted time from the start to the end of an event.
    ///
    /// Cloudflare's shortest event takes one minute. A shorter one is permitted here, so that
    /// rehearsals take little time.
    pub const LENGTH: (Duration, Duration) =
        (Duration::from_secs(1), Duration::from_secs(366 * 24 * 60 * 60));
    /// The shortest and the longest permitted prequeue.
    ///
    /// Cloudflare's shortest prequeue takes five minutes. A shorter one is permitted here, so that
    /// rehearsals take little time. In ten seconds, a visitor who arrives at the beginning of the
    /// prequeue can confirm its place twice.
    pub const PREQUEUE: (Duration, Duration) =
        (Duration::from_secs(10), Duration::from_secs(7 * 24 * 60 * 60));

    /// Creates an event that overrides no rules, from `start` (inclusive) to `end` (exclusive).
    ///
    /// The name follows the same rules as the name of a room, and is unique in its schedule.
    #[must_use]
    pub fn new(name: impl Into<String>, start: Timestamp, end: Timestamp) -> Self {
        Self {
            name: name.into(),
            start,
            end,
            prequeue_start: None,
            shuffle_at_start: None,
            overrides: Overrides::default(),
        }
    }

    /// Sets the time from which visitors wait for the start; no prequeue by default.
    ///
    /// During the prequeue, no visitor is admitted. Sessions that began earlier continue. To end
    /// them before the start, use [`SessionRenewal::Fixed`] and a prequeue that is longer than the
    /// sessions.
    #[must_use]
    pub fn prequeue_start(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        self.prequeue_start = at.into();
        self
    }

    /// Sets the start, to change an existing event.
    #[must_use]
    pub fn start(mut self, at: Timestamp) -> Self {
        self.start = at;
        self
    }

    /// Sets the end, to change an existing event.
    #[must_use]
    pub fn end(mut self, at: Timestamp) -> Self {
        self.end = at;
        self
    }

    /// Orders the visitors in the prequeue by a draw whose seed has this commitment. By default,
    /// they keep their order of arrival.
    ///
    /// Visitors who arrive after the start are behind all entrants of the draw, in the order of
    /// arrival. The queueing method of the event has to be [`QueueingMethod::Fifo`], because no
    /// other method keeps the drawn order.
    #[must_use]
    pub fn shuffle_at_start(mut self, commitment: impl Into<Option<Commitment>>) -> Self {
        self.shuffle_at_start = commitment.into();
        self
    }

    /// Overrides both limits of the room; `None` for `new_users_per_minute` removes that limit.
    #[must_use]
    pub fn limits(
        self,
        total_active_users: u32,
        new_users_per_minute: impl Into<Option<u32>>,
    ) -> Self {
        let minute = new_users_per_minute.into();
        self.overridden("total_active_users", SettingValue::Count(total_active_users)).overridden(
            "new_users_per_minute",
            minute.map_or(SettingValue::word("off"), SettingValue::Count),
        )
    }

    /// Overrides the session duration of visitors who are admitted, or whose sessions are renewed,
    /// during the event.
    #[must_use]
    pub fn session_duration(self, duration: Duration) -> Self {
        self.overridden("session_duration", duration.into())
    }

    /// Overrides whether requests prolong a session.
    #[must_use]
    pub fn session_renewal(self, renewal: SessionRenewal) -> Self {
        self.overridden("session_renewal", SettingValue::word(renewal.name()))
    }

    /// Overrides the queueing method.
    #[must_use]
    pub fn queueing_method(self, method: QueueingMethod) -> Self {
        self.overridden("queueing_method", SettingValue::word(method.name()))
    }

    /// Overrides a setting, for example one that a file names. The value is checked by
    /// [`validate`](Self::validate).
    #[must_use]
    pub fn overriding(self, setting: &'static Setting, value: SettingValue) -> Self {
        self.overridden(setting.name(), value)
    }

    /// Returns the beginning of the prequeue or, without a prequeue, the start.
    #[must_use]
    pub fn begins_at(&self) -> Timestamp {
        self.prequeue_start.unwrap_or(self.start)
    }

    /// Returns the rules of the room while this event is active, whether or not it is active now.
    ///
    /// If both `base` and this event are valid, so is the result.
    #[must_use]
    pub fn rules(&self, base: &RoomRules) -> RoomRules {
        let mut rules = base.clone();
        // A value that is not valid is reported by `validate`.
        let _ = self.overrides.apply(&mut rules);
        rules
    }

    /// Checks the times of the event, and each override by itself.
    ///
    /// # Errors
    ///
    /// Returns an error for the first value that is out of bounds or contradicts another value. The
    /// error names the field and contains both values.
    pub fn validate(self) -> Result<Self, ConfigError> {
        check_name(&self.name)?;
        self.check_times()?;
        // The limits of the room itself do not matter here: each override is checked by itself.
        let mut rules = RoomRules::new(&*self.name, RoomRules::MAX_USERS);
        self.overrides.apply(&mut rules)?;
        self.check_limits()?;
        self.check_method(rules.queueing_method)?;
        Ok(self)
    }

    /// Checks whether the rules of this event and the rules that it inherits contradict each other.
    ///
    /// # Errors
    ///
    /// Returns an error if the prequeue or the draw has no effect under the queueing method of the
    /// event, which may be inherited.
    pub(super) fn check_with(&self, base: &RoomRules) -> Result<(), ConfigError> {
        self.check_method(self.rules(base).queueing_method)
    }

    /// Checks that an event does not override only one of the two limits.
    fn check_limits(&self) -> Result<(), ConfigError> {
        let Some(given) = self.overrides.get("new_users_per_minute") else { return Ok(()) };
        if self.overrides.get("total_active_users").is_some() {
            return Ok(());
        }
        let expected = format_args!(
            "absent in event {:?}, which has no total_active_users: override both limits or \
             neither",
            self.name
        );
        let kind = ConfigErrorKind::Contradicts;
        let field = "new_users_per_minute";
        Err(ConfigError::new(kind, field, given, expected))
    }

    /// Checks the order of the times, and the durations between them.
    fn check_times(&self) -> Result<(), ConfigError> {
        if self.end <= self.start {
            return Err(self.contradicts("end", self.end, "after its start", self.start));
        }
        self.check_gap("end", self.start, self.end, Self::LENGTH)?;
        let Some(prequeue_start) = self.prequeue_start else {
            return match self.shuffle_at_start {
                None => Ok(()),
                Some(given) => Err(ConfigError::new(
                    ConfigErrorKind::Contradicts,
                    "shuffle_at_start",
                    given,
                    format_args!("absent, because event {:?} has no prequeue_start", self.name),
                )),
            };
        };
        if prequeue_start >= self.start {
            let given = prequeue_start;
            let start = self.start;
            return Err(self.contradicts("prequeue_start", given, "before its start", start));
        }
        self.check_gap("prequeue_start", prequeue_start, self.start, Self::PREQUEUE)
    }

    /// Checks the duration between two times of this event, one of which is `field`.
    fn check_gap(
        &self,
        field: &'static str,
        from: Timestamp,
        to: Timestamp,
        (shortest, longest): (Duration, Duration),
    ) -> Result<(), ConfigError> {
        let gap = to.since(from);
        let (kind, word, bound) = if gap < shortest {
            (ConfigErrorKind::TooSmall, "at least", shortest)
        } else if gap > longest {
            (ConfigErrorKind::TooLarge, "at most", longest)
        } else {
            return Ok(());
        };
        let given = format_args!("{} from the start of event {:?}", seconds(gap), self.name);
        Err(ConfigError::new(kind, field, given, format_args!("{word} {}", seconds(bound))))
    }

    /// Checks that visitors can wait for this event, and that the drawn order is kept, if `method`
    /// is its queueing method.
    fn check_method(&self, method: QueueingMethod) -> Result<(), ConfigError> {
        let needed = match method {
            QueueingMethod::Fifo => return Ok(()),
            QueueingMethod::Passthrough | QueueingMethod::Random | QueueingMethod::Reject
                if self.shuffle_at_start.is_some() =>
            {
                "Fifo, because of its shuffle_at_start"
            }
            QueueingMethod::Reject if self.prequeue_start.is_some() => {
                "a method with a line, because of its prequeue_start"
            }
            QueueingMethod::Passthrough | QueueingMethod::Random | QueueingMethod::Reject => {
                return Ok(());
            }
        };
        Err(ConfigError::new(
            ConfigErrorKind::Contradicts,
            "queueing_method",
            format_args!("{method:?} in event {:?}", self.name),
            needed,
        ))
    }

    fn overridden(mut self, setting: &'static str, value: SettingValue) -> Self {
        self.overrides.set(setting, value);
        self
    }

    /// Returns the error for a time of this event that does not have the required `relation` to
    /// `other`.
    pub(super) fn contradicts(
        &self,
        field: &'static str,
        given: Timestamp,
        relation: &str,
        other: Timestamp,
    ) -> ConfigError {
        ConfigError::new(
            ConfigErrorKind::Contradicts,
            field,
            format_args!("{given} in event {:?}", self.name),
            format_args!("{relation}, {other}"),
        )
    }
}
