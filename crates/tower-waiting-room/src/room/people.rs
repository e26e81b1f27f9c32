//! The options for some visitors: a head start in the line, a bypass for crawlers, a
//! return after a session has lapsed, and a single place for each person whom the application knows
//! by a login or an API key.
//!
//! # Identities
//!
//! A visitor without an identity is known only by its token, so one person can have a place for
//! each browser, device or cookie jar. The id of a visitor with an identity is a keyed hash of that
//! identity, so the store recognizes the person on any device, and gives the person only one
//! session and one place.
//!
//! | the request has | and an identity | is treated as |
//! |---|---|---|
//! | no token | yes | the person: its session continues, or its next check-in finds its place |
//! | a token of the same person | yes | that token |
//! | a token of another person | yes | without a token |
//! | a ticket without an identity | yes | without a token |
//! | a pass without an identity | yes | that pass, until its session ends |
//! | any token | no | that token |
//!
//! A pass survives a login, because visitors log in while they use the application. A ticket does
//! not survive it, because a person could otherwise wait once for each cookie jar. If the identity
//! changes while the visitor is in line, the new identity continues with its own place, or as a
//! newcomer, and the place of the earlier identity is kept for as long as any other place.
//!
//! The store, the tokens and the logs contain only the hash.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waiting_room_core::{
    ConfigError, Reason, RoomRules, Ticket, Timestamp, Verdict,
    error::ConfigErrorKind,
    room::{HeadStart, SessionRenewal},
};

use crate::request::RequestHead;

/// The options of a node that concern only some visitors.
#[derive(Clone, Debug, Default)]
pub(crate) struct People {
    /// The head starts of visitors, or `None` if all visitors are in the order of their arrival.
    pub(crate) priority: Option<Priority>,
    /// The crawlers, or `None` if they are treated like visitors.
    pub(crate) crawlers: Option<Crawlers>,
    /// The time for which the visitor of a lapsed session may return ahead of the line.
    pub(crate) grace: Option<Duration>,
}

impl People {
    /// Checks the options in combination with the rules of the room.
    ///
    /// # Errors
    ///
    /// Returns an error for an option without a room, for a head start or a grace that is out of
    /// bounds, and for a grace in a room whose sessions have a fixed length.
    pub(super) fn validate(&self, rules: &RoomRules, has_room: bool) -> Result<(), ConfigError> {
        let given = [
            ("priority", self.priority.is_some()),
            ("crawlers", self.crawlers.is_some()),
            ("grace", self.grace.is_some()),
        ];
        if !has_room && let Some((field, _)) = given.iter().find(|(_, is_given)| *is_given) {
            let expected = "total_active_users, because visitors wait only in a room";
            return Err(contradicts(field, "set", expected));
        }
        self.priority.as_ref().map_or(Ok(()), Priority::validate)?;
        self.grace.map_or(Ok(()), |grace| validate_grace(grace, rules))
    }
}

/// The head starts of visitors.
#[derive(Clone)]
pub(crate) struct Priority {
    longest: Duration,
    of: Arc<dyn Fn(&RequestHead<'_>) -> Duration + Send + Sync>,
}

impl Priority {
    /// The longest head start that can be configured.
    const MAX: Duration = Duration::from_secs(60 * 60);

    pub(crate) fn new(
        longest: Duration,
        of: impl Fn(&RequestHead<'_>) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { longest, of: Arc::new(of) }
    }

    /// Returns the head start of the visitor who sends this request.
    pub(super) fn of(&self, head: &RequestHead<'_>) -> HeadStart {
        HeadStart::new((self.of)(head).min(self.longest))
    }

    /// Gives a head start to a visitor whose order of arrival begins with this verdict.
    ///
    /// The head start is fixed once, and sealed into the ticket. Other headers in a later request
    /// do not change it.
    pub(super) fn give(&self, head: &RequestHead<'_>, verdict: &mut Verdict) {
        let ticket = match verdict {
            Verdict::Wait { ticket, reason } if *reason != Reason::QueuedTurn => ticket,
            Verdict::Refuse { ticket: Some(ticket), .. } => ticket,
            Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. } => return,
        };
        let is_new = |ticket: &Ticket| ticket.first_seen == ticket.last_check_in;
        if is_new(ticket) && ticket.head_start == HeadStart::NONE {
            ticket.head_start = self.of(head);
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let given = format!("{:?}", self.longest);
        let is = |kind, expected| Err(ConfigError::new(kind, "priority", &given, expected));
        if self.longest < Duration::from_secs(1) {
            return is(ConfigErrorKind::TooSmall, "a longest head start of at least 1s");
        }
        if self.longest > Self::MAX {
            return is(ConfigErrorKind::TooLarge, "a longest head start of at most 1h");
        }
        Ok(())
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Priority").field("longest", &self.longest).finish_non_exhaustive()
    }
}

/// The requests of crawlers, as the operator has verified them.
#[derive(Clone)]
pub(crate) struct Crawlers {
    is_one: Arc<dyn Fn(&RequestHead<'_>) -> bool + Send + Sync>,
    /// The time at which this node last made a visitor wait or refused one, in nanoseconds. An
    /// outdated value only lets one more request through.
    queued_at: Arc<AtomicU64>,
}

impl Crawlers {
    pub(crate) fn new(is_one: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { is_one: Arc::new(is_one), queued_at: Arc::default() }
    }

    /// Returns whether a request comes from a crawler.
    pub(super) fn is_one(&self, head: &RequestHead<'_>) -> bool {
        (self.is_one)(head)
    }

    /// Records a verdict at `now`.
    pub(super) fn observe(&self, verdict: &Verdict, now: Timestamp) {
        // A newcomer who only has to show that it returns cookies waits for no other visitor.
        let is_test = matches!(verdict, Verdict::Wait { reason: Reason::QueuedCookieTest, .. });
        if !is_test && !matches!(verdict, Verdict::Admit { .. }) {
            self.queued_at.store(now.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Returns whether this node has made a visitor wait, or refused one, within this time.
    pub(super) fn has_queued_within(&self, time: Duration, now: Timestamp) -> bool {
        let queued_at = self.queued_at.load(Ordering::Relaxed);
        queued_at != 0 && now.since(Timestamp::from_nanos(queued_at)) < time
    }
}

impl fmt::Debug for Crawlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crawlers")
    }
}

/// Checks that the visitor of a lapsed session may return for this time.
///
/// A visitor who has left must not return. A store remembers these visitors for three times the
/// place retention, so the grace must end within this time.
fn validate_grace(grace: Duration, rules: &RoomRules) -> Result<(), ConfigError> {
    let is = |kind, expected: String| {
        Err(ConfigError::new(kind, "grace", format!("{grace:?}"), expected))
    };
    if rules.session_renewal == SessionRenewal::Fixed {
        let expected = "session_renewal to be sliding: sessions of a fixed length are not \
                        continued";
        return Err(contradicts("grace", &format!("{grace:?}"), expected));
    }
    if grace < Duration::from_secs(1) {
        return is(ConfigErrorKind::TooSmall, "at least 1s".to_owned());
    }
    if grace > rules.session_duration {
        let longest = rules.session_duration;
        return is(ConfigErrorKind::TooLarge, format!("at most session_duration, {longest:?}"));
    }
    let longest =
        rules.timing().tickets_void_after().saturating_sub(rules.timing().pass_lifetime());
    if grace > longest {
        let retention = rules.place_retention;
        let expected = format!(
            "at most {longest:?}: 9/8 of session_duration and the grace must not exceed three times \
             place_retention, {retention:?}"
        );
        return is(ConfigErrorKind::Contradicts, expected);
    }
    Ok(())
}

fn contradicts(field: &'static str, given: &str, expected: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected)
}

/// The closure that returns the identity of a request.
#[derive(Clone)]
pub(crate) struct IdentityOf(Arc<Closure>);

type Closure = dyn Fn(&RequestHead<'_>) -> Option<String> + Send + Sync;

impl IdentityOf {
    pub(crate) fn new(
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(closure))
    }

    /// Returns the identity of a request, or `None` if it has none. An empty identity is treated as
    /// missing, because all requests with an empty header would otherwise seem to come from one
    /// person.
    pub(crate) fn of(&self, head: &RequestHead<'_>) -> Option<String> {
        (self.0)(head).filter(|identity| !identity.is_empty())
    }
}

impl fmt::Debug for IdentityOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityOf")
    }
}

/// The name of the error under which another person's token is counted.
pub(crate) const OTHER_PERSON: &str = "other_person";
